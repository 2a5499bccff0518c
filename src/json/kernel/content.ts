/**
 * Digests what a trajectory says, in any order of members and spelling of strings and numbers. A member that says
 * nothing counts as absent. Ledgers store these digests, so a change of this file needs a new version of the ledger.
 */
import { byteAt, closeBracket, comma, isDigit, minus, openBrace, openBracket, point, quote, zero } from "./bytes";
import { leafUse, sampledUse, unsampledUse, usesOf } from "./keys";
import { escapeLength } from "./scalars";
import { endOf, keyIdOf, nodeBytes, startOf, table } from "./table";

const factor: u64 = (0x9e3779b9 << 32) | 0x7f4a7c15;

function mix(hash: u64, word: u64): u64 {
  const product = (hash ^ word) * factor;
  return product ^ (product >> 29);
}

/** Deeper values are equal only if they are the same bytes. */
const maxDepth: u32 = 100;

/** Digests the sampled members of an object. Returns a whole number below 2^51. */
export function sampledDigest(word: usize): f64 {
  const node = table + (word << 2);
  const after = afterOf(node);
  let hash: u64 = 0;
  for (let key = node + nodeBytes; key < after; key = afterOf(key + nodeBytes))
    if ((usesOf(keyIdOf(key)) & sampledUse) !== 0) hash += memberDigest(key, 0);
  return f64(hash >> 13);
}

/** Returns a 32-bit hash of bytes that is never 0. */
export function fingerprint(start: usize, end: usize): u32 {
  begin();
  append(start, end);
  return max(1, u32(finish()));
}

/** Returns 0 for a member that says nothing. */
function memberDigest(key: usize, depth: u32): u64 {
  const value = key + nodeBytes;
  return saysNothing(value) ? 0 : mix(textDigest(startOf(key) + 1, endOf(key) - 1) + factor, digestOf(value, depth));
}

/** True for null, and for an empty array or object. */
function saysNothing(node: usize): bool {
  const first = byteAt(startOf(node));
  const isEmpty = afterOf(node) === node + nodeBytes;
  return first === 0x6e || (isEmpty && (first === openBrace || (first === openBracket && load<u32>(node, 12) === 0)));
}

function digestOf(node: usize, depth: u32): u64 {
  const start = startOf(node);
  const end = endOf(node);
  const after = afterOf(node);
  const first = byteAt(start);
  let child = node + nodeBytes;
  if (first === quote) return textDigest(start + 1, end - 1);
  if (isDigit(first) || first === minus) return numberDigest(start, end);
  const isArray = first === openBracket;
  if ((first !== openBrace && !isArray) || depth === maxDepth) return textDigest(start, end);
  let hash = mix(u64(first), factor);
  if (isArray) {
    // An array of only numbers has no elements in the table.
    if (child === after) return numbersDigest(start + 1, hash);
    for (; child < after; child = afterOf(child)) hash = mix(hash, digestOf(child, depth + 1)) + factor;
    return hash;
  }
  // The order of members does not change a sum.
  for (; child < after; child = afterOf(child + nodeBytes))
    if ((usesOf(keyIdOf(child)) & (leafUse | unsampledUse)) === 0) hash += memberDigest(child, depth + 1);
  return hash;
}

function numbersDigest(from: usize, digest: u64): u64 {
  let hash = digest;
  for (let at = from; byteAt(at) !== closeBracket; ) {
    const start = at;
    while (byteAt(at) > 0x20 && byteAt(at) !== comma && byteAt(at) !== closeBracket) at++;
    if (at > start) hash = mix(hash, numberDigest(start, at)) + factor;
    else at++;
  }
  return hash;
}

const zeroDigit: usize = memory.data<u8>([0x30]);
/** Larger exponents are equal. */
const maxExponent: i64 = 1_000_000_000;

/** Digests the digits from the first to the last that is not 0, the power of ten after them, and the sign. */
function numberDigest(start: usize, end: usize): u64 {
  begin();
  let power: i64 = 0;
  let zeros: i64 = 0;
  let isFraction = false;
  let at = start;
  for (; at < end && (byteAt(at) | 0x20) !== 0x65; at++) {
    const byte = byteAt(at);
    if (byte === point) isFraction = true;
    if (!isDigit(byte)) continue;
    if (isFraction) power--;
    zeros++;
    if (byte === zero) continue;
    for (; length > 0 && zeros > 1; zeros--) append(zeroDigit, zeroDigit + 1);
    append(at, at + 1);
    zeros = 0;
  }
  // JavaScript writes -0 as 0.
  if (length === 0) return mix(finish(), 0);
  let exponent: i64 = 0;
  for (let digit = at; digit < end; digit++)
    if (isDigit(byteAt(digit))) exponent = min(maxExponent, 10 * exponent + i64(byteAt(digit) - zero));
  power += zeros + (byteAt(at + 1) === minus ? -exponent : exponent);
  return mix(finish(), u64(2 * power) + u64(byteAt(start) === minus));
}

function afterOf(node: usize): usize {
  return table + (usize(load<u32>(node, 8)) << 2);
}

/** Digests the characters. Only the escapes `\/` and `\u…` have other spellings. */
function textDigest(start: usize, end: usize): u64 {
  begin();
  let at = start;
  while (true) {
    const stop = findOtherSpelling(at, end);
    append(at, stop);
    if (stop === end) return finish();
    const size = escapeLength(stop);
    appendCharacter(stop, size);
    at = stop + size;
  }
}

/** Returns the first escape `\/` or `\u…`, or `end`. */
function findOtherSpelling(start: usize, end: usize): usize {
  for (let at = start; at < end; ) {
    const backslashes = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x5c)));
    at += backslashes === 0 ? 16 : usize(ctz(backslashes));
    if (backslashes === 0) continue;
    const next = byteAt(at + 1);
    if (at < end && (next === 0x75 || next === 0x2f)) return at;
    at += 2;
  }
  return end;
}

const character: usize = memory.data(8);

/** Appends the character in UTF-8. */
function appendCharacter(at: usize, length: usize): void {
  let code: u32 = length === 2 ? 0x2f : codeAt(at);
  if (length === 12) code = 0x10000 + ((code & 0x3ff) << 10) + (codeAt(at + 6) & 0x3ff);
  const size: usize = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  const first = size === 1 ? 0 : 0xf00 >> u32(size);
  for (let byte = size - 1; byte > 0; byte--, code >>= 6) store<u8>(character + byte, u8((code & 0x3f) | 0x80));
  store<u8>(character, u8(code | first));
  append(character, character + size);
}

/** Returns the number in `\u` and four hexadecimal digits. */
function codeAt(at: usize): u32 {
  let code: u32 = 0;
  for (let digit: usize = 2; digit < 6; digit++) {
    const byte = byteAt(at + digit);
    code = (code << 4) | ((byte & 0xf) + (byte > 0x39 ? 9 : 0));
  }
  return code;
}

let a: u64 = 0;
let b: u64 = 0;
let c: u64 = 0;
let d: u64 = 0;
let length: usize = 0;
const block: usize = memory.data(32, 16);

function begin(): void {
  a = 1;
  b = 2;
  c = 3;
  d = 4;
  length = 0;
}

function append(start: usize, end: usize): void {
  let at = start;
  const filled = length & 31;
  length += end - start;
  if (filled + (end - start) < 32) {
    memory.copy(block + filled, start, end - start);
    return;
  }
  if (filled !== 0) {
    at += 32 - filled;
    memory.copy(block + filled, start, 32 - filled);
    addBlocks(block, block + 32);
  }
  addBlocks(at, end);
  at = end - (length & 31);
  memory.copy(block, at, end - at);
}

/** Local variables stay in registers. */
function addBlocks(start: usize, end: usize): void {
  let w = a;
  let x = b;
  let y = c;
  let z = d;
  for (let at = start; at + 32 <= end; at += 32) {
    w = mix(w, load<u64>(at));
    x = mix(x, load<u64>(at, 8));
    y = mix(y, load<u64>(at, 16));
    z = mix(z, load<u64>(at, 24));
  }
  a = w;
  b = x;
  c = y;
  d = z;
}

function finish(): u64 {
  const size = length & 31;
  memory.fill(block + size, 0, 32 - size);
  a = mix(a ^ u64(length), load<u64>(block));
  b = mix(b, load<u64>(block, 8));
  if (length <= 16) return mix(a, b);
  c = mix(c, load<u64>(block, 16));
  d = mix(d, load<u64>(block, 24));
  return mix(mix(mix(a, b), c), d);
}
