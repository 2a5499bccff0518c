/** Finds the places of JSON that can contain secrets. */
import { byteAt, classesOf, colon, hasClass, quote } from "./bytes";

/** Bits for each value of half a byte. A byte belongs to a run if both halves share a bit. */
const byLow: usize = memory.data<u8>([26, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28, 4, 4, 5, 5, 12]);
const byHigh: usize = memory.data<u8>([0, 0, 1, 2, 4, 8, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0]);

const windowBytes: usize = 64;
const minLength: usize = 16;

/** Returns a bit for each of sixteen bytes that belongs to no run. */
function otherBits(at: usize): u64 {
  return u64(u32(i8x16.bitmask(i8x16.eq(classesOf(v128.load(at), byLow, byHigh), i8x16.splat(0)))));
}

/** Keeps each bit that begins a sequence of sixteen set bits. */
function longRuns(bits: u64): u64 {
  let runs = bits & (bits >> 1);
  runs &= runs >> 2;
  runs &= runs >> 4;
  return runs & (runs >> 8);
}

/** Maps the hash of three bytes that begin a secret to 1. */
const prefixes: usize = memory.data(1 << 16);

function prefixAt(bytes: u32): usize {
  return prefixes + usize(((bytes & 0xffffff) * 0x9e3779b1) >>> 16);
}

export function addRunPrefix(prefix: u32): void {
  store<u8>(prefixAt(prefix), 1);
}

function isWanted(run: usize, stop: usize, length: usize): bool {
  for (let at = run; at + length <= stop; at++) if (load<u8>(prefixAt(load<u32>(at))) !== 0) return true;
  return followsName(run);
}

const space: u32 = 0x20;
const slash: u32 = 0x2f;
const atSign: u32 = 0x40;

/** Quotes, the backslash, space, `:`, `=`, `>` and `]`, then 0. */
const separators: usize = memory.data<u8>([0x22, 0x27, 0x60, 0x5c, 0x20, 0x3a, 0x3d, 0x3e, 0x5d, 0]);

function isSeparator(byte: u32): bool {
  for (let at = separators; byteAt(at) !== 0; at++) if (byteAt(at) === byte) return true;
  return false;
}

const maxSeparators: usize = 12;

/** True after `…key: `, `Bearer `, `Basic ` and `token `, and for the last part of the URL of a webhook. */
function followsName(run: usize): bool {
  let at = run - 1;
  if (byteAt(at) === slash) {
    for (let part = run - 14; part < run - 8; part++) if (load<u16>(part) === 0x422f) return true;
    return false;
  }
  while (run - at <= maxSeparators && isSeparator(byteAt(at))) at--;
  if (at === run - 1) return false;
  const name = (load<u32>(at - 2) & 0xffffff) | 0x202020;
  return name === 0x79656b || name === 0x726572 || name === 0x636973 || name === 0x6e656b;
}

/** `JsonReader.findRun` in src/json/reader.ts describes the result. */
export function findRun(from: usize, end: usize, length: usize): usize {
  let at = from;
  // The number of run bytes at the end of the last window.
  let before: usize = 0;
  while (at < end) {
    const bits = ~(
      otherBits(at) |
      (otherBits(at + 16) << 16) |
      (otherBits(at + 32) << 32) |
      (otherBits(at + 48) << 48)
    );
    const runs = longRuns(bits);
    const isJoined = before + usize(ctz(~bits)) >= minLength;
    if (runs === 0 && !isJoined) {
      before = usize(clz(~bits));
      at += windowBytes;
      continue;
    }
    const first: u64 = isJoined ? 0 : ctz(runs);
    const start = isJoined ? at - before : at + usize(first);
    if (start + minLength > end) return end;
    let stop = min(end, at + usize(first) + usize(ctz(~(bits >> first))));
    while (stop < end && hasClass(byteAt(stop), byLow, byHigh)) stop++;
    if (stop - start >= length && isWanted(start, stop, length)) return start;
    at = stop;
    before = 0;
  }
  return end;
}

/** The last byte of `-B` and `u0`, by four bits of the byte before it. No text has a byte 1. */
const nextByBits: usize = memory.data<u8>([1, 1, 1, 1, 1, 0x42, 1, 1, 1, 1, 1, 1, 1, 1, 0x30, 1]);

/** Marks `@`, the B of `-B`, the 0 of `u0`, and a few other bytes. */
function markBytes(at: usize): v128 {
  const bytes = v128.load(at);
  const before = v128.and(i16x8.shr_u(v128.load(at - 1), 3), i8x16.splat(15));
  const next = i8x16.swizzle(v128.load(nextByBits), before);
  return v128.or(i8x16.eq(bytes, next), i8x16.eq(bytes, i8x16.splat(0x40)));
}

/** `JsonReader.findMark` in src/json/reader.ts describes the result. */
export function findMark(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    const first = v128.or(markBytes(at), markBytes(at + 16));
    if (!v128.any_true(v128.or(first, v128.or(markBytes(at + 32), markBytes(at + 48))))) continue;
    for (let part = at; part < min(at + windowBytes, end); part += 16) {
      for (let marks = i8x16.bitmask(markBytes(part)) & 0xffff; marks !== 0; marks &= marks - 1) {
        const mark = part + usize(ctz(marks));
        if (mark < end && isMark(mark)) return mark;
      }
    }
  }
  return end;
}

function isMark(at: usize): bool {
  const byte = byteAt(at);
  if (byte === atSign) return isAfterPassword(at);
  // `-BEG`
  if (byte === 0x42) return load<u32>(at - 1) === 0x4745422d;
  // `\u00`
  if (byte !== 0x30 || load<u32>(at - 2) !== 0x3030755c) return false;
  const code = (hexDigit(byteAt(at + 2)) << 4) | hexDigit(byteAt(at + 3));
  // Writers escape `&`, `'`, `<` and `>`, which no secret contains.
  return code >= space && code < 0x7f && (code & 0xfe) !== 0x26 && (code & 0xfd) !== 0x3c;
}

function hexDigit(byte: u32): u32 {
  return byte <= 0x39 ? byte & 15 : (byte & 15) + 9;
}

const maxPasswordBytes: usize = 256;

/** True after `://user:password`. A slash can follow a backslash. */
function isAfterPassword(at: usize): bool {
  let hasColon = false;
  for (let before = at - 1; at - before <= maxPasswordBytes; before--) {
    const byte = byteAt(before);
    if (byte <= space || byte === quote || byte === atSign) return false;
    if (byte === slash) return hasColon;
    if (byte === colon) hasColon = true;
  }
  return false;
}
