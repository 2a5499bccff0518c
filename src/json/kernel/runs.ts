/** Finds long runs of letters, digits, `_`, `-` and `.`, such as secrets. */
import { backslash, byteAt } from "./bytes";

/** Bits for each value of half a byte. A byte belongs to a run if both halves share a bit. */
const byLow: usize = memory.data<u8>([26, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28, 4, 4, 5, 5, 12]);
const byHigh: usize = memory.data<u8>([0, 0, 1, 2, 4, 8, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0]);

const windowBytes: usize = 64;
const minLength: usize = 16;

function isRunByte(byte: u32): bool {
  return (load<u8>(byLow + usize(byte & 15)) & load<u8>(byHigh + usize(byte >> 4))) !== 0;
}

function runBits(at: usize): u64 {
  const bytes = v128.load(at);
  const low = i8x16.swizzle(v128.load(byLow), v128.and(bytes, i8x16.splat(15)));
  const high = i8x16.swizzle(v128.load(byHigh), v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
  return u64(~i8x16.bitmask(i8x16.eq(v128.and(low, high), i8x16.splat(0))) & 0xffff);
}

/** Keeps each bit that begins a sequence of sixteen set bits. */
function longRuns(bits: u64): u64 {
  let runs = bits & (bits >> 1);
  runs &= runs >> 2;
  runs &= runs >> 4;
  return runs & (runs >> 8);
}

/** Maps an added prefix of two bytes to 1. */
const prefixes: usize = memory.data(1 << 16);

export function addRunPrefix(prefix: u32): void {
  store<u8>(prefixes + usize(prefix), 1);
}

/** A run after a backslash begins with the letter of an escape, so the prefix is unknown. */
function isWanted(run: usize): bool {
  return load<u8>(prefixes + usize(load<u16>(run))) !== 0 || byteAt(run - 1) === backslash;
}

/** `JsonReader.findRun` in src/json/reader.ts describes the result. */
export function findRun(from: usize, end: usize, length: usize): usize {
  let at = from;
  while (at < end) {
    const runs = longRuns(runBits(at) | (runBits(at + 16) << 16) | (runBits(at + 32) << 32) | (runBits(at + 48) << 48));
    // Windows overlap by 16 bytes, so a window contains 16 adjacent bytes of each run.
    if (runs === 0) {
      at += windowBytes - minLength;
      continue;
    }
    let start = at + usize(ctz(runs));
    let stop = start + minLength;
    while (start > from && isRunByte(byteAt(start - 1))) start--;
    while (stop < end && isRunByte(byteAt(stop))) stop++;
    if (stop > end) return end;
    if (stop - start >= length && isWanted(start)) return start;
    at = stop;
  }
  return end;
}
