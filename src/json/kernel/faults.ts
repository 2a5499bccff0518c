/** Names the fault of bytes that are not JSON. */
import { backslash, byteAt, closeBrace, closeBracket, comma, isDigit, minus, plus, point, quote, zero } from "./bytes";
import { falseWord, nullWord, trueWord } from "./scalars";
import { isHex, isSimpleEscape } from "./strings";

/** Faults by their numbers, as src/json/table.ts has them in their order. */
const cutOff: u32 = 1;
const more: u32 = 2;
const word: u32 = 3;
const singleQuote: u32 = 4;
const comment: u32 = 5;
const lacksValue: u32 = 6;
const control: u32 = 7;
const badEscape: u32 = 8;
const number: u32 = 9;
const character: u32 = 10;

/** What must come next. */
export const valueNext: u32 = 0;
export const keyNext: u32 = 1;
export const colonNext: u32 = 2;
/** A comma, or the bracket that closes. */
export const commaNext: u32 = 3;
/** Nothing. */
export const endNext: u32 = 4;

/** The fault that was named last, and the byte that it is at. */
export let fault: u32 = 0;
export let faultAt: usize = 0;

let end: usize = 0;

/** Names the fault of what begins here in a text that ends there; gives its place. */
export function nameFault(at: usize, limit: usize, next: u32): usize {
  end = limit;
  if (at >= end) return found(end, cutOff);
  const byte = byteAt(at);
  if (next === valueNext) return nameScalar(at);
  if (next === keyNext && byte === quote) return nameString(at);
  const own = faultOf(at);
  if (next === endNext && own !== comment) return found(at, more);
  return found(at, next === keyNext && byte === closeBrace ? lacksValue : own);
}

function found(at: usize, kind: u32): usize {
  faultAt = at;
  fault = kind;
  return at;
}

/** The byte there; 0 behind the end. */
function peek(at: usize): u32 {
  return at < end ? byteAt(at) : 0;
}

function nameScalar(at: usize): usize {
  const byte = byteAt(at);
  if (byte === quote) return nameString(at);
  if (byte === minus || isDigit(byte)) return nameNumber(at);
  if (isCut(at, trueWord) || isCut(at, falseWord) || isCut(at, nullWord)) return found(end, cutOff);
  const isValue = byte !== closeBrace && byte !== closeBracket && byte !== comma;
  return found(at, isValue ? faultOf(at) : lacksValue);
}

/** True if the text ends within a word. */
function isCut(at: usize, letters: u64): bool {
  const length = end - at;
  return length < 8 && ((load<u64>(at) ^ letters) & ((u64(1) << (u64(length) << 3)) - 1)) === 0;
}

/** What a byte is that can't stand where it stands. */
function faultOf(at: usize): u32 {
  const byte = byteAt(at);
  const next = peek(at + 1);
  if (byte === 0x27) return singleQuote;
  if (byte === 0x23 || (byte === 0x2f && (next === 0x2f || next === 0x2a))) return comment;
  if (isLetter(byte)) return word;
  return (byte === plus || byte === point) && isDigit(next) ? number : character;
}

function nameString(from: usize): usize {
  let at = from + 1;
  while (at < end) {
    const byte = byteAt(at);
    if (byte < 0x20) return found(at, control);
    if (byte !== backslash) at++;
    else {
      const kind = peek(at + 1);
      if (kind === 0x75) {
        for (let digit = at + 2; digit < at + 6; digit++) {
          if (digit >= end) return found(end, cutOff);
          if (!isHex(byteAt(digit))) return found(at, badEscape);
        }
        at += 6;
      } else if (isSimpleEscape(kind)) at += 2;
      else if (at + 1 < end) return found(at, badEscape);
      else break;
    }
  }
  return found(end, cutOff);
}

function nameNumber(from: usize): usize {
  const whole = byteAt(from) === minus ? from + 1 : from;
  if (isLetter(peek(whole))) return found(from, word);
  let at = behindDigits(whole);
  if (at > whole) {
    if (byteAt(whole) === zero && at > whole + 1) return found(from, number);
    if (peek(at) === point && isDigit(peek(at + 1))) at = behindDigits(at + 1);
    // Digits of a fraction or of an exponent are missing.
    const isFraction = peek(at) === point;
    at++;
    if (!isFraction && (peek(at) === plus || peek(at) === minus)) at++;
  }
  // What lacks digits is cut off where the text ends.
  return at >= end ? found(end, cutOff) : found(from, number);
}

function behindDigits(from: usize): usize {
  let at = from;
  while (isDigit(peek(at))) at++;
  return at;
}

function isLetter(byte: u32): bool {
  return (byte | 0x20) - 0x61 < 26 || byte === 0x5f;
}
