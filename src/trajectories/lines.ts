/** Frames bytes into blocks of whole lines, on the byte 0x0A alone; nothing is decoded. */
import type { Bytes } from "./source.ts";

/** Bytes read at once: large enough that reading costs nothing beside parsing, small enough to stay in the cache. */
const blockBytes = 2 ** 20;

const newline = 0x0a;

/** Whole lines, or a line that is too long to be read. */
export type Block =
  | {
      readonly kind: "lines";
      /** Valid until the next block is asked for. */
      readonly bytes: Buffer;
      /** Offset of the first byte in the source. */
      readonly start: number;
      /** Whether these are the last bytes of the range. */
      readonly last: boolean;
    }
  | { readonly kind: "too-long"; readonly start: number };

/** A range of bytes that begins and ends at a line. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The range ended before it should: the file is shorter than it was. */
export class Shrunk extends Error {}

/** The lines of a range, block by block. @throws Shrunk */
export async function* blocksOf(
  source: Bytes,
  { start, end, longest }: Range & { readonly longest: number },
): AsyncGenerator<Block, void> {
  let buffer: Buffer = Buffer.allocUnsafe(Math.min(blockBytes, end - start));
  let base = start;
  let filled = 0;
  let searched = 0;
  while (base + filled < end) {
    if (filled === buffer.length) {
      if (filled > longest) {
        yield { kind: "too-long", start: base };
        base = await behindLine(source, { buffer, start: base + filled, end });
        filled = 0;
        searched = 0;
        continue;
      }
      buffer = grown(buffer, Math.min(buffer.length * 2, longest + 1, end - base));
    }
    const read = await source.read(buffer.subarray(filled, filled + end - base - filled), base + filled);
    if (read === 0) throw new Shrunk();
    filled += read;
    const last = base + filled === end;
    const whole = last ? filled : lastNewline(buffer, searched, filled) + 1;
    searched = filled;
    if (whole === 0) continue;
    yield { kind: "lines", bytes: buffer.subarray(0, whole), start: base, last };
    buffer.copyWithin(0, whole, filled);
    base += whole;
    filled -= whole;
    searched = filled;
  }
}

const grown = (buffer: Buffer, size: number): Buffer => {
  const larger = Buffer.allocUnsafe(size);
  buffer.copy(larger);
  return larger;
};

const lastNewline = (buffer: Buffer, from: number, to: number): number => {
  const at = buffer.subarray(from, to).lastIndexOf(newline);
  return at < 0 ? -1 : from + at;
};

/** Offset behind the next newline, without keeping what stands before it. */
const behindLine = async (
  source: Bytes,
  { buffer, start, end }: Range & { readonly buffer: Buffer },
): Promise<number> => {
  let at = start;
  while (at < end) {
    const read = await source.read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (read === 0) throw new Shrunk();
    const found = buffer.subarray(0, read).indexOf(newline);
    if (found >= 0) return at + found + 1;
    at += read;
  }
  return end;
};
