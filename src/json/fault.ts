/** Finds the character at which text stops being JSON: accepts exactly what `JSON.parse` accepts, and says what stands there. */
import { closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote, skipWhite } from "./walk.ts";

/** What is wrong where JSON ends to be JSON. */
export type Fault =
  /** The text ends before its value does. */
  | "end"
  /** Another value, or anything else, after the value. */
  | "more"
  /** A name where a value should be, such as `NaN`. */
  | "word"
  | "single-quote"
  | "comment"
  /** A comma with no value behind it. */
  | "comma"
  /** A control character inside a string. */
  | "control"
  | "escape"
  | "number"
  | "character";

/** A fault, and the offset of the byte it stands at. */
export interface SyntaxFault {
  readonly at: number;
  readonly fault: Fault;
}

const minus = 0x2d;

/** Where a step ended, or the fault it found. */
type Step = number | SyntaxFault;

/** The first fault in bytes that should be one JSON value; undefined where they are one. The bytes must be UTF-8. */
export const faultIn = (bytes: Uint8Array): SyntaxFault | undefined => {
  const open: number[] = [];
  let at = skipWhite(bytes, 0);
  // What may come next: a value, a value or the closing bracket, a key, a key or the closing brace, or what follows a value.
  let next: "value" | "first" | "key" | "first-key" | "after" = "value";
  for (;;) {
    at = skipWhite(bytes, at);
    const byte = bytes[at];
    if (next === "after" && open.length === 0)
      return byte === undefined ? undefined : { at, fault: faultBehind(bytes, at) };
    if (byte === undefined) return { at, fault: "end" };
    const closer = open[open.length - 1];
    if (byte === closer && next !== "value" && next !== "key") {
      open.pop();
      at++;
      next = "after";
    } else if (next === "after") {
      if (byte !== comma) return { at, fault: oddFault(bytes, at) };
      at++;
      next = closer === closeBrace ? "key" : "value";
    } else if (next === "key" || next === "first-key") {
      const step = keyAt(bytes, at);
      if (typeof step !== "number") return step;
      at = step;
      next = "value";
    } else if (byte === openBrace || byte === openBracket) {
      open.push(byte === openBrace ? closeBrace : closeBracket);
      at++;
      next = byte === openBrace ? "first-key" : "first";
    } else {
      const step = scalarAt(bytes, at);
      if (typeof step !== "number") return step;
      at = step;
      next = "after";
    }
  }
};

/** What stands behind the value: a comment, or anything else. */
const faultBehind = (bytes: Uint8Array, at: number): Fault => (oddFault(bytes, at) === "comment" ? "comment" : "more");

/** Steps over a key and its colon. */
const keyAt = (bytes: Uint8Array, at: number): Step => {
  if (bytes[at] !== quote) return { at, fault: bytes[at] === closeBrace ? "comma" : oddFault(bytes, at) };
  const end = stringAt(bytes, at);
  if (typeof end !== "number") return end;
  const after = skipWhite(bytes, end);
  if (bytes[after] === colon) return after + 1;
  return { at: after, fault: after >= bytes.length ? "end" : oddFault(bytes, after) };
};

const scalarAt = (bytes: Uint8Array, at: number): Step => {
  const byte = bytes[at] ?? 0;
  if (byte === quote) return stringAt(bytes, at);
  if (byte === minus || isDigit(byte)) return numberAt(bytes, at);
  for (const word of words) {
    let length = 0;
    while (length < word.length && bytes[at + length] === word[length]) length++;
    if (length === word.length) return at + length;
    if (length > 0 && at + length >= bytes.length) return { at: bytes.length, fault: "end" };
  }
  if (byte === closeBrace || byte === closeBracket || byte === comma) return { at, fault: "comma" };
  return { at, fault: oddFault(bytes, at) };
};

const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/** What a byte is that can't stand where it stands. */
const oddFault = (bytes: Uint8Array, at: number): Fault => {
  const byte = bytes[at] ?? 0;
  if (byte === 0x27) return "single-quote";
  if (byte === 0x23 || (byte === 0x2f && (bytes[at + 1] === 0x2f || bytes[at + 1] === 0x2a))) return "comment";
  if (isLetter(byte)) return "word";
  const isNumber = (byte === 0x2b || byte === 0x2e) && isDigit(bytes[at + 1] ?? 0);
  return isNumber ? "number" : "character";
};

const stringAt = (bytes: Uint8Array, from: number): Step => {
  let at = from + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined) return { at: bytes.length, fault: "end" };
    if (byte === quote) return at + 1;
    if (byte < 0x20) return { at, fault: "control" };
    if (byte !== 0x5c) {
      at++;
      continue;
    }
    const step = escapeAt(bytes, at);
    if (typeof step !== "number") return step;
    at = step;
  }
};

const simpleEscapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

const escapeAt = (bytes: Uint8Array, at: number): Step => {
  const kind = bytes[at + 1];
  if (kind === undefined) return { at: bytes.length, fault: "end" };
  if (simpleEscapes.has(kind)) return at + 2;
  if (kind !== 0x75) return { at, fault: "escape" };
  for (let digit = at + 2; digit < at + 6; digit++) {
    const byte = bytes[digit];
    if (byte === undefined) return { at: bytes.length, fault: "end" };
    const hex = isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
    if (!hex) return { at, fault: "escape" };
  }
  return at + 6;
};

const numberAt = (bytes: Uint8Array, from: number): Step => {
  let at = from;
  if (bytes[at] === minus) at++;
  if (isLetter(bytes[at] ?? 0)) return { at: from, fault: "word" };
  const whole = digitsAt(bytes, at);
  if (whole === at) return cutOrOdd(bytes, at, from);
  if (bytes[at] === 0x30 && whole > at + 1) return { at: from, fault: "number" };
  at = whole;
  if (bytes[at] === 0x2e) {
    const fraction = digitsAt(bytes, at + 1);
    if (fraction === at + 1) return cutOrOdd(bytes, fraction, from);
    at = fraction;
  }
  if (((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  at++;
  if (bytes[at] === 0x2b || bytes[at] === minus) at++;
  const exponent = digitsAt(bytes, at);
  return exponent === at ? cutOrOdd(bytes, at, from) : exponent;
};

/** A number that lacks digits: cut off where the text ends, else no number. */
const cutOrOdd = (bytes: Uint8Array, at: number, from: number): SyntaxFault =>
  at >= bytes.length ? { at, fault: "end" } : { at: from, fault: "number" };

const digitsAt = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (isDigit(bytes[at] ?? 0)) at++;
  return at;
};

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

const isLetter = (byte: number): boolean => ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) || byte === 0x5f;

/** The key whose value begins at an offset; undefined where there is none close before it. */
export const keyBefore = (bytes: Uint8Array, at: number): string | undefined =>
  /"([^"\\]*)"\s*:\s*$/.exec(Buffer.from(bytes.subarray(Math.max(0, at - longestKey), at)).toString("latin1"))?.[1];

/** Bytes before a value that are looked at for its key. */
const longestKey = 80;

/** The word that starts at an offset, its sign included: `-Infinity`. */
export const wordAt = (bytes: Uint8Array, from: number): string => {
  let at = bytes[from] === minus ? from + 1 : from;
  while (isLetter(bytes[at] ?? 0) || isDigit(bytes[at] ?? 0)) at++;
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, Math.min(at - from, 40)).toString("latin1");
};
