/** The body of a request: ranges of the input, spliced as they stand, streamed in chunks and held against their checksums. */
import { crc32 } from "node:zlib";
import type { StreamedBody } from "../client/index.ts";
import { Failure } from "../failure.ts";
import type { Part } from "./columns.ts";
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
  const chunk = new Chunk();
  const window = new Window();
  yield* chunk.add(opening);
  let between: Uint8Array = nothing;
  for (const group of request.groups) {
    yield* chunk.add(between);
    between = comma;
    let separator: Uint8Array = nothing;
    const own = groups.partsOf(group);
    const bare = found.parts.at(own[0] ?? 0).kind === "trajectory";
    if (bare) yield* chunk.add(groupOpening);
    for (const at of own) {
      const part = found.parts.at(at);
      const source = sources[part.source];
      if (source === undefined) throw new RangeError(`no source ${part.source}`);
      yield* chunk.add(separator);
      separator = comma;
      yield* checked(window, { source, part, chunk });
    }
    if (bare) yield* chunk.add(groupClosing);
  }
  yield* chunk.add(closing);
  yield* chunk.rest();
}

const comma = Buffer.from(",");
const nothing = Buffer.alloc(0);

/** Adds a part's bytes. They are all read before the last of them leaves, so that a changed file can't be sent whole. */
async function* checked(
  window: Window,
  { source, part, chunk }: { readonly source: Source; readonly part: Part; readonly chunk: Chunk },
): AsyncGenerator<Uint8Array, void> {
  let checksum = 0;
  for (let from = 0; from < part.length; ) {
    const length = Math.min(chunkBytes, part.length - from);
    const bytes = await window.read(source, { start: part.start + from, length });
    checksum = crc32(bytes, checksum);
    from += length;
    if (bytes.length < length || (from >= part.length && checksum !== part.checksum)) {
      throw new Failure("input-changed", { file: source.name });
    }
    yield* chunk.add(bytes);
  }
}

/** Small pieces on their way to be one chunk. */
class Chunk {
  #bytes = Buffer.allocUnsafeSlow(chunkBytes);
  #filled = 0;

  *add(bytes: Uint8Array): Generator<Uint8Array, void> {
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + chunkBytes - this.#filled);
      this.#bytes.set(piece, this.#filled);
      this.#filled += piece.length;
      from += piece.length;
      if (this.#filled === chunkBytes) yield* this.rest();
    }
  }

  *rest(): Generator<Uint8Array, void> {
    if (this.#filled > 0) yield this.#bytes.subarray(0, this.#filled);
    // Whoever sends a chunk may hold it longer than the next one takes.
    this.#bytes = Buffer.allocUnsafeSlow(chunkBytes);
    this.#filled = 0;
  }
}

/** A piece of a source in memory, which moves along. */
class Window {
  readonly #bytes = Buffer.allocUnsafeSlow(windowBytes);
  #source: Source | undefined;
  #start = 0;
  #length = 0;

  /** The bytes of a range, valid until the next one is read; fewer where there are no more. */
  async read(source: Source, { start, length }: { readonly start: number; readonly length: number }): Promise<Buffer> {
    const end = this.#start + this.#length;
    if (source !== this.#source || start < this.#start || start + length > end) {
      const follows = source === this.#source && start >= this.#start && start <= end + aloneBytes;
      const wanted = follows || this.#source === undefined ? windowBytes : Math.max(length, aloneBytes);
      this.#length = await source.bytes.read(this.#bytes.subarray(0, wanted), start);
      this.#source = source;
      this.#start = start;
    }
    const from = start - this.#start;
    return this.#bytes.subarray(from, Math.min(from + length, this.#length));
  }
}
