/** Formats JSON as an indented tree, without the bytes of data URLs. */
import { compactJson, maxIndentedLevels, type RawJson } from "../../json/raw-json.ts";
import { formatRoundedSize } from "../../text/units.ts";

const maxListWidth = 72;
const indentStep = "  ";

export const formatTree = (value: RawJson) =>
  value.kind === "text"
    ? (describeBinary(value.text) ?? value.text)
    : (formatBeside(value, maxIndentedLevels) ?? formatBelow(value));

const formatBelow = (value: RawJson, indent = "", levels = maxIndentedLevels): string => {
  if (!isTree(value)) return formatScalar(value).replace(/^(?=[^\n])/gm, indent);
  const [innerIndent, innerLevels] = [indent + indentStep, levels - 1];
  const members = value.members.map(({ key, value: member }) => {
    const beside = formatBeside(member, innerLevels);
    const text = beside === undefined ? `\n${formatBelow(member, innerIndent, innerLevels)}` : ` ${beside}`;
    return `${indent}${formatKey(key)}:${text}`;
  });
  const items = value.items.map((item) => {
    const text = formatBeside(item, innerLevels) ?? formatBelow(item, innerIndent, innerLevels);
    return `${indent}- ${text.startsWith(innerIndent) ? text.slice(innerIndent.length) : text}`;
  });
  return [...members, ...items].join("\n");
};

const isTree = ({ kind }: RawJson) => kind === "object" || kind === "list";

const formatBeside = (value: RawJson, levels: number) => {
  if (isTree(value) && levels === 0) return compactJson(value.json);
  if (value.kind === "object") return value.members.length === 0 ? "{}" : undefined;
  const line = value.kind === "list" ? formatList(value.items) : formatScalar(value);
  return line?.includes("\n") ? undefined : line;
};

const formatList = (items: readonly RawJson[]) => {
  if (items.some(isTree)) return undefined;
  const isSplit = ({ kind, text }: RawJson) => kind === "text" && /[,\]]/.test(text);
  const texts = items.map((item) => (isSplit(item) ? JSON.stringify(item.text) : formatScalar(item)));
  const line = `[${texts.join(", ")}]`;
  return line.length > maxListWidth ? undefined : line;
};

const formatScalar = ({ kind, text }: RawJson) => {
  if (kind !== "text") return text;
  return describeBinary(text) ?? (needsQuotes(text) ? JSON.stringify(text) : text);
};

const needsQuotes = (text: string) =>
  text === "" ||
  (text.trim() !== text && !text.includes("\n")) ||
  /^(true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?|[[{"].*)$/.test(text);

const formatKey = (key: string) => (/^[^\s:][^\n\r:]*$/.test(key) ? key : JSON.stringify(key));

const minBinaryLength = 64;

export const describeBinary = (text: string) => {
  if (!text.startsWith("data:") || text.length < minBinaryLength) return undefined;
  const head = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/.exec(text);
  return head ? `[${head[1] ?? "data"}, ${formatRoundedSize(getDecodedSize(text.slice(head[0].length)))}]` : undefined;
};

export const getDecodedSize = (text: string) => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};
