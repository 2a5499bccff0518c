/** Reads values from the tables that the kernel writes. */

import * as syntax from "./json-bytes.ts";
import { cacheReader, JsonTable, keyIds, nodeSize, readTable } from "./reader.ts";

export type { JsonTable };

export const emptyTable: JsonTable = new JsonTable(Buffer.alloc(0), new Int32Array());

export const startOf = ({ words }: JsonTable, node: number) => words[node] ?? 0;

export const endOf = ({ words }: JsonTable, node: number) => words[node + 1] ?? 0;

export const nodeAfter = ({ words }: JsonTable, node: number) => words[node + 2] ?? 0;

export const firstByteAt = (table: JsonTable, node: number) => table.bytes[startOf(table, node)] ?? 0;

export const detailOf = ({ words }: JsonTable, node: number) => words[node + 3] ?? 0;

/** The detail of a key with escapes or non-ASCII characters. */
const encodedKey = -1;

export const keyIdOf = (table: JsonTable, key: number) => {
  const id = detailOf(table, key);
  return id === encodedKey ? (keyIds.get(readString(table, key)) ?? 0) : id;
};

/** Returns 0 if an element is not a number. */
export const countNumbers = (table: JsonTable, array: number) =>
  nodeAfter(table, array) === array + nodeSize ? detailOf(table, array) : 0;

/** Returns the same number as `JSON.parse`. */
export const readNumber = (table: JsonTable, node: number) => {
  const { bytes } = table;
  const start = startOf(table, node);
  const end = endOf(table, node);
  const isNegative = bytes[start] === minus;
  // The digits are `head * shift + tail`, and all of these are exact doubles.
  let head = 0;
  let shift = 1;
  let tail = 0;
  let scale = 0;
  let isDecimal = end - start <= maxDecimalBytes;
  for (let at = isNegative ? start + 1 : start; at < end && isDecimal; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= zero && byte <= nine) {
      if (head < maxHead) head = 10 * head + byte - zero;
      else {
        shift *= 10;
        tail = 10 * tail + byte - zero;
      }
      scale *= 10;
    } else if (byte === point) scale = 1;
    else isDecimal = false;
  }
  // A quotient of exact doubles is rounded once (Clinger 1990).
  const size = shift === 1 ? head / (scale || 1) : divideDigits(head, shift, tail, scale || 1);
  if (!isDecimal || Number.isNaN(size)) return Number(bytes.toString("latin1", start, end));
  return isNegative ? -size : size;
};

/** With a point, such a text has at most 22 digits, and 10^22 is the largest power of ten that is an exact double. */
const maxDecimalBytes = 23;
const maxHead = 1e14;

/** Returns `(head * shift + tail) / scale`, or NaN if the quotient is too near to the middle of two doubles. */
const divideDigits = (head: number, shift: number, tail: number, scale: number) => {
  const high = head * shift;
  const low = productError(head, shift, high) + tail;
  const quotient = high / scale;
  const product = quotient * scale;
  const rest = (high - product - productError(quotient, scale, product) + low) / scale;
  const value = quotient + rest;
  // The relative error of `rest` is less than 2^-51, and all other steps are exact.
  return quotient + rest * (1 - 2 ** -50) === quotient + rest * (1 + 2 ** -50) ? value : Number.NaN;
};

/** Returns the exact difference of `a * b` and the rounded product (Dekker 1971). */
const productError = (a: number, b: number, product: number) => {
  const aHigh = upperHalf(a);
  const bHigh = upperHalf(b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
};

const upperHalf = (value: number) => {
  const shifted = value * (2 ** 27 + 1);
  return shifted - (shifted - value);
};

const [minus, point, zero, nine] = [0x2d, 0x2e, 0x30, 0x39];

export const readString = (table: JsonTable, node: number) => {
  const within = table.bytes.toString("utf8", startOf(table, node) + 1, endOf(table, node) - 1);
  return within.includes("\\") ? String(JSON.parse(`"${within}"`)) : within;
};

/** Reads a string that is often the same as the one before. */
export const openRepeatReader = () => {
  let last = "";
  return (table: JsonTable, node: number) => {
    // A string of as many characters as bytes has no escapes.
    if (detailOf(table, node) !== last.length || !hasKey(table, node, last)) last = readString(table, node);
    return last;
  };
};

/** If the key is repeated, returns the last value. */
export const findMemberNode = (table: JsonTable, object: number, key: string) => {
  const end = nodeAfter(table, object);
  let value: number | undefined;
  for (let at = object + nodeSize; at < end; at = nodeAfter(table, at + nodeSize)) {
    if (hasKey(table, at, key)) value = at + nodeSize;
  }
  return value;
};

export const hasKey = (table: JsonTable, node: number, key: string) => {
  if (detailOf(table, node) === encodedKey) return readString(table, node) === key;
  const start = startOf(table, node) + 1;
  if (endOf(table, node) - start !== key.length + 1) return false;
  for (let at = 0; at < key.length; at++) if (table.bytes[start + at] !== key.charCodeAt(at)) return false;
  return true;
};

/** Returns a table with an empty node, then a node for each of the first numbers. */
export const expandNumbers = (table: JsonTable, array: number, maxCount = Number.POSITIVE_INFINITY): JsonTable => {
  const { bytes } = table;
  const count = bytes[startOf(table, array)] === syntax.openBracket ? Math.min(detailOf(table, array), maxCount) : 0;
  const words = new Int32Array((count + 1) * nodeSize);
  let at = startOf(table, array) + 1;
  for (let node = nodeSize; node < words.length; node += nodeSize) {
    while (syntax.isWhite(bytes[at])) at++;
    words[node] = at;
    while (bytes[at] !== syntax.comma && bytes[at] !== syntax.closeBracket && !syntax.isWhite(bytes[at])) at++;
    words[node + 1] = at;
    words[node + 2] = node + nodeSize;
    while (syntax.isWhite(bytes[at])) at++;
    at++;
  }
  return new JsonTable(bytes, words);
};

export type JsonValue = Readonly<{ table: JsonTable; node: number }>;

export const readRoot = (bytes: Uint8Array): JsonValue | undefined => {
  const table = readTable(bytes);
  return table && { table, node: 0 };
};

/** Cuts and closes a truncated object after the last complete value of the first `maxDepth` levels. */
export const closeTruncated = (bytes: Uint8Array, maxDepth = 1): Buffer | undefined => {
  if (bytes[syntax.skipWhite(bytes, 0)] !== syntax.openBrace) return undefined;
  const closers: number[] = [];
  let closed: readonly Uint8Array[] | undefined;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === syntax.quote) at = syntax.endOfString(bytes, at) - 1;
    else if (byte === syntax.openBrace) closers.push(syntax.closeBrace);
    else if (byte === syntax.openBracket) closers.push(syntax.closeBracket);
    const isClosing = byte === syntax.closeBrace || byte === syntax.closeBracket;
    if (isClosing) closers.pop();
    if ((isClosing || byte === syntax.comma) && closers.length <= maxDepth)
      closed = [bytes.subarray(0, isClosing ? at + 1 : at), Uint8Array.from(closers).reverse()];
    if (isClosing && closers.length === 0) break;
  }
  return closed && Buffer.concat(closed);
};

/** Omits the content of `leafKeys`. The function throws RangeError for more than `maxNodes`. */
export const openRootReader = (leafKeys: readonly string[], maxNodes?: number): typeof readRoot => {
  const withReader = cacheReader({ leafKeys, maxNodes });
  return (bytes) =>
    withReader((reader) =>
      reader.read(bytes, { skipsLeaves: true }) ? { table: reader.copyTable(bytes), node: 0 } : undefined,
    );
};

/** The table of so many values takes 16 MB. */
const maxValues = 2 ** 20;

/** The reader omits the content of `leafKeys`. It returns undefined if the body is not JSON or has too many values. */
export const openBodyReader = (leafKeys: readonly string[], maxNodes = maxValues) => {
  const read = openRootReader(leafKeys, maxNodes);
  return (bytes: Uint8Array) => {
    try {
      return read(bytes);
    } catch (thrown) {
      if (thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  };
};

export const spanOf = ({ table, node }: JsonValue) => ({ start: startOf(table, node), end: endOf(table, node) });

export const firstByteOf = ({ table, node }: JsonValue) => firstByteAt(table, node);

export const textOf = (value: JsonValue) => syntax.sliceText(value.table.bytes, spanOf(value));

export const parseValue = ({ table, node }: JsonValue): unknown => parseNode(table, node);

export const parseNode = (table: JsonTable, node: number): unknown =>
  JSON.parse(table.bytes.toString("utf8", startOf(table, node), endOf(table, node)));

export const memberAt = (object: JsonValue | undefined, key: string): JsonValue | undefined => {
  if (!object || firstByteOf(object) !== syntax.openBrace) return undefined;
  const node = findMemberNode(object.table, object.node, key);
  return node === undefined ? undefined : { table: object.table, node };
};

export const findChild = (holder: JsonValue, step: string | number): JsonValue | undefined => {
  if (typeof step === "string") return memberAt(holder, step);
  const { table, node } = holder;
  if (firstByteOf(holder) !== syntax.openBracket) return undefined;
  if (countNumbers(table, node) > step)
    return { table: expandNumbers(table, node, step + 1), node: (step + 1) * nodeSize };
  let child = node + nodeSize;
  for (let index = 0; index < step && child < nodeAfter(table, node); index++) child = nodeAfter(table, child);
  return child < nodeAfter(table, node) ? { table, node: child } : undefined;
};

export const findAt = (value: JsonValue | undefined, path: readonly (string | number)[]) =>
  path.reduce<JsonValue | undefined>((holder, step) => holder && findChild(holder, step), value);

export const findDeepest = (value: JsonValue, path: readonly (string | number)[]): JsonValue => {
  let deepest = value;
  for (const step of path) {
    const child = findChild(deepest, step);
    if (!child) break;
    deepest = child;
  }
  return deepest;
};

export const elementsOf = (array: JsonValue | undefined): readonly JsonValue[] =>
  array && firstByteOf(array) === syntax.openBracket ? Array.from(childrenOf(array), ([, element]) => element) : [];

/** Of an array of only numbers, yields at most `maxNumbers`. */
export function* childrenOf(
  { table, node }: JsonValue,
  maxNumbers?: number,
): Generator<readonly [string | number, JsonValue], void> {
  const end = nodeAfter(table, node);
  const first = firstByteAt(table, node);
  if (first === syntax.openBracket && end === node + nodeSize) {
    const own = expandNumbers(table, node, maxNumbers);
    for (let at = nodeSize; at < own.words.length; at += nodeSize) yield [at / nodeSize - 1, { table: own, node: at }];
  } else if (first === syntax.openBracket) {
    let index = 0;
    for (let at = node + nodeSize; at < end; at = nodeAfter(table, at)) yield [index++, { table, node: at }];
  } else if (first === syntax.openBrace) {
    for (let at = node + nodeSize; at < end; at = nodeAfter(table, at + nodeSize)) {
      yield [readString(table, at), { table, node: at + nodeSize }];
    }
  }
}

/** If the content was skipped (`KeyUses.leafKeys`), reads the value into a new table. */
export const expandLeaf = (value: JsonValue): JsonValue => {
  const { table, node } = value;
  const { start, end } = spanOf(value);
  const first = firstByteOf(value);
  const isUnexpanded = nodeAfter(table, node) === node + nodeSize && detailOf(table, node) <= 0 && end - start > 2;
  if (!isUnexpanded || (first !== syntax.openBrace && first !== syntax.openBracket)) return value;
  return readRoot(table.bytes.subarray(start, end)) ?? value;
};

/** Counts the elements of the lists with these keys in a leaf that is an object (`KeyUses.countedKeys`). */
export const countListed = (table: JsonTable, leaf: number, keys: readonly string[]) => {
  const detail = detailOf(table, leaf);
  if (detail !== uncounted) return 0 - detail;
  const whole = expandLeaf({ table, node: leaf });
  return keys.reduce((sum, key) => sum + elementsOf(memberAt(whole, key)).length, 0);
};

/** The detail of a leaf whose keys have escapes, or are probably repeated. */
const uncounted = -(2 ** 31);

export type Path = readonly (string | number)[];

/** For each holder, the child that the last search found. */
export type FoundChildren = Map<number, Readonly<{ child: number; index: number }>>;

/** Finds the innermost value at `byte`, and the path from `from` to this value. @param found where the search starts */
export const findInnermost = (
  table: JsonTable,
  { from, byte, found }: { from: number; byte: number; found?: FoundChildren },
) => {
  const path: (string | number)[] = [];
  for (let holder = from; ; ) {
    // In an object, each value follows a key.
    const keySize = firstByteAt(table, holder) === syntax.openBrace ? nodeSize : 0;
    const end = nodeAfter(table, holder);
    const last = found?.get(holder);
    const isBefore = last !== undefined && startOf(table, last.child + keySize) <= byte;
    let { child, index } = isBefore ? last : { child: holder + nodeSize, index: 0 };
    for (; child < end && endOf(table, child + keySize) <= byte; child = nodeAfter(table, child + keySize)) index++;
    if (child >= end || startOf(table, child + keySize) > byte) return { path, node: holder };
    found?.set(holder, { child, index });
    path.push(keySize > 0 ? readString(table, child) : index);
    holder = child + keySize;
  }
};
