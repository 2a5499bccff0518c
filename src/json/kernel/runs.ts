/** Finds long runs of the characters that names, ids and keys are made of: letters, digits, `_`, `-` and `.`. */
import { byteAt } from "./bytes";

/** Bits by the halves of a byte: it is such a character if both have one in common. */
const byLow: usize = memory.data<u8>([26, 30, 30, 30, 30, 30, 30, 30, 30, 30, 28, 4, 4, 5, 5, 12]);
const byHigh: usize = memory.data<u8>([0, 0, 1, 2, 4, 8, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0]);

/** Bytes of which some, side by side, are half of a step if a run is at least twice as long. */
const stepBytes: usize = 16;

function isRunByte(byte: u32): bool {
  return (load<u8>(byLow + usize(byte & 15)) & load<u8>(byHigh + usize(byte >> 4))) !== 0;
}

/** Where the first run of at least so many bytes begins, 16 or more; the end if there is none. */
export function findRun(from: usize, end: usize, length: usize): usize {
  const low = v128.load(byLow);
  const high = v128.load(byHigh);
  let at = from;
  while (at < end) {
    const bytes = v128.load(at);
    const kinds = v128.and(
      i8x16.swizzle(low, v128.and(bytes, i8x16.splat(15))),
      i8x16.swizzle(high, i8x16.shr_u(bytes, 4)),
    );
    const others = u32(i8x16.bitmask(i8x16.eq(kinds, i8x16.splat(0))));
    // A run of 16 bytes contains eight side by side that are half of a step.
    if ((others & 0xff) !== 0 && (others & 0xff00) !== 0) {
      at += stepBytes;
      continue;
    }
    let start = (others & 0xff) === 0 ? at : at + 8;
    let behind = start + 8;
    while (start > from && isRunByte(byteAt(start - 1))) start--;
    while (behind < end && isRunByte(byteAt(behind))) behind++;
    if (behind - start >= length) return start;
    at = behind;
  }
  return end;
}
