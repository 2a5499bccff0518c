/** Finds the starts of marks with which chat templates begin turns. */
import { backslash, byteAt } from "./bytes";

const lessThan: u32 = 0x3c;
const openBracket: u32 = 0x5b;

const windowBytes: usize = 64;

function isBracket(at: usize): v128 {
  const bytes = v128.load(at);
  // `[` and the backslash are adjacent.
  return v128.or(
    i8x16.eq(bytes, i8x16.splat(i8(lessThan))),
    i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(i8(openBracket))), i8x16.splat(2)),
  );
}

/** Returns the first byte that may begin a mark, or `end`. A mark is `<|…`, `<｜…`, a known word, or escaped. */
export function findTurnMark(from: usize, end: usize): usize {
  for (let at = from; at < end; at += windowBytes) {
    const a = isBracket(at);
    const b = isBracket(at + 16);
    const c = isBracket(at + 32);
    const d = isBracket(at + 48);
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
  // `\u003c`
  if (first === backslash) return second === 0x75 && (load<u32>(at + 2) | 0x20000000) === 0x63333030;
  // `|`, the first byte of `｜`, and the backslash of `\uff5c`.
  if (second === 0x7c || (first === lessThan && (second === 0xef || second === backslash))) return true;
  const word = load<u32>(at + 1);
  if (first === openBracket) return word === insts || word === tools || word === systems || word === available;
  return word === starts || word === extras || word === specials || word === seeds || word === roles;
}

/** Four letters each, little-endian: INST, TOOL, SYST, AVAI, star, extr, SPEC, seed, role. */
const insts: u32 = 0x54534e49;
const tools: u32 = 0x4c4f4f54;
const systems: u32 = 0x54535953;
const available: u32 = 0x49415641;
const starts: u32 = 0x72617473;
const extras: u32 = 0x72747865;
const specials: u32 = 0x43455053;
const seeds: u32 = 0x64656573;
const roles: u32 = 0x656c6f72;
