/** Finds the starts of marks with which chat templates begin or end turns. */
import { backslash, byteAt, closeBrace, closeBracket, colon, openBrace, openBracket } from "./bytes";

const lessThan: u32 = 0x3c;
const equalSign: u32 = 0x3d;
const hash: u32 = 0x23;

const bar: u32 = 0x7c;
const tilde: u32 = 0x7e;

const windowBytes: usize = 64;

function isCapital(bytes: v128): v128 {
  return i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x41)), i8x16.splat(26));
}

function equals(bytes: v128, byte: u32): v128 {
  return i8x16.eq(bytes, i8x16.splat(i8(byte)));
}

function isStart(at: usize): v128 {
  const bytes = v128.load(at);
  const before = v128.load(at - 1);
  const after = v128.load(at + 1);
  const isU = equals(after, 0x75);
  const isOpen = v128.and(equals(bytes, openBracket), v128.or(v128.or(isU, isCapital(after)), equals(after, bar)));
  const isClose = v128.and(equals(bytes, closeBracket), v128.or(equals(after, tilde), equals(after, openBrace)));
  const isBracket = v128.or(equals(bytes, lessThan), v128.or(isOpen, isClose));
  const isBackslash = equals(bytes, backslash);
  const isAfterName = v128.or(
    v128.or(equals(before, 0x74), equals(before, 0x54)),
    v128.or(
      v128.or(equals(before, 0x65), v128.or(equals(before, 0x6c), equals(before, 0x6f))),
      v128.or(equals(before, 0x6e), equals(before, 0x49)),
    ),
  );
  // `:`, `;`, `<` and `=` are adjacent.
  const isColon = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(i8(colon))), i8x16.splat(4));
  const isEnd = v128.or(isColon, v128.and(isBackslash, equals(after, 0x6e)));
  const isEscape = v128.and(isBackslash, isU);
  const isHeading = v128.and(equals(bytes, hash), equals(after, hash));
  return v128.or(v128.or(isBracket, v128.and(isEnd, isAfterName)), v128.or(isEscape, isHeading));
}

/**
 * Returns the first byte that may begin a mark, or `end`. A mark is `<|…`, `<｜…`, a known word, or escaped. Without
 * tokens, a turn of the assistant follows its name, and `:` or an escaped line end.
 */
export function findTurnMark(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    const a = isStart(at);
    const b = isStart(at + 16);
    const c = isStart(at + 32);
    const d = isStart(at + 48);
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue;
    let bits =
      u64(i8x16.bitmask(a)) |
      (u64(i8x16.bitmask(b)) << 16) |
      (u64(i8x16.bitmask(c)) << 32) |
      (u64(i8x16.bitmask(d)) << 48);
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
  if (first === hash) return load<u32>(at) === returns;
  if (first === backslash && second === 0x6e) return before === tant || before === capitals || before === odel;
  // `\u003c`
  if (first === backslash) return second === 0x75 && (load<u32>(at + 2) | 0x20000000) === 0x63333030;
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
    word === human
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
/** `## R` */
const returns: u32 = 0x52202323;
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
const user: u32 = 0xe6a894e7;
const sentenceEnd: u32 = 0x3e732f;
