/** Finds where values stand in the bytes of valid JSON, to pass them on as they are, and where a text stops being JSON. */

/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed value is an object. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of an object's own key; undefined where it has none, or is no object. */
export const memberOf = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** A value's place: from `start` up to, not including, `end`. Byte offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object: its key, decoded, and where the key and its value stand. */
export interface Member {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: Span;
}

/** Bytes that JSON, and JSON on lines, is made of. */
export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const newline = 0x0a;

/** Whether a byte is white space of JSON. */
export const isWhite = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;

/** First offset from `at` on that holds no JSON white space. */
export const skipWhite = (bytes: Uint8Array, at: number): number => {
  let offset = at;
  while (isWhite(bytes[offset])) offset++;
  return offset;
};

/** Offset behind the string whose opening quote stands at `at`. */
const endOfString = (bytes: Uint8Array, at: number): number => {
  let from = at + 1;
  for (;;) {
    const close = bytes.indexOf(quote, from);
    if (close < 0) return bytes.length;
    let before = close - 1;
    while (bytes[before] === backslash) before--;
    if ((close - before) % 2 === 1) return close + 1;
    from = close + 1;
  }
};

/** Offset behind the value that starts at `at`. The bytes must be valid JSON there. */
export const endOfValue = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at];
  if (first === quote) return endOfString(bytes, at);
  if (first !== openBrace && first !== openBracket) return endOfScalar(bytes, at);
  let depth = 0;
  let offset = at;
  while (offset < bytes.length) {
    const byte = bytes[offset];
    if (byte === quote) {
      offset = endOfString(bytes, offset);
      continue;
    }
    offset++;
    if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return offset;
  }
  return offset;
};

const endOfScalar = (bytes: Uint8Array, at: number): number => {
  let offset = at;
  while (offset < bytes.length) {
    const byte = bytes[offset];
    if (byte === comma || byte === closeBrace || byte === closeBracket || isWhite(byte)) break;
    offset++;
  }
  return offset;
};

/** The elements of the array whose bracket stands at `at`. */
export function* elements(bytes: Uint8Array, at: number): Generator<Span, void> {
  let offset = skipWhite(bytes, at + 1);
  while (offset < bytes.length && bytes[offset] !== closeBracket) {
    const end = endOfValue(bytes, offset);
    yield { start: offset, end };
    offset = skipWhite(bytes, end);
    if (bytes[offset] === comma) offset = skipWhite(bytes, offset + 1);
  }
}

/** The members of the object whose brace stands at `at`, in their order, a key that stands twice included. */
export function* members(bytes: Uint8Array, at: number): Generator<Member, void> {
  let offset = skipWhite(bytes, at + 1);
  while (offset < bytes.length && bytes[offset] === quote) {
    const keySpan = { start: offset, end: endOfString(bytes, offset) };
    offset = skipWhite(bytes, keySpan.end);
    if (bytes[offset] === colon) offset = skipWhite(bytes, offset + 1);
    const value = { start: offset, end: endOfValue(bytes, offset) };
    yield { key: keyOf(bytes, keySpan), keySpan, value };
    offset = skipWhite(bytes, value.end);
    if (bytes[offset] === comma) offset = skipWhite(bytes, offset + 1);
  }
}

const keyOf = (bytes: Uint8Array, { start, end }: Span): string => {
  const text = textOf(bytes, { start: start + 1, end: end - 1 });
  if (!text.includes("\\")) return text;
  const key: unknown = JSON.parse(`"${text}"`);
  return typeof key === "string" ? key : "";
};

/** The text of a span. */
export const textOf = (bytes: Uint8Array, { start, end }: Span): string => bufferOf(bytes).toString("utf8", start, end);

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Offset, in UTF-16 units, of the first character at which a text stops being JSON; undefined where it is JSON. */
export const breakOf = (text: string): number | undefined => {
  /** The brackets that are open. */
  const open: ("{" | "[")[] = [];
  let at = whiteFrom(text, 0);
  let wanted: "value" | "value or close" | "key" | "key or close" | "next" = "value";
  for (;;) {
    const character = text[at] ?? "";
    if (wanted === "next") {
      const around = open.at(-1);
      if (around === undefined) return at < text.length ? at : undefined;
      if (character === (around === "{" ? "}" : "]")) open.pop();
      else if (character === ",") wanted = around === "{" ? "key" : "value";
      else return at;
      at = whiteFrom(text, at + 1);
    } else if ((wanted === "key or close" && character === "}") || (wanted === "value or close" && character === "]")) {
      wanted = "next";
    } else if (wanted === "key" || wanted === "key or close") {
      const key = scalarFrom(text, at);
      if (character !== '"' || !key.whole) return key.end;
      at = whiteFrom(text, key.end);
      if (text[at] !== ":") return at;
      at = whiteFrom(text, at + 1);
      wanted = "value";
    } else if (character === "{" || character === "[") {
      open.push(character);
      at = whiteFrom(text, at + 1);
      wanted = character === "{" ? "key or close" : "value or close";
    } else {
      const scalar = scalarFrom(text, at);
      if (!scalar.whole) return scalar.end;
      at = whiteFrom(text, scalar.end);
      wanted = "next";
    }
  }
};

const whiteFrom = (text: string, at: number): number => {
  let offset = at;
  while (offset < text.length && " \n\r\t".includes(text.charAt(offset))) offset++;
  return offset;
};

/** Where the string, number or word at `at` ends; not `whole` where it breaks off there. */
const scalarFrom = (text: string, at: number): { readonly end: number; readonly whole: boolean } => {
  if (text[at] === '"') return stringFrom(text, at);
  const scalar = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.+-])/y;
  scalar.lastIndex = at;
  return scalar.test(text) ? { end: scalar.lastIndex, whole: true } : { end: at, whole: false };
};

const stringFrom = (text: string, at: number): { readonly end: number; readonly whole: boolean } => {
  let offset = at + 1;
  for (;;) {
    const character = text.charAt(offset);
    if (character === '"') return { end: offset + 1, whole: true };
    if (character < " ") return { end: offset, whole: false };
    if (character === "\\") {
      if (!/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(offset + 1, offset + 6)))
        return { end: offset, whole: false };
      offset++;
    }
    offset++;
  }
};
