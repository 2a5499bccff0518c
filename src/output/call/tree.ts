/** A JSON value as an indented tree; base64 in it is named by its type and its size. */
import { formatDeep, maxIndentedLevels, type RawJson } from "../../json/raw-json.ts";
import { groupDigits } from "../page.ts";

/** Widest list of plain values that stays on one line. */
const maxListWidth = 72;

const step = "  ";

/** A value as lines: members under each other, texts of several lines as they were, two spaces a level. */
export const formatTree = (value: RawJson): string =>
  value.kind === "text"
    ? (describeBinary(value.text) ?? value.text)
    : (formatBeside(value, maxIndentedLevels) ?? formatBelow(value));

/** A value on lines of its own, behind an indent unless they are empty: a long text is indented once, however deep it is. */
const formatBelow = (value: RawJson, indent = "", levels = maxIndentedLevels): string => {
  if (value.kind !== "object" && value.kind !== "list") {
    return indent === "" ? scalarText(value) : scalarText(value).replace(/(^|\n)(?=[^\n])/g, `$1${indent}`);
  }
  const [more, below] = [indent + step, levels - 1];
  const members = value.members.map(({ key, value: own }) => {
    const beside = formatBeside(own, below);
    return `${indent}${keyText(key)}:${beside === undefined ? `\n${formatBelow(own, more, below)}` : ` ${beside}`}`;
  });
  const items = value.items.map((item) => {
    const own = formatBeside(item, below) ?? formatBelow(item, more, below);
    return `${indent}- ${own.startsWith(more) ? own.slice(more.length) : own}`;
  });
  return [...members, ...items].join("\n");
};

/** The text of a value next to its label; undefined for one that needs lines of its own. */
const formatBeside = (value: RawJson, levels: number): string | undefined => {
  const isTree = value.kind === "object" || value.kind === "list";
  if (isTree && levels === 0) return formatDeep(value);
  if (value.kind === "object") return value.members.length === 0 ? "{}" : undefined;
  if (value.kind === "list") return listText(value.items);
  const text = scalarText(value);
  return text.includes("\n") ? undefined : text;
};

const listText = (items: readonly RawJson[]): string | undefined => {
  if (items.some(({ kind }) => kind === "list" || kind === "object")) return undefined;
  const texts = items.map((item) =>
    item.kind === "text" && /[,\]]/.test(item.text) ? JSON.stringify(item.text) : scalarText(item),
  );
  const line = `[${texts.join(", ")}]`;
  return line.includes("\n") || line.length > maxListWidth ? undefined : line;
};

/** A text has no quotes, unless it would be taken for something else. */
const scalarText = ({ kind, text }: RawJson): string => {
  if (kind !== "text") return text;
  return describeBinary(text) ?? (needsQuotes(text) ? JSON.stringify(text) : text);
};

const needsQuotes = (text: string): boolean =>
  text === "" ||
  (text.trim() !== text && !text.includes("\n")) ||
  /^(true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?|[[{"].*)$/.test(text);

const keyText = (key: string): string => (/^[^\s:][^\n\r:]*$/.test(key) ? key : JSON.stringify(key));

/** Shorter texts are as short as their description. */
const minBinaryLength = 64;

/** The description of a `data:` address that holds base64; undefined for any other text. */
export const describeBinary = (text: string): string | undefined => {
  if (!text.startsWith("data:") || text.length < minBinaryLength) return undefined;
  const head = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/.exec(text);
  return head === null ? undefined : `[${head[1] ?? "data"}, ${formatSize(decodedSize(text.slice(head[0].length)))}]`;
};

/** Bytes that a base64 text stands for. */
export const decodedSize = (text: string): number => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};

/** A size a person can compare, exact below 10,000 bytes. */
export const formatSize = (bytes: number): string => {
  if (bytes < 10_000) return `${groupDigits(String(bytes))} ${bytes === 1 ? "byte" : "bytes"}`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let size = bytes / 1024;
  let unit = 0;
  for (; size >= 999.5 && unit < units.length - 1; unit++) size /= 1024;
  return `${size.toFixed(size < 99.95 ? 1 : 0)} ${units[unit]}`;
};
