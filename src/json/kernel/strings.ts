/** Strings: where they end, and how many characters they have. */
import { backslash, byteAt, quote } from "./bytes";

/** Which of sixteen bytes end the plain part of a string: a quote, a backslash, a control character. */
function stopsIn(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.eq(bytes, i8x16.min_u(bytes, i8x16.splat(0x1f))),
    ),
  );
}

/** Characters of the string whose end was looked for last: units of UTF-16. */
export let characters: u32 = 0;

/** Place of the quote that closes the string whose text begins here; 0 if it is none. `characters` says how long the text is. */
export function endOfString(start: usize): usize {
  let at = start;
  // What bytes are more than characters.
  let more: usize = 0;
  while (true) {
    const bytes = v128.load(at);
    let stops = u32(stopsIn(bytes));
    let step: usize = 16;
    let isEnd = false;
    while (stops !== 0) {
      const stop: usize = ctz(stops);
      const byte = byteAt(at + stop);
      if (byte === quote) {
        step = stop;
        isEnd = true;
        break;
      }
      const length = byte === backslash ? escapeLength(at + stop) : 0;
      if (length === 0) return 0;
      more += length - 1;
      if (stop + length >= 16) {
        step = stop + length;
        break;
      }
      // What is escaped stops nothing.
      stops &= u32(-1) << u32(stop + length);
    }
    if (i8x16.bitmask(bytes) !== 0) more += continuedIn(bytes, step < 16 ? (1 << u32(step)) - 1 : 0xffff);
    at += step;
    if (isEnd) break;
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

/** Bytes of the escape here; 0 if it is none. */
function escapeLength(at: usize): usize {
  const byte = byteAt(at + 1);
  if (isSimpleEscape(byte)) return 2;
  if (byte !== 0x75) return 0;
  for (let digit: usize = 2; digit < 6; digit++) if (!isHex(byteAt(at + digit))) return 0;
  return 6;
}

/** True if a byte behind a backslash stands for one character: a quote, a backslash, a slash, b, f, n, r, t. */
export function isSimpleEscape(byte: u32): bool {
  if (byte === 0x6e || byte === quote || byte === backslash) return true;
  return byte === 0x62 || byte === 0x66 || byte === 0x72 || byte === 0x74 || byte === 0x2f;
}

export function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}
