/** Finds the fault in bytes that are not JSON. */
import { backslash, byteAt, closeBrace, closeBracket, comma, isDigit, minus, plus, point, quote, zero } from "./bytes";
import { escapeLength, falseWord, isHex, nullWord, skipDigits, trueWord } from "./scalars";

/** The numbers follow the order of `faults` in src/json/reader.ts. */
const cutOff: u32 = 1;
const trailing: u32 = 2;
const unknownWord: u32 = 3;
const singleQuote: u32 = 4;
const comment: u32 = 5;
const missingValue: u32 = 6;
const controlCharacter: u32 = 7;
const badEscape: u32 = 8;
const badNumber: u32 = 9;
const otherCharacter: u32 = 10;

export const valueNext: u32 = 0;
export const keyNext: u32 = 1;
export const colonNext: u32 = 2;
export const commaNext: u32 = 3;
export const endNext: u32 = 4;

export let fault: u32 = 0;
export let faultAt: usize = 0;

/** The address after the text. The byte at this address is white space or 0. */
let end: usize = 0;

/** Expects correct JSON before `at`. `next` is the token that the kernel expected at `at`. */
export function findFault(at: usize, limit: usize, next: u32): usize {
  end = limit;
  if (at >= end) return setFault(end, cutOff);
  const byte = byteAt(at);
  if (next === valueNext) return findInScalar(at);
  if (next === keyNext && byte === quote) return findInString(at);
  const kind = faultOf(at);
  if (next === endNext && kind !== comment) return setFault(at, trailing);
  return setFault(at, next === keyNext && byte === closeBrace ? missingValue : kind);
}

function setFault(at: usize, kind: u32): usize {
  faultAt = at;
  fault = kind;
  return at;
}

function findInScalar(at: usize): usize {
  const byte = byteAt(at);
  if (byte === quote) return findInString(at);
  if (byte === minus || isDigit(byte)) return findInNumber(at);
  if (isCutOff(at, trueWord) || isCutOff(at, falseWord) || isCutOff(at, nullWord)) return setFault(end, cutOff);
  const isMissing = byte === closeBrace || byte === closeBracket || byte === comma;
  return setFault(at, isMissing ? missingValue : faultOf(at));
}

function isCutOff(at: usize, word: u64): bool {
  const length = end - at;
  return length < 8 && ((load<u64>(at) ^ word) & ((u64(1) << (u64(length) << 3)) - 1)) === 0;
}

function faultOf(at: usize): u32 {
  const byte = byteAt(at);
  const next = byteAt(at + 1);
  if (byte === 0x27) return singleQuote;
  // A comment begins with `#`, `//` or `/*`.
  if (byte === 0x23 || (byte === 0x2f && (next === 0x2f || next === 0x2a))) return comment;
  if (isNameByte(byte)) return unknownWord;
  return (byte === plus || byte === point) && isDigit(next) ? badNumber : otherCharacter;
}

function findInString(from: usize): usize {
  let at = from + 1;
  while (at < end) {
    const byte = byteAt(at);
    if (byte < 0x20) return setFault(at, controlCharacter);
    const length: usize = byte === backslash ? escapeLength(at) : 1;
    if (length === 0) {
      let stop = at + 1;
      // Skips `u` and fewer than four hexadecimal digits.
      if (byteAt(stop) === 0x75)
        do stop++;
        while (isHex(byteAt(stop)));
      return stop < end ? setFault(at, badEscape) : setFault(end, cutOff);
    }
    at += length;
  }
  return setFault(end, cutOff);
}

function findInNumber(from: usize): usize {
  const digits = byteAt(from) === minus ? from + 1 : from;
  if (isNameByte(byteAt(digits))) return setFault(from, unknownWord);
  let at = skipDigits(digits);
  if (at > digits) {
    if (byteAt(digits) === zero && at > digits + 1) return setFault(from, badNumber);
    if (byteAt(at) === point && isDigit(byteAt(at + 1))) at = skipDigits(at + 1);
    // If the text ends after a point, an `e` or a sign, the number is cut off.
    const isFraction = byteAt(at) === point;
    at++;
    if (!isFraction && (byteAt(at) === plus || byteAt(at) === minus)) at++;
  }
  return at >= end ? setFault(end, cutOff) : setFault(from, badNumber);
}

function isNameByte(byte: u32): bool {
  return (byte | 0x20) - 0x61 < 26 || byte === 0x5f;
}
