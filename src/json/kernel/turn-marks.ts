/** Finds the starts of marks with which chat templates begin or end turns. */
import { backslash, byteAt, closeBrace, closeBracket, colon, openBrace, openBracket, zero } from "./bytes";

const lessThan: u32 = 0x3c;
const equalSign: u32 = 0x3d;
const hash: u32 = 0x23;

const bar: u32 = 0x7c;
const tilde: u32 = 0x7e;

const windowBytes: usize = 64;

/**
 * Bits for the halves of a first byte: 1 for `:` and `=`, 2 for `[` and `]`, 4 for `#`, 8 for the backslash, 16 for
 * `<`, 32 for the last `0` of `\u00`. The byte before it has the same bit in its lower half.
 */
const byLow: usize = memory.data<u8>([32, 0, 0, 4, 0, 0, 0, 0, 0, 0, 1, 2, 24, 3, 0, 0]);
const byHigh: usize = memory.data<u8>([0, 0, 4, 49, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const byLowBefore: usize = memory.data<u8>([50, 18, 18, 22, 27, 19, 18, 18, 18, 19, 18, 18, 26, 18, 19, 19]);

function startsIn(at: usize): v128 {
  const bytes = v128.load(at);
  const low = i8x16.swizzle(v128.load(byLow), v128.and(bytes, i8x16.splat(15)));
  const high = i8x16.swizzle(v128.load(byHigh), v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
  const before = i8x16.swizzle(v128.load(byLowBefore), v128.and(v128.load(at - 1), i8x16.splat(15)));
  return v128.and(v128.and(low, high), before);
}

function bitsOf(classes: v128): u64 {
  return u64(~i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0))) & 0xffff);
}

/**
 * Returns the first byte that may begin a mark, or `end`. A mark is `<|…`, `<｜…`, a known word, or escaped. Without
 * tokens, a turn of the assistant follows its name, and `:` or an escaped line end.
 */
export function findTurnMark(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    const a = startsIn(at);
    const b = startsIn(at + 16);
    const c = startsIn(at + 32);
    const d = startsIn(at + 48);
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue;
    let bits = bitsOf(a) | (bitsOf(b) << 16) | (bitsOf(c) << 32) | (bitsOf(d) << 48);
    while (bits !== 0) {
      const found = at + usize(ctz(bits));
      if (found >= end) return end;
      if (beginsMark(found)) return found;
      bits &= bits - 1;
    }
  }
  return end;
}

function beginsMark(at: usize): bool {
  const first = byteAt(at);
  const second = byteAt(at + 1);
  const before = load<u32>(at - 4);
  // ` to=assistant`
  if (first === equalSign) return before >> 8 === to && load<u32>(at + 1) === assi;
  if (first === colon)
    return (
      before === tant ||
      before === capitals ||
      before === onse ||
      before === lcon ||
      before === bot ||
      before === gpt ||
      before >> 8 === ai
    );
  // `## Return of functions.`
  if (first === hash) return load<u32>(at - 1) === returns && load<u32>(at + 8) === ofFunctions;
  if (first === backslash) return second === 0x6e && (before === tant || before === capitals || before === odel);
  // `\u003c`
  if (first === zero) return load<u32>(at - 3) === 0x3030755c && (load<u16>(at + 1) | 0x2000) === 0x6333;
  const word = load<u32>(at + 1);
  // `]~b]` and `}]{"content"`
  if (first === closeBracket) return second === tilde || (second === openBrace && before >> 24 === closeBrace);
  // `|`, the first byte of `｜`, and the backslash of `\uff5c`.
  if (second === bar || (first === lessThan && (second === 0xef || second === backslash))) return true;
  if (first === openBracket)
    return word === insts || word === tools || word === systems || word === available || word === unused;
  if ((word & 0xffffff) === sentenceEnd) return true;
  if (word === tool) return load<u32>(at + 5) === results;
  return (
    word === starts ||
    word === extras ||
    word === specials ||
    word === seeds ||
    word === roles ||
    word === begins ||
    word === cats ||
    word === reserved ||
    word === ends ||
    word === user ||
    word === human ||
    word === info ||
    word === interpreters
  );
}

/** Four bytes at most, little-endian: tant, TANT, onse, lcon, nBot, nGPT, nAI, odel, ` to`, assi, INST, TOOL, … */
const tant: u32 = 0x746e6174;
const capitals: u32 = 0x544e4154;
const onse: u32 = 0x65736e6f;
const lcon: u32 = 0x6e6f636c;
const bot: u32 = 0x746f426e;
const gpt: u32 = 0x5450476e;
const ai: u32 = 0x49416e;
const odel: u32 = 0x6c65646f;
const to: u32 = 0x6f7420;
/** `## R`, and ` of ` after `eturn`. Texts often have a heading `## Return`. */
const returns: u32 = 0x52202323;
const ofFunctions: u32 = 0x20666f20;
const assi: u32 = 0x69737361;
const insts: u32 = 0x54534e49;
const tools: u32 = 0x4c4f4f54;
const systems: u32 = 0x54535953;
const available: u32 = 0x49415641;
const unused: u32 = 0x73756e75;

/** tool and _res, star, extr, SPEC, seed, role, begi, long, rese, end_, huma, the first bytes of `用户`, and `/s>`. */
const tool: u32 = 0x6c6f6f74;
const results: u32 = 0x7365725f;
const starts: u32 = 0x72617473;
const extras: u32 = 0x72747865;
const specials: u32 = 0x43455053;
const seeds: u32 = 0x64656573;
const roles: u32 = 0x656c6f72;
const begins: u32 = 0x69676562;
const cats: u32 = 0x676e6f6c;
const reserved: u32 = 0x65736572;
const ends: u32 = 0x5f646e65;
const human: u32 = 0x616d7568;
const info: u32 = 0x6f666e69;
const interpreters: u32 = 0x65746e69;
const user: u32 = 0xe6a894e7;
const sentenceEnd: u32 = 0x3e732f;
