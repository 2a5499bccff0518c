/**
 * Hashes bytes, at once or in pieces. Ledgers store digests of these hashes, so a change of this file needs a new
 * version of the ledger.
 */
import { byteAt } from "./bytes";

export const factor: u64 = (0x9e3779b9 << 32) | 0x7f4a7c15;

export function mix(hash: u64, word: u64): u64 {
  const product = (hash ^ word) * factor;
  return product ^ (product >> 29);
}

/** Returns a 32-bit hash of bytes that is never 0. */
export function fingerprint(start: usize, end: usize): u32 {
  return max(1, u32(bytesDigest(start, end)));
}

let a: u64 = 0;
let b: u64 = 0;
let c: u64 = 0;
let d: u64 = 0;
export let length: usize = 0;
const block: usize = memory.data(32, 16);

export function begin(): void {
  a = 1;
  b = 2;
  c = 3;
  d = 4;
  length = 0;
}

export function appendByte(byte: u32): void {
  store<u8>(block + (length & 31), u8(byte));
  if ((++length & 31) === 0) addBlocks(block, block + 32);
}

export function append(start: usize, end: usize): void {
  let at = start;
  while (at < end && (length & 31) !== 0) appendByte(byteAt(at++));
  length += end - at;
  at = addBlocks(at, end);
  memory.copy(block, at, end - at);
}

/** Returns the start of the bytes that fill no block. Local variables stay in registers. */
function addBlocks(start: usize, end: usize): usize {
  let w = a;
  let x = b;
  let y = c;
  let z = d;
  let at = start;
  for (; at + 32 <= end; at += 32) {
    w = mix(w, load<u64>(at));
    x = mix(x, load<u64>(at, 8));
    y = mix(y, load<u64>(at, 16));
    z = mix(z, load<u64>(at, 24));
  }
  a = w;
  b = x;
  c = y;
  d = z;
  return at;
}

export function bytesDigest(start: usize, end: usize): u64 {
  begin();
  length = end - start;
  return finish(addBlocks(start, end), end);
}

export function finishAppended(): u64 {
  return finish(block, block + (length & 31));
}

/** Adds the bytes after the last block. */
function finish(at: usize, end: usize): u64 {
  a = mix(a ^ u64(length), wordAt(at, end));
  b = mix(b, wordAt(at + 8, end));
  if (length <= 16) return mix(a, b);
  c = mix(c, wordAt(at + 16, end));
  d = mix(d, wordAt(at + 24, end));
  return mix(mix(mix(a, b), c), d);
}

/** Returns eight bytes, and 0 for those from `end`. */
function wordAt(at: usize, end: usize): u64 {
  if (at >= end) return 0;
  const word = load<u64>(at);
  return end - at >= 8 ? word : word & ((1 << (8 * u64(end - at))) - 1);
}
