/** The body of a request: ranges of the input, spliced as they stand, streamed in chunks and held against their checksums. */
import { crc32 } from "node:zlib";
import type { StreamedBody } from "../client/index.ts";
import { Failure } from "../failure.ts";
import { groupClosing, groupOpening } from "./group.ts";
import type { Frame, PlannedRequest } from "./plan.ts";
import type { Reading } from "./read.ts";
import type { Source } from "./source.ts";

/** Bytes handed over at once: few writes, and memory holds a few of them. */
const chunkBytes = 2 ** 18;

/** Bytes read ahead where parts stand one behind the other. */
const windowBytes = 2 ** 20;

/** Bytes read around a part that stands by itself. */
const aloneBytes = 2 ** 14;

/** The body of a planned request; it can be streamed as often as it is tried. */
export const bodyOf = (reading: Reading, frame: Frame, request: PlannedRequest): StreamedBody => ({
  length: request.bytes,
  chunks: () => chunksOf(reading, frame, request),
});

/** @throws Failure `input-changed` before the last byte, where what is read is not what was checked */
async function* chunksOf(
  { sources, groups, found }: Reading,
  { opening, closing }: Frame,
  request: PlannedRequest,
): AsyncGenerator<Uint8Array, void> {
  const chunks = new Chunks();
  const window = new Window();
  chunks.add(opening);
  for (const [position, group] of request.groups.entries()) {
    const own = groups.partsOf(group);
    const bare = found.parts.at(own[0] ?? 0).kind === "trajectory";
    if (position > 0) chunks.add(comma);
    if (bare) chunks.add(groupOpening);
    for (const [at, part] of own.entries()) {
      if (at > 0) chunks.add(comma);
      const { source: input, start, length, checksum } = found.parts.at(part);
      const source = sources[input];
      if (source === undefined) throw new RangeError(`no source ${input}`);
      let sum = 0;
      for (let from = 0; from < length; from += windowBytes) {
        const piece = { start: start + from, length: Math.min(windowBytes, length - from) };
        if (!window.holds(source, piece)) await window.moveTo(source, piece);
        const bytes = window.bytes(piece);
        sum = crc32(bytes, sum);
        // All of a part is read before the last of it leaves, so that a changed file can't be sent whole.
        const isLast = from + windowBytes >= length;
        if (bytes.length < piece.length || (isLast && sum !== checksum)) {
          throw new Failure("input-changed", { file: source.name });
        }
        chunks.add(bytes);
        if (chunks.areFull) yield* chunks.full();
      }
    }
    if (bare) chunks.add(groupClosing);
  }
  chunks.add(closing);
  yield* chunks.rest();
}

const comma = Buffer.from(",");

/** Small pieces on their way to be large ones. */
class Chunks {
  #bytes = Buffer.allocUnsafeSlow(chunkBytes);
  #filled = 0;
  #full: Uint8Array[] = [];

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + chunkBytes - this.#filled);
      this.#bytes.set(piece, this.#filled);
      this.#filled += piece.length;
      from += piece.length;
      if (this.#filled < chunkBytes) continue;
      this.#full.push(this.#bytes);
      // Whoever sends a chunk may hold it longer than the next one takes.
      this.#bytes = Buffer.allocUnsafeSlow(chunkBytes);
      this.#filled = 0;
    }
  }

  /** Whether there is one to be sent. */
  get areFull(): boolean {
    return this.#full.length > 0;
  }

  /** Those that are full. */
  full(): readonly Uint8Array[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** Those that are left. */
  rest(): readonly Uint8Array[] {
    return [...this.full(), this.#bytes.subarray(0, this.#filled)];
  }
}

interface Piece {
  readonly start: number;
  readonly length: number;
}

/** A piece of a source in memory, which moves along. */
class Window {
  readonly #bytes = Buffer.allocUnsafeSlow(windowBytes);
  #source: Source | undefined;
  #start = 0;
  #length = 0;

  /** Whether a piece is in it. */
  holds(source: Source, { start, length }: Piece): boolean {
    return source === this.#source && start >= this.#start && start + length <= this.#start + this.#length;
  }

  /** Moves to a piece of at most `windowBytes`, and reads ahead where it follows what was there. */
  async moveTo(source: Source, { start, length }: Piece): Promise<void> {
    const end = this.#start + this.#length;
    const follows = source === this.#source && start >= this.#start && start <= end + aloneBytes;
    const wanted = follows || this.#source === undefined ? windowBytes : Math.max(length, aloneBytes);
    this.#length = await source.bytes.read(this.#bytes.subarray(0, wanted), start);
    this.#source = source;
    this.#start = start;
  }

  /** The bytes of a piece, valid until it moves on; fewer where there are no more. */
  bytes({ start, length }: Piece): Buffer {
    const from = start - this.#start;
    return this.#bytes.subarray(from, Math.min(from + length, this.#length));
  }
}
