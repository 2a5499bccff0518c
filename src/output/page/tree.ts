/** A JSON value as an indented tree: for what is no conversation. */

import { isNothing, type Spelled, type SpelledMember } from "../../json/spelled.ts";
import { binaryText } from "./binary.ts";

/** Widest list of plain values that stays on one line. */
const widestLine = 72;

/** A value as lines: members under each other, texts of several lines as they were, two spaces a level. */
export const treeText = (value: Spelled): string =>
  value.kind === "text" ? (binaryText(value.text) ?? value.text) : (besideText(value) ?? linesOf(value).join("\n"));

/** Members as a tree; an empty text where there are none. */
export const membersText = (members: readonly SpelledMember[]): string => treeText({ kind: "object", members });

const linesOf = (value: Spelled): readonly string[] => {
  if (value.kind === "object")
    return value.members.flatMap(({ key, value: inner }) => labelled(`${keyText(key)}:`, inner));
  if (value.kind === "list") return value.items.flatMap((item) => itemLines(item));
  return scalarText(value).split("\n");
};

/** A label, and its value beside it or under it. */
const labelled = (label: string, value: Spelled): readonly string[] => {
  const beside = besideText(value);
  return beside === undefined ? [label, ...indented(linesOf(value))] : [`${label} ${beside}`];
};

const itemLines = (item: Spelled): readonly string[] => {
  const beside = besideText(item);
  if (beside !== undefined) return [`- ${beside}`];
  const [first = "", ...rest] = linesOf(item);
  return [`- ${first}`, ...indented(rest)];
};

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => (line === "" ? "" : `  ${line}`));

/** What stands on the line of its label; undefined for what needs lines of its own. */
const besideText = (value: Spelled): string | undefined => {
  if (value.kind === "object") return value.members.length === 0 ? "{}" : undefined;
  if (value.kind === "list") return listText(value.items);
  const text = scalarText(value);
  return text.includes("\n") ? undefined : text;
};

const listText = (items: readonly Spelled[]): string | undefined => {
  const texts = items.map((item) => {
    if (item.kind === "list" || item.kind === "object") return undefined;
    return item.kind === "text" && /[,\]]/.test(item.text) ? JSON.stringify(item.text) : scalarText(item);
  });
  const line = `[${texts.join(", ")}]`;
  return texts.includes(undefined) || line.includes("\n") || line.length > widestLine ? undefined : line;
};

/** A text stands without quotes, but for one that would be taken for something else. */
const scalarText = (value: Spelled): string => {
  if (value.kind === "list" || value.kind === "object") return "";
  if (value.kind !== "text") return value.text;
  const binary = binaryText(value.text);
  if (binary !== undefined) return binary;
  return needsQuotes(value.text) ? JSON.stringify(value.text) : value.text;
};

const needsQuotes = (text: string): boolean =>
  text.trim() !== text && !text.includes("\n")
    ? true
    : text === "" || /^(true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?|[[{"].*)$/.test(text);

const keyText = (key: string): string => (/^[^\s:][^\n\r:]*$/.test(key) ? key : JSON.stringify(key));

/** Members that hold something. */
export const filled = (members: readonly SpelledMember[]): readonly SpelledMember[] =>
  members.filter(({ value }) => !isNothing(value));
