/** The table of values that the program writes of JSON: where each stands, what is inside of it, and how it is called. */
import { keyIds, requestKeyId } from "./keys.ts";
import { JsonReader, nodeSize, readTable, type Table } from "./reader.ts";
import { closeBracket, comma, isWhite, openBrace, openBracket, type Span, toBuffer } from "./walk.ts";

/** A table and the bytes that it is of. */
export interface JsonTable extends Omit<Table, "length"> {
  readonly bytes: Buffer;
  /** Shapes in texts with the same object here are the same; without it, they mean nothing. */
  readonly shapes?: object | undefined;
}

/** A text without a table. */
export const emptyTable: JsonTable = {
  bytes: Buffer.alloc(0),
  words: new Int32Array(),
  base: 0,
  maxKeyId: 0,
  shapes: undefined,
};

/** A table with its bytes. */
export const toJsonTable = ({ words, base, maxKeyId: keys }: Table, bytes: Buffer): JsonTable => ({
  bytes,
  words,
  base,
  maxKeyId: keys,
  shapes: undefined,
});

/** The same in words of their own: for a text that is kept when those around it are gone. */
export const detachTable = ({ words, base, length, maxKeyId: keys }: Table): Table => ({
  words: words.slice(base, base + length),
  base: 0,
  length,
  maxKeyId: keys,
});

/** The byte that a node starts at. */
export const startOf = ({ words, base }: JsonTable, node: number): number => words[base + node] ?? 0;

/** The byte after it. */
export const endOf = ({ words, base }: JsonTable, node: number): number => words[base + node + 1] ?? 0;

/** The node behind all that is inside of a value. */
export const nodeAfter = ({ words, base }: JsonTable, node: number): number => words[base + node + 2] ?? 0;

/** The first byte of a node. */
export const firstByteAt = (text: JsonTable, node: number): number => text.bytes[startOf(text, node)] ?? 0;

/** The last number of a node: the id of a key, -1 for one that has to be decoded first; of a string its characters. */
export const detailOf = ({ words, base }: JsonTable, node: number): number => words[base + node + 3] ?? 0;

const encodedKey = -1;

/** The id of a key, which may be encoded; 0 for none. */
export const keyIdOf = (text: JsonTable, key: number): number => {
  const id = detailOf(text, key);
  return id === encodedKey ? (keyIds.get(readString(text, key)) ?? 0) : id;
};

/** How many numbers an array has that is one node, since it has nothing else; 0 for any other array. */
export const countNumbers = (text: JsonTable, array: number): number =>
  nodeAfter(text, array) === array + nodeSize ? detailOf(text, array) : 0;

/** The number at a node, as JSON.parse reads it. */
export const readNumber = (text: JsonTable, node: number): number => {
  const { bytes } = text;
  const start = startOf(text, node);
  const end = endOf(text, node);
  const isNegative = bytes[start] === minus;
  let digits = 0;
  // Digits up to 10^15 and a power of ten up to there are doubles: their quotient is rounded once (Clinger).
  let scale = 0;
  let isExact = end - start <= exactBytes;
  for (let at = isNegative ? start + 1 : start; at < end && isExact; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= zero && byte <= nine) {
      digits = 10 * digits + byte - zero;
      scale *= 10;
    } else if (byte === point) scale = 1;
    else isExact = false;
  }
  if (!isExact) return Number(bytes.toString("latin1", start, end));
  const value = scale > 0 ? digits / scale : digits;
  return isNegative ? -value : value;
};

/** Bytes of a number that has at most fifteen digits. */
const exactBytes = 15;

const [minus, point, zero, nine] = [0x2d, 0x2e, 0x30, 0x39];

/** What a string, or a key, says. */
export const readString = (text: JsonTable, node: number): string => {
  const { bytes } = text;
  const start = startOf(text, node) + 1;
  const length = endOf(text, node) - 1 - start;
  if (length > maxCachedLength || length < 1) return decodeText(bytes, start, length);
  const middle = bytes[start + (length >> 1)] ?? 0;
  const last = bytes[start + length - 1] ?? 0;
  const slot = (31 * length + 7 * (bytes[start] ?? 0) + 5 * middle + last) % cachedTexts.length;
  const known = cachedTexts[slot];
  if (known?.length === length && isTextAt(known, bytes, start)) return known;
  const own = decodeText(bytes, start, length);
  // Of what is beyond ASCII, the bytes are not the characters.
  if (own.length === length) cachedTexts[slot] = own;
  return own;
};

/** Short texts that were read before: keys and roles, which each line has again. A call into Node takes longer than comparing them. */
const cachedTexts: (string | undefined)[] = Array.from({ length: 2 ** 10 });
const maxCachedLength = 60;

const decodeText = (bytes: Buffer, start: number, length: number): string => {
  const within = bytes.toString("utf8", start, start + length);
  return within.includes("\\") ? String(JSON.parse(`"${within}"`)) : within;
};

/** True if bytes are the characters of a text. */
export const isTextAt = (text: string, bytes: Buffer, start: number): boolean => {
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
};

/** The node of the value that an object has for a key, the last of one that appears twice; undefined if it has none. */
export const findMemberNode = (text: JsonTable, object: number, key: string): number | undefined => {
  const end = nodeAfter(text, object);
  const id = requestKeyId(key);
  const hasId = id > 0 && id <= text.maxKeyId;
  let found: number | undefined;
  for (let at = object + nodeSize; at < end; at = nodeAfter(text, at + nodeSize)) {
    const fact = detailOf(text, at);
    if (hasId && fact !== encodedKey ? fact === id : hasKey(text, at, key)) found = at + nodeSize;
  }
  return found;
};

const hasKey = (text: JsonTable, node: number, key: string): boolean => {
  if (detailOf(text, node) === encodedKey) return readString(text, node) === key;
  const start = startOf(text, node);
  return endOf(text, node) - start === key.length + 2 && isTextAt(key, text.bytes, start + 1);
};

/**
 * The table of the elements of an array that is one node itself, since it has nothing but numbers, or nothing. They begin with
 * the second node, so that none is 0.
 */
export const expandNumbers = (text: JsonTable, array: number): JsonTable => {
  const { bytes } = text;
  const count = bytes[startOf(text, array)] === openBracket ? detailOf(text, array) : 0;
  const words = new Int32Array((count + 1) * nodeSize);
  let at = startOf(text, array) + 1;
  for (let node = nodeSize; node < words.length; node += nodeSize) {
    while (isWhite(bytes[at])) at++;
    words[node] = at;
    while (bytes[at] !== comma && bytes[at] !== closeBracket && !isWhite(bytes[at])) at++;
    words[node + 1] = at;
    words[node + 2] = node + nodeSize;
    while (isWhite(bytes[at])) at++;
    at++;
  }
  return { bytes, words, base: 0, maxKeyId: 0 };
};

/** A value in a table. */
export interface JsonValue {
  readonly text: JsonTable;
  readonly node: number;
}

/** The outermost value of JSON; undefined if `JSON.parse` would not take it. */
export const readRoot = (bytes: Uint8Array): JsonValue | undefined => {
  const table = readTable(bytes);
  return table && { text: toJsonTable(table, toBuffer(bytes)), node: 0 };
};

/** The same without what is in the values of a key, so that the table of a list of many megabytes is small. */
export const readRootWithLeaf = (key: string, bytes: Uint8Array): JsonValue | undefined => {
  const reader = new JsonReader({ leafKeys: [key] });
  return reader.readDocument(bytes) ? { text: toJsonTable(reader.copyTable(), toBuffer(bytes)), node: 0 } : undefined;
};

/** Where a value stands in its bytes. */
export const spanOf = ({ text, node }: JsonValue): Span => ({ start: startOf(text, node), end: endOf(text, node) });

/** The first byte of a value, which says what it is. */
export const firstByteOf = ({ text, node }: JsonValue): number => firstByteAt(text, node);

/** A value, parsed. */
export const parseValue = (place: JsonValue): unknown =>
  JSON.parse(place.text.bytes.toString("utf8", startOf(place.text, place.node), endOf(place.text, place.node)));

/** The value that an object has for a key, the last of one that appears twice; undefined if it has none, or is no object. */
export const memberAt = (object: JsonValue | undefined, key: string): JsonValue | undefined => {
  if (object === undefined || firstByteOf(object) !== openBrace) return undefined;
  const node = findMemberNode(object.text, object.node, key);
  return node === undefined ? undefined : { text: object.text, node };
};

/** The value at a step from another one: a key of an object, a position in an array; undefined if there is none. */
export const findChild = (holder: JsonValue, step: string | number): JsonValue | undefined => {
  if (typeof step === "string") return memberAt(holder, step);
  const { text, node } = holder;
  if (firstByteOf(holder) !== openBracket) return undefined;
  const numbers = countNumbers(text, node);
  if (numbers > 0) return step < numbers ? { text: expandNumbers(text, node), node: (step + 1) * nodeSize } : undefined;
  let child = node + nodeSize;
  for (let position = 0; position < step && child < nodeAfter(text, node); position++) child = nodeAfter(text, child);
  return child < nodeAfter(text, node) ? { text, node: child } : undefined;
};

/** The value at a path from another one, or the deepest one on the way that exists. */
export const findDeepest = (place: JsonValue, path: readonly (string | number)[]): JsonValue => {
  let deepest = place;
  for (const step of path) {
    const child = findChild(deepest, step);
    if (child === undefined) break;
    deepest = child;
  }
  return deepest;
};

/** The elements of an array; none of any other value. */
export const elementsOf = (array: JsonValue | undefined): readonly JsonValue[] =>
  array !== undefined && firstByteOf(array) === openBracket ? Array.from(childrenOf(array), ([, one]) => one) : [];

/** The members of an object by their keys, in their order; or the elements of an array by their positions; none of other values. */
export function* childrenOf({ text, node }: JsonValue): Generator<readonly [string | number, JsonValue], void> {
  const end = nodeAfter(text, node);
  const first = firstByteAt(text, node);
  if (first === openBracket && end === node + nodeSize) {
    const own = expandNumbers(text, node);
    for (let at = nodeSize; at < own.words.length; at += nodeSize) yield [at / nodeSize - 1, { text: own, node: at }];
  } else if (first === openBracket) {
    let position = 0;
    for (let at = node + nodeSize; at < end; at = nodeAfter(text, at)) yield [position++, { text, node: at }];
  } else if (first === openBrace) {
    for (let at = node + nodeSize; at < end; at = nodeAfter(text, at + nodeSize)) {
      yield [readString(text, at), { text, node: at + nodeSize }];
    }
  }
}

/** The value at a node, parsed. */
export const parseNode = (text: JsonTable, node: number): unknown =>
  JSON.parse(text.bytes.toString("utf8", startOf(text, node), endOf(text, node)));

/** A value whose inside is in its table, also if the table has it as a leaf. */
export const expandLeaf = (place: JsonValue): JsonValue => {
  const { text, node } = place;
  const [start, end] = [startOf(text, node), endOf(text, node)];
  const first = text.bytes[start];
  const isUnexpanded = nodeAfter(text, node) === node + nodeSize && detailOf(text, node) === 0 && end - start > 2;
  if (!isUnexpanded || (first !== openBrace && first !== openBracket)) return place;
  return readRoot(text.bytes.subarray(start, end)) ?? place;
};
