/** Whether bytes hold what might be a secret: the beginnings of the formats that src/trajectories/secret.ts knows. */
import { backslash, byteAt } from "./bytes";

/** The first two bytes of each format, and of what follows a private key. */
const beginnings = "sk rk AK AS AI gh gi gl xo hf np py SG -\\";

/** Eight classes: a byte is of those that both its halves are of. One table for the first byte of two, one for the second. */
const tables: usize = memory.data(64);
const firstLow: usize = tables;
const firstHigh: usize = tables + 16;
const secondLow: usize = tables + 32;
const secondHigh: usize = tables + 48;

/** Key characters: letters, digits, `_`, `-` and `.`. */
const keyBytes: usize = memory.data(256);

/** Key characters of the shortest format. */
const shortest: usize = 20;

function mark(table: usize, half: i32, kind: i32): void {
  store<u8>(table + usize(half), load<u8>(table + usize(half)) | u8(u32(1) << u32(kind)));
}

function classOf(first: i32): i32 {
  if (first === 0x73 || first === 0x72) return 0;
  if (first === 0x41) return 1;
  if (first === 0x67) return 2;
  if (first === 0x78 || first === 0x2d) return 3;
  if (first === 0x68) return 4;
  if (first === 0x6e) return 5;
  return first === 0x70 ? 6 : 7;
}

export function prepareSecrets(): void {
  for (let at = 0; at < beginnings.length; at += 3) {
    const first = beginnings.charCodeAt(at);
    const second = beginnings.charCodeAt(at + 1);
    const kind = classOf(first);
    mark(firstLow, first & 15, kind);
    mark(firstHigh, first >> 4, kind);
    mark(secondLow, second & 15, kind);
    mark(secondHigh, second >> 4, kind);
  }
  for (let byte = 0; byte < 256; byte++) {
    const letter = byte | 0x20;
    const isKey =
      (letter >= 0x61 && letter <= 0x7a) ||
      (byte >= 0x30 && byte <= 0x39) ||
      byte === 0x5f ||
      byte === 0x2d ||
      byte === 0x2e;
    store<u8>(keyBytes + usize(byte), isKey ? 1 : 0);
  }
}

function isKeyByte(at: usize): bool {
  return load<u8>(keyBytes + usize(byteAt(at))) !== 0;
}

/** Whether a line holds what might be a secret; a byte before it, and some behind it, are read too. */
export function mayHoldSecret(start: usize, end: usize): bool {
  const low = i8x16.splat(15);
  const firstsLow = v128.load(firstLow);
  const firstsHigh = v128.load(firstHigh);
  const secondsLow = v128.load(secondLow);
  const secondsHigh = v128.load(secondHigh);
  for (let at = start; at < end; at += 16) {
    const firsts = v128.load(at);
    const seconds = v128.load(at + 1);
    const classes = v128.and(
      v128.and(
        i8x16.swizzle(firstsLow, v128.and(firsts, low)),
        i8x16.swizzle(firstsHigh, v128.and(i16x8.shr_u(firsts, 4), low)),
      ),
      v128.and(
        i8x16.swizzle(secondsLow, v128.and(seconds, low)),
        i8x16.swizzle(secondsHigh, v128.and(i16x8.shr_u(seconds, 4), low)),
      ),
    );
    if (!v128.any_true(classes)) continue;
    let places = ~i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0))) & 0xffff;
    while (places !== 0) {
      if (mayBegin(at + ctz(places))) return true;
      places &= places - 1;
    }
  }
  return false;
}

/** Whether a secret may begin here: what is before it ends no longer word, and enough key characters follow. */
function mayBegin(at: usize): bool {
  if (byteAt(at) === 0x2d) return byteAt(at - 1) === 0x2d && byteAt(at - 2) === 0x2d;
  // A letter behind a backslash is the end of an escape.
  if (isKeyByte(at - 1) && byteAt(at - 2) !== backslash) return false;
  for (let index: usize = 2; index < shortest - 1; index++) if (!isKeyByte(at + index)) return false;
  return true;
}
