/** Fingerprints: 32-bit hashes of bytes, never 0. */

/** A prime near 2^32 divided by the golden ratio, as in xxHash. */
const factor: u32 = 0x9e3779b1;

function mix(lanes: v128, words: v128): v128 {
  const product = i32x4.mul(v128.xor(lanes, words), i32x4.splat(i32(factor)));
  return v128.xor(product, i32x4.shr_u(product, 15));
}

const tail: usize = memory.data(64);

export function fingerprint(start: usize, end: usize): u32 {
  let a = i32x4.splat(1);
  let b = i32x4.splat(2);
  let c = i32x4.splat(3);
  let d = i32x4.splat(4);
  let at = start;
  for (const last = end - 64; at <= last && end - start >= 64; at += 64) {
    a = mix(a, v128.load(at));
    b = mix(b, v128.load(at, 16));
    c = mix(c, v128.load(at, 32));
    d = mix(d, v128.load(at, 48));
  }
  memory.fill(tail, 0, 64);
  memory.copy(tail, at, end - at);
  a = mix(a, v128.load(tail));
  b = mix(b, v128.load(tail, 16));
  c = mix(c, v128.load(tail, 32));
  d = mix(d, v128.load(tail, 48));
  const mixed = mix(mix(mix(a, b), c), d);
  let hash = u32(end - start);
  hash = fold(hash, i32x4.extract_lane(mixed, 0));
  hash = fold(hash, i32x4.extract_lane(mixed, 1));
  hash = fold(hash, i32x4.extract_lane(mixed, 2));
  hash = fold(hash, i32x4.extract_lane(mixed, 3));
  return hash === 0 ? 1 : hash;
}

function fold(hash: u32, word: i32): u32 {
  const product = (hash ^ u32(word)) * factor;
  return product ^ (product >> 15);
}
