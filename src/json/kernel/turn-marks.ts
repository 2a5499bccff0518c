/** Finds the starts of marks with which chat templates begin or end turns. */
import { backslash, byteAt, classesOf, closeBrace, closeBracket, colon, openBrace, openBracket, zero } from "./bytes";

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
  const before = i8x16.swizzle(v128.load(byLowBefore), v128.and(v128.load(at - 1), i8x16.splat(15)));
  return v128.and(classesOf(v128.load(at), byLow, byHigh), before);
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

/** Words of four bytes, little-endian, then 0. Before a colon: tant, TANT, onse, lcon, nBot, nGPT. */
const names: usize = memory.data<u32>([0x746e6174, 0x544e4154, 0x65736e6f, 0x6e6f636c, 0x746f426e, 0x5450476e, 0]);
/** After a bracket: INST, TOOL, SYST, AVAI, unus. */
const bracketed: usize = memory.data<u32>([0x54534e49, 0x4c4f4f54, 0x54535953, 0x49415641, 0x73756e75, 0]);
/**
 * After `<`: star, extr, SPEC, seed, role, begi, long, rese, end_, huma, info, inte, obs>, obse, resu, docu, outp, 用户.
 */
const tags: usize = memory.data<u32>([
  0x72617473, 0x72747865, 0x43455053, 0x64656573, 0x656c6f72, 0x69676562, 0x676e6f6c, 0x65736572, 0x5f646e65,
  0x616d7568, 0x6f666e69, 0x65746e69, 0x3e73626f, 0x6573626f, 0x75736572, 0x75636f64, 0x7074756f, 0xe6a894e7, 0,
]);

function isIn(words: usize, word: u32): bool {
  for (let at = words; load<u32>(at) !== 0; at += 4) if (load<u32>(at) === word) return true;
  return false;
}

/** After `erva`, which is 8 bytes before the colon. */
function isObservation(at: usize, before: u32): bool {
  return before === 0x6e6f6974 && load<u32>(at - 8) === 0x61767265;
}

function beginsMark(at: usize): bool {
  const first = byteAt(at);
  const second = byteAt(at + 1);
  const before = load<u32>(at - 4);
  // ` to=assistant`
  if (first === equalSign) return before >> 8 === 0x6f7420 && load<u32>(at + 1) === 0x69737361;
  // Also after `nAI`.
  if (first === colon) return isIn(names, before) || before >> 8 === 0x49416e || isObservation(at, before);
  // `## Return of functions.`: `## R`, and ` of ` after `eturn`. Texts often have a heading `## Return`.
  if (first === hash) return load<u32>(at - 1) === 0x52202323 && load<u32>(at + 8) === 0x20666f20;
  // After tant, TANT and odel.
  if (first === backslash)
    return second === 0x6e && (before === load<u32>(names) || before === load<u32>(names, 4) || before === 0x6c65646f);
  // `\u003c`
  if (first === zero) return load<u32>(at - 3) === 0x3030755c && (load<u16>(at + 1) | 0x2000) === 0x6333;
  // `]~b]` and `}]{"content"`
  if (first === closeBracket) return second === tilde || (second === openBrace && before >> 24 === closeBrace);
  // `|`, the first byte of `｜`, and the backslash of `\uff5c`.
  if (second === bar || (first === lessThan && (second === 0xef || second === backslash))) return true;
  const word = load<u32>(at + 1);
  if (first === openBracket) return isIn(bracketed, word);
  // `</s>`
  if ((word & 0xffffff) === 0x3e732f) return true;
  // `_res` or `_out` in `<tool_…`, `<function_…` and `<execution_…`
  const length: usize = word === 0x6c6f6f74 ? 5 : word === 0x636e7566 || word === 0x63657865 ? 9 : 0;
  if (length === 0) return isIn(tags, word);
  const next = load<u32>(at + length + (word === 0x63657865 ? 1 : 0));
  return next === 0x7365725f || next === 0x74756f5f;
}
