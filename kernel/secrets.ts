/** Whether bytes hold what might be a secret: the beginnings of the formats that src/trajectories/read/scan/secrets.ts knows. */
import { backslash, byteAt } from "./bytes";

/** The first two bytes of each format. */
const beginnings = "sk rk AK AS AI gh gi gl xo hf np py SG gs xa nv tg r8 wa ey";

/**
 * Two bytes that each format has close to its beginning, and that other text seldom has: `k-` of `sk-`, `s_` of `ghs_`,
 * `IA` of `AKIA`, `G.` of `SG.`, `yJ` of `eyJ`; and the end of what begins a private key, `-\\`. They are put together by the second.
 */
const rarePairs = "k_ f_ m_ b_ p_ o_ u_ s_ r_ k- t- i- a- b- e- o- p- r- s- 8_ IA Iz G. yJ -\\";

/**
 * What stands right before the first byte of such a pair, for kinds of first bytes: `sk-` and `rk_`, `hf_` and `ghs_`,
 * `npm_` and `pypi-`, `github_` and `wandb_`, `xoxb-`, `glpat-` and `xai-`, `AKIA` and `SG.`, `eyJ`. There are eight at most.
 */
const preceded = "rs:k8 gh:fpours p:mi du:b x:abeoprs a:it AKS:IG e:y ";

/** The furthest that such a pair stands behind its beginning: that of `github_`. */
const furthest: usize = 5;

/** Six classes: a byte is of those that both its halves are of. One table for the first byte of two, one for the second. */
const tables: usize = memory.data(64);
const firstLow: usize = tables;
const firstHigh: usize = tables + 16;
const secondLow: usize = tables + 32;
const secondHigh: usize = tables + 48;

/** Bits of what stands before, by the byte that does, and by the first byte of the pair that it stands before. */
const before: usize = memory.data(256);
const behind: usize = memory.data(256);

/** Key characters: letters, digits, `_`, `-` and `.`. */
const keyBytes: usize = memory.data(256);

/** Key characters of the shortest format. */
const shortest: usize = 20;

function mark(table: usize, half: i32, kind: i32): void {
  store<u8>(table + usize(half), load<u8>(table + usize(half)) | u8(u32(1) << u32(kind)));
}

function classOf(second: i32): i32 {
  if (second === 0x5f) return 0;
  if (second === 0x2d) return 1;
  if (second === 0x41 || second === 0x7a) return 2;
  if (second === 0x4a) return 5;
  return second === 0x2e ? 3 : 4;
}

export function prepareSecrets(): void {
  for (let at = 0; at < rarePairs.length; at += 3) {
    const first = rarePairs.charCodeAt(at);
    const second = rarePairs.charCodeAt(at + 1);
    const kind = classOf(second);
    mark(firstLow, first & 15, kind);
    mark(firstHigh, first >> 4, kind);
    mark(secondLow, second & 15, kind);
    mark(secondHigh, second >> 4, kind);
  }
  let bit: u8 = 1;
  let table = before;
  for (let at = 0; at < preceded.length; at++) {
    const byte = preceded.charCodeAt(at);
    if (byte === 0x3a) table = behind;
    else if (byte === 0x20) {
      table = before;
      bit <<= 1;
    } else store<u8>(table + usize(byte), load<u8>(table + usize(byte)) | bit);
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

/** Which of two bytes, the first of which is one of sixteen, are of one class. */
function classesAt(at: usize): v128 {
  const low = i8x16.splat(15);
  const firsts = v128.load(at);
  const seconds = v128.load(at + 1);
  return v128.and(
    v128.and(
      i8x16.swizzle(v128.load(firstLow), v128.and(firsts, low)),
      i8x16.swizzle(v128.load(firstHigh), v128.and(i16x8.shr_u(firsts, 4), low)),
    ),
    v128.and(
      i8x16.swizzle(v128.load(secondLow), v128.and(seconds, low)),
      i8x16.swizzle(v128.load(secondHigh), v128.and(i16x8.shr_u(seconds, 4), low)),
    ),
  );
}

/** Whether a line holds what might be a secret; some bytes before and behind it are looked at too. */
export function mayHoldSecret(start: usize, end: usize): bool {
  for (let at = start; at < end; at += 32) {
    const one = classesAt(at);
    const other = classesAt(at + 16);
    if (!v128.any_true(v128.or(one, other))) continue;
    const places = placesOf(one) | (placesOf(other) << 16);
    if (mayBeginBefore(at, places)) return true;
  }
  return false;
}

function placesOf(classes: v128): u32 {
  return ~i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0))) & 0xffff;
}

/** Whether a secret may begin at a pair, or close before it. */
function mayBeginBefore(at: usize, places: u32): bool {
  let left = places;
  while (left !== 0) {
    const pair = at + ctz(left);
    if (byteAt(pair + 1) === backslash) {
      // What follows a private key's beginning; its own end is all that has several dashes there.
      if (byteAt(pair - 1) === 0x2d && byteAt(pair - 2) === 0x2d) return true;
    } else if ((load<u8>(behind + usize(byteAt(pair))) & load<u8>(before + usize(byteAt(pair - 1)))) !== 0) {
      for (let back: usize = 0; back <= furthest; back++) if (mayBegin(pair - back)) return true;
    }
    left &= left - 1;
  }
  return false;
}

/** Whether a secret may begin here: what is before it ends no longer word, and enough key characters follow. */
function mayBegin(at: usize): bool {
  if (!isBeginning(at)) return false;
  // A letter behind a backslash is the end of an escape.
  if (isKeyByte(at - 1) && byteAt(at - 2) !== backslash) return false;
  for (let index: usize = 2; index < shortest - 1; index++) if (!isKeyByte(at + index)) return false;
  return true;
}

function isBeginning(at: usize): bool {
  for (let index = 0; index < beginnings.length; index += 3) {
    if (i32(byteAt(at)) === beginnings.charCodeAt(index) && i32(byteAt(at + 1)) === beginnings.charCodeAt(index + 1)) {
      return true;
    }
  }
  return false;
}
