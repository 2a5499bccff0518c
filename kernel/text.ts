/** White space, strings, and the way through objects and arrays. A line ends at a newline, which stops everything. */
import { backslash, byteAt, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from "./bytes";
import { isWord, skipNumber } from "./scalars";

/** Values deeper than this in one another are left to others. */
const deepest: u32 = 64;

/** Place of what follows white space. */
export function behindWhite(at: usize): usize {
  return byteAt(at) > 0x20 ? at : behindSomeWhite(at);
}

function behindSomeWhite(at: usize): usize {
  while (true) {
    const byte = byteAt(at);
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return at;
    at++;
  }
}

/** Which of sixteen bytes end the plain part of a string: a quote, a backslash, a control character. */
function stopsIn(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.eq(bytes, i8x16.min_u(bytes, i8x16.splat(0x1f))),
    ),
  );
}

/** Place of the quote that closes the string whose text begins here; 0 where it is none. */
export function endOfString(at: usize): usize {
  while (true) {
    const stops = stopsIn(v128.load(at));
    if (stops === 0) {
      at += 16;
      continue;
    }
    at += ctz(stops);
    const byte = byteAt(at);
    if (byte === quote) return at;
    if (byte !== backslash) return 0;
    at = behindEscape(at);
    if (at === 0) return 0;
  }
}

/** The same, of a string without escapes; 0 where it has any. */
export function endOfPlainString(at: usize): usize {
  while (true) {
    const stops = stopsIn(v128.load(at));
    if (stops !== 0) {
      at += ctz(stops);
      return byteAt(at) === quote ? at : 0;
    }
    at += 16;
  }
}

/** Characters of the last string that was measured: units of UTF-16. */
export let characters: u32 = 0;

/** The same as `endOfString`; `characters` says how long the text is. */
export function measureString(start: usize): usize {
  let at = start;
  // What bytes are more than characters.
  let more: usize = 0;
  while (true) {
    const bytes = v128.load(at);
    const stops = stopsIn(bytes);
    const step: usize = stops === 0 ? 16 : ctz(stops);
    if (i8x16.bitmask(bytes) !== 0) more += continuedIn(bytes, (1 << u32(step)) - 1);
    at += step;
    if (stops === 0) continue;
    const byte = byteAt(at);
    if (byte === quote) break;
    if (byte !== backslash) return 0;
    const behind = behindEscape(at);
    if (behind === 0) return 0;
    more += behind - at - 1;
    at = behind;
  }
  characters = u32(at - start - more);
  return at;
}

/** Bytes that go on with a character, less one for each that takes two units. */
function continuedIn(bytes: v128, mask: u32): usize {
  const continued = i8x16.bitmask(i8x16.lt_s(bytes, i8x16.splat(-64))) & mask;
  const wide = i8x16.bitmask(i8x16.ge_u(bytes, i8x16.splat(-16))) & mask;
  return usize(popcnt(continued) - popcnt(wide));
}

/** Place behind the escape here; 0 where it is none. */
function behindEscape(at: usize): usize {
  const byte = byteAt(at + 1);
  if (byte === 0x6e || byte === quote || byte === backslash) return at + 2;
  if (byte === 0x75) {
    for (let digit: usize = 2; digit < 6; digit++) if (!isHex(byteAt(at + digit))) return 0;
    return at + 6;
  }
  // b, f, r, t and the slash
  return byte === 0x62 || byte === 0x66 || byte === 0x72 || byte === 0x74 || byte === 0x2f ? at + 2 : 0;
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}

/** Place behind an object or array, once `more` says that it ended; 0 where it did not end as it should. */
export let behind: usize = 0;

/** Place of the first element or key behind a bracket; 0 where there is none. */
export function first(bracket: usize, close: u32): usize {
  const at = behindWhite(bracket + 1);
  if (byteAt(at) !== close) return at;
  behind = at + 1;
  return 0;
}

/** Place of the next element or key behind a value; 0 where there is none. */
export function next(value: usize, close: u32): usize {
  const at = behindWhite(value);
  const byte = byteAt(at);
  if (byte === comma) return behindWhite(at + 1);
  behind = byte === close ? at + 1 : 0;
  return 0;
}

/** The key that `memberAt` went over last, without its quotes. */
export let key: usize = 0;
export let keyLength: usize = 0;

/** Place of the value of the member whose key begins here; 0 where that is none, or has escapes. */
export function memberAt(at: usize): usize {
  if (byteAt(at) !== quote) return 0;
  key = at + 1;
  const end = endOfPlainString(at + 1);
  if (end === 0) return 0;
  keyLength = end - at - 1;
  const between = behindWhite(end + 1);
  return byteAt(between) === colon ? behindWhite(between + 1) : 0;
}

/** Place behind any value; 0 where there is none. */
export function skip(at: usize, depth: u32 = 0): usize {
  const byte = byteAt(at);
  if (byte === quote) {
    const end = endOfString(at + 1);
    return end === 0 ? 0 : end + 1;
  }
  if (byte === openBrace) return depth < deepest ? skipObject(at, depth + 1) : 0;
  if (byte === openBracket) return depth < deepest ? skipArray(at, depth + 1) : 0;
  const word = isWord(at);
  return word !== 0 ? word : skipNumber(at);
}

function skipObject(bracket: usize, depth: u32): usize {
  let at = first(bracket, closeBrace);
  while (at !== 0) {
    if (byteAt(at) !== quote) return 0;
    const end = endOfString(at + 1);
    if (end === 0) return 0;
    const between = behindWhite(end + 1);
    if (byteAt(between) !== colon) return 0;
    const value = skip(behindWhite(between + 1), depth);
    if (value === 0) return 0;
    at = next(value, closeBrace);
  }
  return behind;
}

function skipArray(bracket: usize, depth: u32): usize {
  let at = first(bracket, closeBracket);
  while (at !== 0) {
    const value = skip(at, depth);
    if (value === 0) return 0;
    at = next(value, closeBracket);
  }
  return behind;
}

/** Elements of the array that `countElements` went over. */
export let elements: u32 = 0;

/** Place behind an array, or another value, which has no elements. */
export function countElements(at: usize): usize {
  elements = 0;
  if (byteAt(at) !== openBracket) return skip(at);
  at = first(at, closeBracket);
  while (at !== 0) {
    const value = skip(at, 1);
    if (value === 0) return 0;
    elements++;
    at = next(value, closeBracket);
  }
  return behind;
}
