/** Finds fixed texts of three bytes, such as the starts of keys, in one pass over all bytes. */
const windowBytes: usize = 64;

/** The rare bytes of which each text has one, its last or the one before, by their lower halves: `BI|-N_`. */
const rareBytes: usize = memory.data<u8>([1, 0, 0x42, 0, 0, 0, 0, 0, 0, 0x49, 0, 0, 0x7c, 0x2d, 0x4e, 0x5f]);

/** Maps the hash of a text to 1. */
const endings: usize = memory.data(1 << 16);

function slotOf(bytes: u32): usize {
  return endings + usize(((bytes & 0xffffff) * 0x9e3779b1) >>> 16);
}

/** `JsonReader.findEnding` in src/json/reader.ts describes the texts. */
export function addEnding(bytes: u32): void {
  store<u8>(slotOf(bytes), 1);
}

function rareIn(at: usize): v128 {
  const bytes = v128.load(at);
  return i8x16.eq(i8x16.swizzle(v128.load(rareBytes), v128.and(bytes, i8x16.splat(15))), bytes);
}

function bitsOf(a: v128, b: v128): u64 {
  return u64(i8x16.bitmask(a)) | (u64(i8x16.bitmask(b)) << 16);
}

/** Returns the first rare byte of a text, or `end`. */
export function findEnding(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    const a = rareIn(at);
    const b = rareIn(at + 16);
    const c = rareIn(at + 32);
    const d = rareIn(at + 48);
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue;
    for (let bits = bitsOf(a, b) | (bitsOf(c, d) << 32); bits !== 0; bits &= bits - 1) {
      const found = at + usize(ctz(bits));
      if (found >= end) return end;
      const before = load<u32>(found - 2);
      if (load<u8>(slotOf(before)) !== 0 || load<u8>(slotOf(before >> 8)) !== 0) return found;
    }
  }
  return end;
}
