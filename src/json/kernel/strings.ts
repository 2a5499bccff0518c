/** The ends of strings, and their lengths in UTF-16 units. */
import { backslash, byteAt, quote } from "./bytes";

/** Returns sixteen bits, one per byte: 1 for a quote, a backslash or a control character. */
function stopsIn(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.eq(bytes, i8x16.min_u(bytes, i8x16.splat(0x1f))),
    ),
  );
}

/** UTF-16 units of the last string. */
export let unitCount: u32 = 0;

/** Returns the address of the closing quote of a string with content at `start`; 0 if invalid. Sets `unitCount`. */
export function endOfString(start: usize): usize {
  let at = start;
  // Number of bytes minus number of UTF-16 units.
  let surplus: usize = 0;
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
      surplus += length - 1;
      if (stop + length >= 16) {
        step = stop + length;
        break;
      }
      // Clears the bits of the escape, because the escaped character is not a stop.
      stops &= u32(-1) << u32(stop + length);
    }
    if (i8x16.bitmask(bytes) !== 0) surplus += surplusIn(bytes, step < 16 ? (1 << u32(step)) - 1 : 0xffff);
    at += step;
    if (isEnd) break;
  }
  unitCount = u32(at - start - surplus);
  return at;
}

/** Returns the bytes in the mask minus their UTF-16 units. Characters of four bytes have two units. */
function surplusIn(bytes: v128, mask: u32): usize {
  // Continuation bytes are 0x80 to 0xbf. The first byte of a four-byte character is 0xf0 or more.
  const continued = i8x16.bitmask(i8x16.lt_s(bytes, i8x16.splat(-64))) & mask;
  const wide = i8x16.bitmask(i8x16.ge_u(bytes, i8x16.splat(-16))) & mask;
  return usize(popcnt(continued) - popcnt(wide));
}

/** Returns the length of an escape in bytes; 0 if it is invalid. */
function escapeLength(at: usize): usize {
  const byte = byteAt(at + 1);
  if (isSimpleEscape(byte)) return 2;
  if (byte !== 0x75) return 0;
  for (let digit: usize = 2; digit < 6; digit++) if (!isHex(byteAt(at + digit))) return 0;
  return 6;
}

/** True for a quote, a backslash, a slash, b, f, n, r, t. */
export function isSimpleEscape(byte: u32): bool {
  if (byte === 0x6e || byte === quote || byte === backslash) return true;
  return byte === 0x62 || byte === 0x66 || byte === 0x72 || byte === 0x74 || byte === 0x2f;
}

export function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}
