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

/** What must come next in JSON; `end` is the end of the text. */
type Wanted = "value" | "key" | "colon" | "comma" | "end";

/** A fault, and the offset of the byte it stands at. */
export interface SyntaxFault {
  readonly at: number;
  readonly fault: Fault;
  /** Where the string, number or word that holds the fault begins; the fault's own place where none does. */
  readonly token: number;
}

/** The fault of bytes that `JSON.parse` refused. */
export const faultOf = (bytes: Uint8Array): SyntaxFault => faultIn(bytes) ?? { at: 0, fault: "character", token: 0 };

const minus = 0x2d;

/** Where a string, number or word ended, or the fault in it. */
type Step = number | Pick<SyntaxFault, "at" | "fault">;

/** The first fault in bytes that should be one JSON value; undefined where they are one. The bytes must be UTF-8. */
export const faultIn = (bytes: Uint8Array): SyntaxFault | undefined => {
  const found = new FaultFinder().pass(bytes, true);
  return typeof found === "number" ? undefined : found;
};

/** Bytes behind a fault that may say what it is. */
const farthestSeen = 64;

/** Finds the first fault of one JSON value that is passed piece by piece. */
export class FaultFinder {
  /** What closes the brackets that are open. */
  readonly #open: number[] = [];
  #wanted: Wanted = "value";
  #mayClose = false;

  /**
   * Passes a piece. Gives the fault in it; or, of one that is not the last, how many bytes were passed: the others are to
   * stand at the beginning of the next piece, and more behind them. Undefined at the end of a value without a fault.
   */
  pass(bytes: Uint8Array, isLast: boolean): SyntaxFault | number | undefined {
    for (let at = 0; ; ) {
      at = skipWhite(bytes, at);
      const byte = bytes[at];
      if (byte === undefined && !isLast) return at;
      if (byte === undefined && this.#wanted === "end") return undefined;
      if (this.#takesBracket(byte)) {
        at++;
        continue;
      }
      const wanted = this.#wanted;
      const step = stepOver(bytes, at, wanted);
      const seen = typeof step === "number" ? step : step.at + farthestSeen;
      if (!isLast && seen >= bytes.length) return at;
      if (typeof step !== "number") return { ...step, token: at };
      at = step;
      this.#expect(wanted === "comma" && this.#open.at(-1) === closeBrace ? "key" : behind[wanted]);
    }
  }

  /** Steps into what a bracket opens, or out of what it closes; whether it is one of these. */
  #takesBracket(byte: number | undefined): boolean {
    if (this.#mayClose && byte !== undefined && byte === this.#open.at(-1)) {
      this.#open.pop();
      this.#expect("comma");
      return true;
    }
    if (this.#wanted !== "value" || (byte !== openBrace && byte !== openBracket)) return false;
    this.#open.push(byte === openBrace ? closeBrace : closeBracket);
    this.#wanted = byte === openBrace ? "key" : "value";
    this.#mayClose = true;
    return true;
  }

  #expect(wanted: Wanted): void {
    this.#mayClose = wanted === "comma";
    this.#wanted = wanted === "comma" && this.#open.length === 0 ? "end" : wanted;
  }
}

/** What must come behind what was wanted; a comma in an object has a key behind it. */
const behind: Readonly<Record<Wanted, Wanted>> = {
  value: "comma",
  key: "colon",
  colon: "value",
  comma: "value",
  end: "end",
};

const stepOver = (bytes: Uint8Array, at: number, wanted: Wanted): Step => {
  const byte = bytes[at];
  if (byte === undefined) return { at, fault: "end" };
  if (wanted === "value") return scalarAt(bytes, at);
  if (wanted === "key" && byte === quote) return stringAt(bytes, at);
  if ((wanted === "colon" && byte === colon) || (wanted === "comma" && byte === comma)) return at + 1;
  const fault = faultAt(bytes, at);
  if (wanted === "end" && fault !== "comment") return { at, fault: "more" };
  return { at, fault: wanted === "key" && byte === closeBrace ? "comma" : fault };
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
  return { at, fault: faultAt(bytes, at) };
};

const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/** What a byte is that can't stand where it stands. */
const faultAt = (bytes: Uint8Array, at: number): Fault => {
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
  if (whole === at) return cutOrWrong(bytes, at, from);
  if (bytes[at] === 0x30 && whole > at + 1) return { at: from, fault: "number" };
  at = whole;
  if (bytes[at] === 0x2e) {
    const fraction = digitsAt(bytes, at + 1);
    if (fraction === at + 1) return cutOrWrong(bytes, fraction, from);
    at = fraction;
  }
  if (((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  at++;
  if (bytes[at] === 0x2b || bytes[at] === minus) at++;
  const exponent = digitsAt(bytes, at);
  return exponent === at ? cutOrWrong(bytes, at, from) : exponent;
};

/** A number that lacks digits: cut off where the text ends, else no number. */
const cutOrWrong = (bytes: Uint8Array, at: number, from: number): Step =>
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
