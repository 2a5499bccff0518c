/** Formats what messages say, so that repetitions of a prompt are equal texts. */
import { isObject } from "../json/json-bytes.ts";
import { nodeSize } from "../json/reader.ts";
import { isNothing, Kind, kindAt, Shape } from "../json/shape.ts";
import * as json from "../json/table.ts";
import { toSnakeCase } from "../text/nearest.ts";
import { textType } from "./message.ts";

const recordedThings =
  "call|chat|completion|conversation|event|message|msg|parent|request|response|run|session|span|step|thread|tool_call|trace|turn";

/** Members that recorders add to messages, in snake case: ids and times. */
const recorderKey = new RegExp(
  `^(?:${[
    `(?:(?:${recordedThings})_)?(?:uu?)?id|turn(?:_idx|_index)?|source|recorder|cache_control`,
    "date|created|time|timestamp(?:_ms)?|ts|latency_ms|\\w+_(?:at|time|timestamp)",
  ].join("|")})$`,
);

const isRecorders = (key: string, value?: unknown) => value === null || recorderKey.test(toSnakeCase(key));

/** Returns the text of a list with only one text, which says the same as the text. */
export const readOnlyText = (content: unknown, isIgnored = isRecorders) => {
  const [part, ...more]: readonly unknown[] = Array.isArray(content) ? content : [];
  if (more.length > 0) return undefined;
  if (typeof part === "string") return part;
  if (!isObject(part) || typeof part.text !== "string") return undefined;
  const hasOther = Object.entries(part).some(([key, value]) =>
    key === "type" ? !textType.test(`${value}`) : key !== "text" && !isIgnored(key, value),
  );
  return hasOther ? undefined : part.text;
};

/** Formats a message, a list of messages, or a text. */
export const formatSaid = (said: string | json.JsonValue): string => {
  const root = typeof said === "string" ? json.readRoot(Buffer.from(said)) : said;
  if (!root) return String(said);
  const isList = kindAt(root.table, root.node) === Kind.array;
  return isList ? json.elementsOf(root).map(formatMessage).join(",") : formatMessage(root);
};

/** Formats what was said: without ids, recorders and times of the message, its parts and its calls. */
export const formatMessage = (value: json.JsonValue): string => {
  const { table, node } = value;
  if (kindAt(table, node) !== Kind.object) return formatCanonically(value);
  return formatMembers(table, node, formatContent);
};

/** A list with one text says the same as the text. */
const formatContent = (value: json.JsonValue): string => {
  if (kindAt(value.table, value.node) !== Kind.array) return formatCanonically(value);
  const parts = json.elementsOf(value);
  const text = parts.length === 1 ? readOnlyText(json.parseNode(value.table, value.node)) : undefined;
  return text === undefined ? `[${parts.map(formatPart).join(",")}]` : JSON.stringify(text);
};

const formatPart = (value: json.JsonValue): string =>
  kindAt(value.table, value.node) === Kind.object
    ? formatMembers(value.table, value.node, formatCanonically)
    : formatCanonically(value);

/** Deeper values could exceed the stack, so they are equal only if they are the same bytes. */
const maxDepth = 500;

/** Formats equal values as equal texts. */
export const formatCanonically = (value: json.JsonValue, depth = 0): string => {
  const { table, node } = value;
  const kind = kindAt(table, node);
  const { start, end } = json.spanOf(value);
  if (depth === maxDepth) return table.bytes.toString("utf8", start, end);
  if (kind === Kind.array) {
    const items = json.elementsOf(value).map((item) => formatCanonically(item, depth + 1));
    return `[${items.join(",")}]`;
  }
  if (kind === Kind.object) return formatMembers(table, node, (member) => formatCanonically(member, depth + 1), true);
  const isPlain = kind === Kind.string && json.detailOf(table, node) === end - start - 2;
  // The bytes of ASCII without escapes need no decoding.
  if (isPlain) return table.bytes.toString("latin1", start, end);
  const text = table.bytes.toString("utf8", start, end);
  // Other escapes have one spelling.
  if (kind === Kind.string) return /\\[u/]/.test(text) ? JSON.stringify(json.readString(table, node)) : text;
  return formatScalar(text);
};

/** The `source` of an image is an object. */
const isSaid = (key: string, kind: number | undefined) =>
  !isRecorders(key) || (key === "source" && kind === Kind.object);

/** The keys in their order, each with the position of its last member. */
const sortedShape = new Shape([], ({ list }) => {
  const positions = new Map(list().map(({ key }, at) => [key, at]));
  const kinds = list().map(({ kind }) => kind);
  return [...positions]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, position]) => ({ start: `${JSON.stringify(key)}:`, position, isSaid: isSaid(key, kinds[position]) }));
});

type Formatter = (value: json.JsonValue) => string;

/** Without intermediate lists, because each prompt is formatted. @param isWhole false for only what was said */
const formatMembers = (table: json.JsonTable, object: number, format: Formatter, isWhole = false) => {
  const nodes = listMembers(table, object);
  let text = "";
  for (const { start, position, isSaid } of sortedShape.read(table, object)) {
    const node = nodes[position] ?? 0;
    const isFormatted = isWhole || (isSaid && !isNothing(table, node));
    if (isFormatted) text += `${text && ","}${start}${format({ table, node })}`;
  }
  return `{${text}}`;
};

const listMembers = (table: json.JsonTable, object: number) => {
  const nodes: number[] = [];
  const end = json.nodeAfter(table, object);
  for (let key = object + nodeSize; key < end; key = json.nodeAfter(table, key + nodeSize)) nodes.push(key + nodeSize);
  return nodes;
};

/** Longer numbers keep their spelling, because different numbers can have the same double. */
const maxExactLength = 15;

const formatScalar = (text: string) =>
  /^-?\d/.test(text) && text.length <= maxExactLength && hasExactDouble(text) ? String(Number(text)) : text;

/** False for numbers beyond the range of doubles, such as `1e400` and `1e-400`. */
const hasExactDouble = (text: string) => {
  const number = Number(text);
  return Number.isFinite(number) && (number !== 0 || !/[1-9]/.test(text.replace(/e.*/i, "")));
};
