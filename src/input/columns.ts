/** Counts how far a byte is from the start of its line, for a person: back in the source, and only where somebody asks. */
import { longestMark, markLength, newline } from "../json/walk.ts";
import type { Element } from "./elements.ts";
import { type Bytes, Shrunk } from "./source.ts";

/** Bytes read at once when the start of a line is looked for. */
const stepBytes = 2 ** 16;

/** How far the columns of a line were counted: UTF-16 units from the line's start to a byte. */
interface Counted {
  readonly line: number;
  readonly at: number;
  readonly units: number;
}

/** Of each source, the part that was located last: a line may hold a million of them, and is counted once. */
const countedOf = new WeakMap<Bytes, Counted>();

/** UTF-16 units between the start of a line and a byte in it. @throws Shrunk */
export const unitsBefore = (source: Bytes, { line, start }: Element): number => {
  const last = countedOf.get(source);
  const goesOn = last !== undefined && last.line === line && last.at <= start;
  const from = goesOn ? last : { at: lineStart(source, start), units: 0 };
  const units = from.units + unitsIn(source, from.at, start);
  countedOf.set(source, { line, at: start, units });
  return units;
};

/** Offset of the first byte of the line that a byte stands in, behind a byte order mark. */
const lineStart = (source: Bytes, at: number): number => {
  for (let from = at; from > 0; ) {
    const length = Math.min(stepBytes, from);
    const end = readNow(source, from - length, length).lastIndexOf(newline);
    if (end >= 0) return from - length + end + 1;
    from -= length;
  }
  return at < longestMark ? 0 : markLength(readNow(source, 0, longestMark));
};

/** UTF-16 units of the text between two bytes: one for each character, two where it takes four bytes. */
const unitsIn = (source: Bytes, from: number, to: number): number => {
  let units = 0;
  for (let at = from; at < to; at += stepBytes) {
    for (const byte of readNow(source, at, Math.min(stepBytes, to - at))) {
      if (byte < 0x80 || byte >= 0xc0) units += byte >= 0xf0 ? 2 : 1;
    }
  }
  return units;
};

/** Reads a little that was read before. */
const readNow = (source: Bytes, start: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length);
  if (source.readNow(bytes, start) < length) throw new Shrunk();
  return bytes;
};
