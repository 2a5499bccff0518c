/** A JSON value as an indented tree; what is inlined as base64 is named by its type and its size. */

import type { Spelled, SpelledMember } from "../../json/spelled.ts";
import { grouped } from "../page/block.ts";

/** Widest list of plain values that stays on one line. */
const widestLine = 72;

/** A value as lines: members under each other, texts of several lines as they were, two spaces a level. */
export const treeText = (value: Spelled): string =>
  value.kind === "text" ? (binaryText(value.text) ?? value.text) : (besideText(value) ?? belowText(value));

/** Members as a tree; an empty text where there are none. */
export const membersText = (members: readonly SpelledMember[]): string => treeText({ kind: "object", members });

/** A value on lines of its own, all of them behind an indent but the empty ones: a long text is indented once, however deep it stands. */
const belowText = (value: Spelled, indent = ""): string => {
  if (value.kind === "object") return value.members.map((member) => memberText(member, indent)).join("\n");
  if (value.kind === "list") return value.items.map((item) => itemText(item, indent)).join("\n");
  const text = scalarText(value);
  return indent === "" ? text : text.replace(/(^|\n)(?=[^\n])/g, `$1${indent}`);
};

const step = "  ";

/** A key, and its value beside it or under it. */
const memberText = ({ key, value }: SpelledMember, indent: string): string => {
  const beside = besideText(value);
  return `${indent}${keyText(key)}:${beside === undefined ? `\n${belowText(value, indent + step)}` : ` ${beside}`}`;
};

const itemText = (item: Spelled, indent: string): string => {
  const beside = besideText(item);
  if (beside !== undefined) return `${indent}- ${beside}`;
  const below = belowText(item, indent + step);
  return `${indent}- ${below.startsWith(indent + step) ? below.slice(indent.length + step.length) : below}`;
};

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

/** Shorter ones are as short as what would be said of them. */
const shortest = 64;

/** What to say of a `data:` address that holds base64; undefined for any other text. */
export const binaryText = (text: string): string | undefined => {
  if (!text.startsWith("data:") || text.length < shortest) return undefined;
  const head = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/.exec(text);
  return head === null ? undefined : `[${head[1] ?? "data"}, ${sizeText(base64Bytes(text.slice(head[0].length)))}]`;
};

/** Bytes that a base64 text stands for. */
export const base64Bytes = (text: string): number => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};

/** A size a person can compare, exact below 10,000 bytes. */
export const sizeText = (bytes: number): string => {
  if (bytes < 10_000) return `${grouped(String(bytes))} ${bytes === 1 ? "byte" : "bytes"}`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size.toFixed(size < 99.95 ? 1 : 0)} ${units[unit]}`;
};
