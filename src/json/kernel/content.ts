/**
 * Digests what a trajectory says, in any order of members and spelling of strings and numbers. A member that says
 * nothing counts as absent. Ledgers store these digests, so a change of this file needs a new version of the ledger.
 */
import {
  backslash,
  byteAt,
  closeBracket,
  comma,
  isDigit,
  minus,
  openBrace,
  openBracket,
  point,
  quote,
  zero,
} from "./bytes";
import { append, appendByte, begin, bytesDigest, factor, finishAppended, length, mix } from "./hash";
import { keyDigestOf, leafUse, sampledUse, unsampledUse, usesOf } from "./keys";
import { endOf, keyIdOf, nodeBytes, startOf } from "./nodes";
import { escapeLength } from "./scalars";
import { table } from "./table";

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

/** Returns 0 for a member that says nothing. */
function memberDigest(key: usize, depth: u32): u64 {
  const value = key + nodeBytes;
  if (saysNothing(value)) return 0;
  const id = keyIdOf(key);
  const name = id === 0 ? textDigest(startOf(key) + 1, endOf(key) - 1) : keyDigestOf(id);
  return mix(name + factor, digestOf(value, depth));
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
  // A text of as many characters as bytes has no escapes.
  if (first === quote && usize(load<u32>(node, 12)) === end - start - 2) return bytesDigest(start + 1, end - 1);
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
    for (; length > 0 && zeros > 1; zeros--) appendByte(zero);
    appendByte(byte);
    zeros = 0;
  }
  // JavaScript writes -0 as 0.
  if (length === 0) return mix(finishAppended(), 0);
  let exponent: i64 = 0;
  for (let digit = at; digit < end; digit++)
    if (isDigit(byteAt(digit))) exponent = min(maxExponent, 10 * exponent + i64(byteAt(digit) - zero));
  power += zeros + (byteAt(at + 1) === minus ? -exponent : exponent);
  return mix(finishAppended(), u64(2 * power) + u64(byteAt(start) === minus));
}

function afterOf(node: usize): usize {
  return table + (usize(load<u32>(node, 8)) << 2);
}

/** Digests the characters. Only the escapes `\/` and `\u…` have other spellings. */
function textDigest(start: usize, end: usize): u64 {
  let at = findOtherSpelling(start, end);
  if (at === end) return bytesDigest(start, end);
  begin();
  append(start, at);
  while (at < end) {
    const size = escapeLength(at);
    appendCharacter(at, size);
    const stop = findOtherSpelling(at + size, end);
    append(at + size, stop);
    at = stop;
  }
  return finishAppended();
}

/** Returns the first escape `\/` or `\u…`, or `end`. */
function findOtherSpelling(start: usize, end: usize): usize {
  for (let at = start; at < end; at += 16) {
    const next = v128.load(at, 1);
    const others = v128.or(i8x16.eq(next, i8x16.splat(0x75)), i8x16.eq(next, i8x16.splat(0x2f)));
    let found = i8x16.bitmask(v128.and(others, i8x16.eq(v128.load(at), i8x16.splat(0x5c))));
    for (; found !== 0; found &= found - 1) {
      const stop = at + usize(ctz(found));
      if (stop >= end) return end;
      // After an odd number of backslashes, this one is escaped.
      let before = stop;
      while (before > start && byteAt(before - 1) === backslash) before--;
      if (((stop - before) & 1) === 0) return stop;
    }
  }
  return end;
}

/** Appends the character in UTF-8. */
function appendCharacter(at: usize, length: usize): void {
  let code: u32 = length === 2 ? 0x2f : codeAt(at);
  if (length === 12) code = 0x10000 + ((code & 0x3ff) << 10) + (codeAt(at + 6) & 0x3ff);
  if (code < 0x80) {
    appendByte(code);
    return;
  }
  const more: u32 = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  appendByte((0xf00 >> (more + 1)) | (code >> (6 * more)));
  for (let left = more; left > 0; left--) appendByte(((code >> (6 * (left - 1))) & 0x3f) | 0x80);
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
