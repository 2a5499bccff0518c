/** Finds the prompt of a trajectory, and compares prompts as values. */
import { hash } from "node:crypto";
import { type Span, sliceText } from "../../json/json-bytes.ts";
import { type JsonReader, nodeSize } from "../../json/reader.ts";
import { Kind, kindAt, mapMembers, Shape } from "../../json/shape.ts";
import * as json from "../../json/table.ts";
import { digestBytes } from "../index/digests.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "../index/trajectory-facts.ts";
import { splitTemplate } from "../messages/chat-marks.ts";
import { readOnlyText, recorderKey } from "../messages/said-content.ts";
import { inspectMessages } from "./messages.ts";

/** The node of a list of messages and choices, and what one walk over it finds. */
type Prompt = Readonly<{ list: number } & Pick<TrajectoryFacts, "promptEnd">>;

/** True if all trajectories of a task begin with this prompt. After a greeting, the user may be simulated. */
export const hasTaskPrompt = ({
  promptEnd,
  hasGreeting,
}: Pick<TrajectoryFacts, "promptEnd" | "hasGreeting">): boolean => promptEnd > 0 && !hasGreeting;

/** Returns undefined if the prompt is unknown. */
export const findPrompt = (table: json.JsonTable, { list, promptEnd }: Prompt): Span | undefined =>
  promptEnd > 0 ? { start: json.startOf(table, list + nodeSize), end: promptEnd } : undefined;

/** Finds the prompt of a trajectory of any shape. */
export const findPromptOf = (trajectory: json.JsonValue): TrajectoryFacts => {
  const messages = json.memberAt(trajectory, "messages_and_choices");
  const facts = createTrajectoryFacts();
  if (!messages || kindAt(messages.table, messages.node) !== Kind.array) return facts;
  facts.list = messages.node;
  inspectMessages(messages.table, messages.node, facts, () => undefined);
  return facts;
};

/** What remains of the marks in a prompt that was decoded without special tokens, such as verl's. */
const bareTurn = /^(?:system\n[\s\S]*?\n)?(?:user|human)\n([\s\S]*?)\n(?:assistant|model)(?:\n|$)/i;

/** Returns the first turn of the user in a prompt that a chat template formatted, and any other text as it is. */
export const findTask = (prompt: string): string =>
  splitTemplate(prompt)?.find(({ role }) => role === "user")?.text ?? bareTurn.exec(prompt)?.[1] ?? prompt;

/** Returns a function that returns the start of the digest of a prompt in Latin-1; undefined if it is unknown. */
export const openPromptReader = () => {
  // Adjacent prompts are usually the same bytes, and a digest takes long.
  let last = Buffer.alloc(0);
  let digest = "";
  return (table: json.JsonTable, prompt: Prompt) => {
    const span = findPrompt(table, prompt);
    if (!span) return undefined;
    const { start, end } = span;
    if (end - start === last.length && table.bytes.compare(last, 0, last.length, start, end) === 0) return digest;
    last = Buffer.from(table.bytes.subarray(start, end));
    digest = digestPrompt(table, prompt);
    return digest;
  };
};

/** Equal values have equal digests: white space, escapes, the order of keys and spellings of numbers do not count. */
const digestPrompt = (table: json.JsonTable, { list, promptEnd }: Prompt): string => {
  const messages: string[] = [];
  for (let node = list + nodeSize; json.startOf(table, node) < promptEnd; node = json.nodeAfter(table, node))
    messages.push(formatMessage({ table, node }));
  return hash("sha256", `[${messages.join(",")}]`, "binary").slice(0, digestBytes);
};

/** Formats what was said: without ids, recorders and times of the message, its parts and its calls. */
const formatMessage = (value: json.JsonValue): string => {
  const { table, node } = value;
  if (kindAt(table, node) !== Kind.object) return formatCanonically(value);
  return formatMembers(table, node, formatContent);
};

/** A list with one text says the same as the text. */
export const formatContent = (value: json.JsonValue): string => {
  if (kindAt(value.table, value.node) !== Kind.array) return formatCanonically(value);
  const parts = json.elementsOf(value);
  const text = parts.length === 1 ? readOnlyText(json.parseNode(value.table, value.node)) : undefined;
  return text === undefined ? `[${parts.map(formatPart).join(",")}]` : JSON.stringify(text);
};

const formatPart = (value: json.JsonValue): string =>
  kindAt(value.table, value.node) === Kind.object
    ? formatMembers(value.table, value.node, formatCanonically)
    : formatCanonically(value);

/** Formats equal values as equal texts. */
export const formatCanonically = (value: json.JsonValue): string => {
  const { table, node } = value;
  const kind = kindAt(table, node);
  if (kind === Kind.array) return `[${json.elementsOf(value).map(formatCanonically).join(",")}]`;
  if (kind === Kind.object) return `{${formatAllMembers(table, node, formatCanonically).join(",")}}`;
  const text = sliceText(table.bytes, json.spanOf(value));
  // Other escapes have one spelling.
  if (kind === Kind.string) return /\\[u/]/.test(text) ? JSON.stringify(json.readString(table, node)) : text;
  return formatScalar(text);
};

/** The keys in their order, each with the position of its last member. */
const sortedShape = new Shape([], (_, table, object) => {
  const nodes = [...mapMembers(table, object)].sort(([a], [b]) => (a < b ? -1 : 1));
  const positions = new Map(listMembers(table, object).map((node, at) => [node, at]));
  return nodes.map(([key, node]) => ({
    start: `${JSON.stringify(key)}:`,
    position: positions.get(node) ?? 0,
    isSaid: !recorderKey.test(key),
  }));
});

type Formatter = (value: json.JsonValue) => string;

const formatAllMembers = (table: json.JsonTable, object: number, format: Formatter) => {
  const nodes = listMembers(table, object);
  return sortedShape
    .read(table, object)
    .map(({ start, position }) => start + format({ table, node: nodes[position] ?? 0 }));
};

/** Without intermediate lists, because each prompt is formatted. */
const formatMembers = (table: json.JsonTable, object: number, format: Formatter) => {
  const nodes = listMembers(table, object);
  let text = "";
  for (const { start, position, isSaid } of sortedShape.read(table, object)) {
    const node = nodes[position] ?? 0;
    if (isSaid && kindAt(table, node) !== Kind.null) text += `${text && ","}${start}${format({ table, node })}`;
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

type TextReader = Pick<JsonReader, "countEqual">;

/** True if all prompts of tasks in a table are the same bytes. */
export const haveEqualBytes = (table: json.JsonTable, facts: readonly TrajectoryFacts[], reader: TextReader) => {
  let start = 0;
  let length = 0;
  for (const prompt of facts) {
    if (!hasTaskPrompt(prompt)) continue;
    const own = json.startOf(table, prompt.list + nodeSize);
    if (length === 0) {
      start = own;
      length = prompt.promptEnd - own;
    } else if (prompt.promptEnd - own !== length || reader.countEqual(start, own, length) < length) return false;
  }
  return true;
};

/** Returns undefined if all known prompts are equal. */
export const findRarestPrompt = (digests: readonly (string | undefined)[]) => {
  const counts = new Map<string, { first: number; count: number }>();
  let of = 0;
  for (const [at, digest] of digests.entries()) {
    if (digest === undefined) continue;
    of++;
    const { first, count } = counts.get(digest) ?? { first: at, count: 0 };
    counts.set(digest, { first, count: count + 1 });
  }
  // Of two prompts that are as rare, the later differs from what the group began with.
  const [rarest] = [...counts.values()].sort((a, b) => a.count - b.count || b.first - a.first);
  return rarest && counts.size > 1 ? { prompts: counts.size, of, ...rarest } : undefined;
};
