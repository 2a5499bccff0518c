/** Computes the columns that messages show, by reading the line again. */
import { bomLength, maxBomLength, newline } from "../json/walk.ts";
import { type Bytes, type Position, ShrunkSourceError } from "./source.ts";

/** Bytes per read. */
const stepBytes = 2 ** 16;

/**
 * Counts the UTF-16 units between the start of a line and a byte in it. Continues from the last call for the same line, because
 * a line can have a million elements. @throws ShrunkSourceError
 */
export const countUnitsBefore = (source: Bytes, { line, start }: Position): number => {
  const last = source.lastColumn;
  const from = last?.line === line && last.at <= start ? last : { at: findLineStart(source, start), units: 0 };
  const units = from.units + countUnits(source, from.at, start);
  source.lastColumn = { line, at: start, units };
  return units;
};

/** Offset of the first byte of a line, after a byte order mark. */
const findLineStart = (source: Bytes, at: number): number => {
  for (let from = at; from > 0; ) {
    const length = Math.min(stepBytes, from);
    const end = readExactly(source, from - length, length).lastIndexOf(newline);
    if (end >= 0) return from - length + end + 1;
    from -= length;
  }
  return at < maxBomLength ? 0 : bomLength(readExactly(source, 0, maxBomLength));
};

/** Counts one unit per character, and two if it has four bytes. */
const countUnits = (source: Bytes, from: number, to: number): number => {
  let units = 0;
  for (let at = from; at < to; at += stepBytes) {
    for (const byte of readExactly(source, at, Math.min(stepBytes, to - at))) {
      if (byte < 0x80 || byte >= 0xc0) units += byte >= 0xf0 ? 2 : 1;
    }
  }
  return units;
};

const readExactly = (source: Bytes, start: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  if (source.readSync(bytes, start) < length) throw new ShrunkSourceError();
  return bytes;
};
