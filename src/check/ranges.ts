/** Cuts a source into ranges of whole lines, and reads one of them. */
import { nothingFound, type PackedFound, packFound } from "../groups/parts/found.ts";
import { blocksOf, type Source } from "../input/index.ts";
import { newline } from "../json/walk.ts";
import { Scan, type ScanOptions } from "./scan.ts";

/** Offsets at which a source is cut. A range is the lines that begin between two cuts. A line begins at the first cut. */
export type Cuts = Float64Array;

/** The last ranges are shorter by this factor at most, so that no thread waits long for the others. */
const shortened = 8;

/** Cuts a source from a line on. Steps are shorter if less is left than all threads have to read. */
export const cutsOf = ({
  start,
  size,
  stepBytes,
  threads,
}: {
  readonly start: number;
  readonly size: number;
  readonly stepBytes: number;
  readonly threads: number;
}): Cuts => {
  const cuts = [start];
  for (let at = start; at < size; cuts.push(at)) {
    const share = Math.ceil((size - at) / (2 * threads));
    at = Math.min(size, at + Math.max(Math.min(stepBytes, share), Math.ceil(stepBytes / shortened)));
  }
  return Float64Array.from(cuts);
};

/** What was found in a range; its lines are counted from 1. */
export interface RangeFound {
  readonly found: PackedFound;
  readonly lines: number;
  /** Offset after its last line. */
  readonly end: number;
}

/** A range, or nothing if it contains, or ends next to, a line that is too long to be read in ranges. */
export interface RangeResult {
  readonly position: number;
  readonly range: RangeFound | undefined;
}

/** The ranges of a source. The next one that no thread has taken is counted in memory that threads share. */
export interface Ranges {
  readonly cuts: Cuts;
  readonly next: Int32Array;
}

/**
 * Reads ranges for as long as there are any that no other thread has taken.
 * @throws Shrunk; the signal's reason
 */
export async function* scanRanges(
  source: Source,
  { cuts, next, ...options }: ScanOptions & Ranges,
): AsyncGenerator<RangeResult, void> {
  const take = (): number => Atomics.add(next, 0, 1);
  const buffers: Buffer[] = [];
  let enough: ReadonlySet<string> = new Set();
  const read = async (position: number): Promise<RangeFound | undefined> => {
    const [from = 0, to = 0] = cuts.subarray(position, position + 2);
    const start = position === 0 ? from : await lineFrom(source, from);
    const end = await lineFrom(source, to);
    if (start === undefined || end === undefined) return undefined;
    const scan = new Scan(source, { ...options, found: nothingFound(options.judgement, { ...options, enough }) });
    for await (const block of blocksOf(source.bytes, { start, end, memory: buffers })) {
      options.signal.throwIfAborted();
      if (block.kind !== "lines") return undefined;
      scan.takeLines(block);
    }
    enough = scan.found.problems.enough;
    return { found: packFound(scan.found), lines: scan.lines, end };
  };
  for (let position = take(); position < cuts.length - 1; position = take()) {
    yield { position, range: await read(position) };
  }
}

/** Bytes of the longest line in a range. One thread reads longer lines, to save memory. */
const maxLineBytes = 2 ** 20;

/** Bytes that most lines end within. */
const lookBytes = 2 ** 14;

/** Offset of the first line that begins at `from` or after it; undefined if the line before is too long. */
const lineFrom = async ({ bytes }: Source, from: number): Promise<number | undefined> => {
  if (from >= bytes.size) return bytes.size;
  const look = Buffer.allocUnsafe(lookBytes);
  // A line begins at `from` if the byte before it ends one.
  for (let at = from - 1; at < from + maxLineBytes; at += lookBytes) {
    const read = await bytes.read(look, at);
    const end = look.subarray(0, read).indexOf(newline);
    if (end >= 0) return at + end + 1;
    if (read < look.length) return bytes.size;
  }
  return undefined;
};
