/** Walks JSON in bytes: if its values stand, to read them one by one or to pass them on as they were written. */

/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True if a parsed value is an object. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of an object's own key; undefined if it has none, or is no object. */
export const getMember = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** A value's place: from `start` up to, not including, `end`. Byte offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object: its key, decoded, and where the key and its value stand. */
export interface MemberSpan {
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

/** Bytes of the byte order mark that a text begins with: JSON does not allow it, and some programs write it. */
export const bomLength = (bytes: ArrayLike<number>): number =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? maxBomLength : 0;

/** The most bytes that a byte order mark has. */
export const maxBomLength = 3;

/** True if a byte is white space of JSON. */
export const isWhite = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;

/** First offset from `at` on that holds no JSON white space. */
export const skipWhite = (bytes: Uint8Array, at: number): number => {
  let offset = at;
  while (isWhite(bytes[offset])) offset++;
  return offset;
};

/** Offset after the last byte before `before` that is not JSON white space. */
export const trimmedEnd = (bytes: Uint8Array, before: number): number => {
  let end = before;
  while (end > 0 && isWhite(bytes[end - 1])) end--;
  return end;
};

/** True if a text begins with a key whose colon is at an offset. */
export const hasLeadingKey = (bytes: Uint8Array, at: number): boolean => bytes[0] === quote && bytes[at] === colon;

/** Offset of the first newline from `from` on; that behind the bytes if there is none. */
export const endOfLine = (bytes: Uint8Array, from: number): number => {
  const end = bytes.indexOf(newline, from);
  return end < 0 ? bytes.length : end;
};

/** Puts JSON on one line, where it stands: its line ends become blanks, which texts hold none of. Gives the same bytes. */
export const replaceLineEnds = (bytes: Buffer): Buffer => {
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) bytes[at] = 0x20;
  return bytes;
};

/** Offset after the string whose opening quote stands at `at`. */
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

/** How many objects and arrays begin in bytes of JSON; of more than `most`, one more is counted. */
export const countNested = (bytes: Uint8Array, max: number): number => {
  let count = 0;
  for (let at = 0; at < bytes.length && count <= max; ) {
    const byte = bytes[at];
    if (byte === openBrace || byte === openBracket) count++;
    at = byte === quote ? endOfString(bytes, at) : at + 1;
  }
  return count;
};

/** Offset after the value that starts at `at`. The bytes must be valid JSON there. */
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

/** Goes through JSON value by value: what is inside of one is looked at only where it is entered. */
export class Walker {
  readonly bytes: Uint8Array;
  #at: number;
  #keyEnd = 0;
  #isBroken = false;

  /** Starts at the first value from `at` on. */
  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.#at = skipWhite(bytes, at);
  }

  /** The offset of the value or key that comes next. */
  get at(): number {
    return this.#at;
  }

  /** The offset behind the key that was read last. */
  get keyEnd(): number {
    return this.#keyEnd;
  }

  /** True if something stood where JSON, or the reader, has something else: then nothing more is entered, and no loop goes on. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** True if all of the bytes were one whole value. */
  get isAtEnd(): boolean {
    return !this.#isBroken && skipWhite(this.bytes, this.#at) === this.bytes.length;
  }

  /** Enters an array or an object by its opening bracket; false if it is empty, and after it then. */
  enter(opening: typeof openBracket | typeof openBrace): boolean {
    if (!this.#consume(opening)) return this.#fail();
    return !this.#consume(opening + closingDistance);
  }

  /** Goes behind a comma to the next element or member; false behind the closing bracket. */
  next(closing: typeof closeBracket | typeof closeBrace): boolean {
    this.#at = skipWhite(this.bytes, this.#at);
    if (this.#consume(comma)) return true;
    return this.#consume(closing) ? false : this.#fail();
  }

  /** Goes from a key to its value; gives the key, decoded. */
  key(): string {
    const key = this.bytes[this.#at] === quote ? decodeKey(this.bytes, this.skip()) : undefined;
    this.#keyEnd = this.#at;
    this.#at = skipWhite(this.bytes, this.#at);
    if (key === undefined || !this.#consume(colon)) this.#fail();
    return key ?? "";
  }

  /** Goes behind the value or key here, whatever is inside; gives its place. */
  skip(): Span {
    const start = this.#at;
    this.#at = endOfValue(this.bytes, start);
    return { start, end: this.#at };
  }

  /** Goes behind the value here, and parses it. */
  value(): unknown {
    try {
      return JSON.parse(sliceText(this.bytes, this.skip()));
    } catch {
      this.#fail();
      return undefined;
    }
  }

  /** Goes no further: what stands here is not what was to be read. Then it is broken, as where JSON breaks off. */
  markBroken(): void {
    this.#isBroken = true;
  }

  #consume(byte: number): boolean {
    if (this.#isBroken || this.bytes[this.#at] !== byte) return false;
    this.#at = skipWhite(this.bytes, this.#at + 1);
    return true;
  }

  #fail(): false {
    this.#isBroken = true;
    return false;
  }
}

/** In ASCII `]` and `}` stand two behind `[` and `{`. */
const closingDistance = 2;

/** The elements of the array whose bracket stands at `at`, up to where JSON breaks off. */
export function* walkElements(bytes: Uint8Array, at: number): Generator<Span, void> {
  const walker = new Walker(bytes, at);
  for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) yield walker.skip();
}

/** The members of the object whose brace stands at `at`, in their order, a key that appears twice included. */
export function* walkMembers(bytes: Uint8Array, at: number): Generator<MemberSpan, void> {
  const walker = new Walker(bytes, at);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const start = walker.at;
    const key = walker.key();
    if (walker.isBroken) return;
    yield { key, keySpan: { start, end: walker.keyEnd }, value: walker.skip() };
  }
}

/** The text of a key; undefined if it is no string of JSON. */
const decodeKey = (bytes: Uint8Array, { start, end }: Span): string | undefined => {
  const text = sliceText(bytes, { start: start + 1, end: end - 1 });
  if (!mayBeEncoded.test(text)) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return undefined;
  }
};

/** Holds an escape, or a character that is allowed only as one. */
const mayBeEncoded = /\\|[^ -\uffff]/;

/** The outermost value. */
export const rootSpan = (bytes: Uint8Array): Span => new Walker(bytes).skip();

/** The elements of an array; none of any other value. */
export const listElementSpans = (bytes: Uint8Array, { start }: Span): readonly Span[] => [
  ...walkElements(bytes, start),
];

/** The values of an object by their keys, the last of a key that appears twice; none of any other value. */
export const listMemberSpans = (bytes: Uint8Array, { start }: Pick<Span, "start">): ReadonlyMap<string, Span> => {
  const spans = new Map<string, Span>();
  const walker = new Walker(bytes, start);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (walker.isBroken) break;
    spans.set(key, walker.skip());
  }
  return spans;
};

/** The value at a path of keys and positions; undefined if there is none. */
export const findSpan = (bytes: Uint8Array, path: readonly (string | number)[]): Span | undefined => {
  let span: Span | undefined = rootSpan(bytes);
  for (const step of path) {
    if (span === undefined) return undefined;
    span = typeof step === "number" ? listElementSpans(bytes, span)[step] : listMemberSpans(bytes, span).get(step);
  }
  return span;
};

/** The text of a span. */
export const sliceText = (bytes: Uint8Array, { start, end }: Span): string =>
  toBuffer(bytes).toString("utf8", start, end);

/** The line of an offset and its column there, both from 1, the column in UTF-16 units. */
export const locateOffset = (bytes: Uint8Array, offset: number): { readonly line: number; readonly column: number } => {
  let [line, from] = [1, 0];
  for (let end = bytes.indexOf(newline); end >= 0 && end < offset; end = bytes.indexOf(newline, from)) {
    line++;
    from = end + 1;
  }
  return { line, column: sliceText(bytes, { start: from, end: offset }).length + 1 };
};

/** The same bytes, as Node reads them. */
export const toBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** What a text says as JSON; undefined if it is none. */
export const parseJson = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** The value at a path of a parsed one; undefined if there is none. */
export const getValue = (value: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, step) ? Reflect.get(inner, step) : undefined,
    value,
  );
