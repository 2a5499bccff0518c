/** Where many parts stand, and what they are held against: asked for one by one, that would take longer than sending them. */
import type { NarrowNumbers } from "./narrow.ts";
import type { Numbers } from "./numbers.ts";

/** Parts that are placed at once. */
export const mostPlaced = 2048;

/** Columns of the index. */
interface PlacedColumns {
  readonly source: NarrowNumbers;
  readonly start: NarrowNumbers;
  readonly length: NarrowNumbers;
  readonly flags: NarrowNumbers;
  readonly checksum: Numbers;
}

/** The facts of up to `mostPlaced` parts, side by side in columns that are used again. */
export class Placed {
  readonly sources = new Float64Array(mostPlaced);
  readonly starts = new Float64Array(mostPlaced);
  readonly lengths = new Float64Array(mostPlaced);
  readonly flags = new Float64Array(mostPlaced);
  /** CRC-32 of the parts' bytes, as signed numbers. */
  readonly checksums = new Int32Array(mostPlaced);

  /** Takes the facts of parts, in the order given. */
  fill(parts: Uint32Array, { source, start, length, flags, checksum }: PlacedColumns): void {
    const { length: count } = parts;
    const [first = 0] = parts;
    if (isRow(parts)) {
      source.read(first, this.sources.subarray(0, count));
      start.read(first, this.starts.subarray(0, count));
      length.read(first, this.lengths.subarray(0, count));
      flags.read(first, this.flags.subarray(0, count));
      this.checksums.set(checksum.values(first, first + count));
      return;
    }
    for (let at = 0; at < count; at++) {
      const part = parts[at] ?? 0;
      this.sources[at] = source.at(part);
      this.starts[at] = start.at(part);
      this.lengths[at] = length.at(part);
      this.flags[at] = flags.at(part);
      this.checksums[at] = checksum.at(part);
    }
  }
}

/** Whether positions stand one behind the other, as nearly all do. */
export const isRow = (positions: Uint32Array): boolean => {
  const [first = 0] = positions;
  const { length } = positions;
  if (length > 0 && positions[length - 1] !== first + length - 1) return false;
  for (let at = 0; at < length; at++) if (positions[at] !== first + at) return false;
  return true;
};
