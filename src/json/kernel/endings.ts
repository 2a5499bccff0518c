/** Finds the last bytes of fixed texts, such as the starts of keys, in one pass over all bytes. */
import { classesOf } from "./bytes";

const windowBytes: usize = 64;

/** Bits for the halves of a last byte: 1 for `-`, 2 `_`, 4 `I`, 8 `z`, 16 `N`, 32 `B`, 64 `|`. */
const byLow: usize = memory.data<u8>([0, 0, 32, 0, 0, 0, 0, 0, 0, 4, 8, 0, 64, 1, 16, 2]);
const byHigh: usize = memory.data<u8>([0, 0, 1, 0, 52, 2, 0, 72, 0, 0, 0, 0, 0, 0, 0, 0]);
/** The byte before it has the same bit in its lower half. */
const byLowBefore: usize = memory.data<u8>([3, 3, 3, 7, 67, 3, 2, 0, 2, 25, 0, 7, 0, 34, 0, 3]);

/** Maps the hash of the last three bytes of a text to 1. */
const endings: usize = memory.data(1 << 16);

function slotOf(bytes: u32): usize {
  return endings + usize(((bytes & 0xffffff) * 0x9e3779b1) >>> 16);
}

/** `JsonReader.findEnding` in src/json/reader.ts describes the texts. */
export function addEnding(bytes: u32): void {
  store<u8>(slotOf(bytes), 1);
}

function bitsIn(at: usize): u64 {
  const before = i8x16.swizzle(v128.load(byLowBefore), v128.and(v128.load(at - 1), i8x16.splat(15)));
  const classes = v128.and(classesOf(v128.load(at), byLow, byHigh), before);
  return u64(~i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0))) & 0xffff);
}

/** Returns the first last byte of a text, or `end`. */
export function findEnding(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    let bits = bitsIn(at) | (bitsIn(at + 16) << 16) | (bitsIn(at + 32) << 32) | (bitsIn(at + 48) << 48);
    for (; bits !== 0; bits &= bits - 1) {
      const found = at + usize(ctz(bits));
      if (found >= end) return end;
      if (load<u8>(slotOf(load<u32>(found - 2))) !== 0) return found;
    }
  }
  return end;
}
