/** Walks bytes of JSON, and reads parsed values. */
import { compareDecimals, parseDecimal } from "../text/units.ts";
import { parseJson } from "./raw-json.ts";

export { isObject, type JsonObject, parseJson } from "./raw-json.ts";

/** Byte offsets. `end` is exclusive. */
export type Span = Readonly<Record<"start" | "end", number>>;

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const newline = 0x0a;

/** JSON forbids a byte order mark, but some programs write it. */
export const bomLength = (bytes: ArrayLike<number>): number =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? maxBomLength : 0;

export const maxBomLength = 3;

export const isWhite = (byte: number | undefined) =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;

export const skipWhite = (bytes: Uint8Array, at: number) => {
  let offset = at;
  while (isWhite(bytes[offset])) offset++;
  return offset;
};

export const trimmedEnd = (bytes: Uint8Array, from: number) => {
  let end = from;
  while (end > 0 && isWhite(bytes[end - 1])) end--;
  return end;
};

export const endOfLine = (bytes: Uint8Array, from: number) => {
  const end = bytes.indexOf(newline, from);
  return end < 0 ? bytes.length : end;
};

/** Overwrites newlines with spaces. Strings of valid JSON contain no newlines. */
export const replaceLineEnds = <Bytes extends Uint8Array>(bytes: Bytes) => {
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) bytes[at] = 0x20;
  return bytes;
};

/** Returns the offset after the closing quote, or the end of the bytes if the string is cut off. */
export const endOfString = (bytes: Uint8Array, at: number) => {
  for (let close = bytes.indexOf(quote, at + 1); close >= 0; close = bytes.indexOf(quote, close + 1)) {
    let before = close - 1;
    while (bytes[before] === backslash) before--;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return bytes.length;
};

/** Yields spans, because a table of a long list would take too much memory. */
export function* walkItems(bytes: Uint8Array, start: number): Generator<Span, void> {
  let [depth, from] = [0, start + 1];
  for (let at = start; at < bytes.length && (at === start || depth > 0); at++) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    if (depth > 1 || (depth === 1 && byte !== comma)) continue;
    const item = { start: skipWhite(bytes, from), end: trimmedEnd(bytes, at) };
    if (item.start < item.end) yield item;
    from = at + 1;
  }
}

export const sliceText = (bytes: Uint8Array, { start, end }: Span) => toBuffer(bytes).toString("utf8", start, end);

/** Returns a buffer that shares memory with `bytes`. */
export const toBuffer = (bytes: Uint8Array) =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns the line and the column, both from 1. The column is in UTF-16 units. */
export const locateOffset = (bytes: Uint8Array, offset: number) => {
  let [line, from] = [1, 0];
  for (let end = bytes.indexOf(newline); end >= 0 && end < offset; end = bytes.indexOf(newline, from)) {
    line++;
    from = end + 1;
  }
  return { line, column: sliceText(bytes, { start: from, end: offset }).length + 1 };
};

export const getValue = (value: unknown, path: readonly (string | number)[]) =>
  path.reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, step) ? Reflect.get(inner, step) : undefined,
    value,
  );

/** Replaces NaN and Infinity, which Python writes although they are not JSON. */
export const replaceNonFinite = (bytes: Buffer, replace: (word: string) => string) =>
  replaceWords(bytes, /"|NaN|-?Infinity/g, replace);

/** Replaces words outside of strings. @param words matches a quote, too */
export const replaceWords = (bytes: Buffer, words: RegExp, replace: (word: string) => string) => {
  const text = bytes.toString("latin1");
  const parts: string[] = [];
  let copied = 0;
  for (let match = words.exec(text); match !== null; match = words.exec(text)) {
    const [word] = match;
    if (word === '"') words.lastIndex = endOfString(bytes, match.index);
    else {
      parts.push(text.slice(copied, match.index), replace(word));
      copied = words.lastIndex;
    }
  }
  return Buffer.from(parts.join("") + text.slice(copied), "latin1");
};

/** Matches texts with a number that may lose digits as a double. */
const longNumber = /[-\d.]{16}|\d[eE][-+]?\d{2}/;

/** Parses JSON. A number that a double would round becomes a text, unless its exponent is too large for a decimal. */
export const parseWithDigits = (text: string) => {
  const parsed = parseJson(text);
  if (!parsed || !longNumber.test(text)) return parsed;
  const toExactWord = (word: string) => {
    const [stated, rounded] = [parseDecimal(word), parseDecimal(String(Number(word)))];
    return stated && rounded && compareDecimals(stated, rounded) !== 0 ? JSON.stringify(word) : word;
  };
  return parseJson(replaceWords(Buffer.from(text), /"|-?\d[-+.\deE]*/g, toExactWord).toString("utf8"));
};
