/** The body of a request: ranges of the input, spliced as they stand, streamed in chunks and held against their checksums. */
import { crc32 } from "node:zlib";
import type { StreamedBody } from "../client/index.ts";
import type { Failure } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import { groupClosing, groupOpening } from "../groups/index.ts";
import { inputChanged } from "../input/source.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

/** Bytes handed over at once: few writes, and all of them still in the processor's cache. */
const chunkBytes = 2 ** 19;

/** What lies between two parts is read along up to this many bytes, which takes less time than a second read. */
const mostBetween = 2 ** 14;

/** After as many bytes everything else gets its turn: signals, answers, the socket. A read counts as some more. */
const bytesBetweenTurns = 2 ** 20;
const bytesOfRead = 2 ** 15;

/** What a body is made of. */
interface Spliced {
  readonly frame: Frame;
  readonly request: PlannedRequest;
  /** The largest chunk. */
  readonly room?: number;
}

/** Who is told of the bytes of a body. */
export interface BodyTold {
  /** Asked before bytes are handed over; what it throws ends the request. */
  readonly beforeBytes: () => void;
  /** Told of bytes that were handed over. */
  readonly onBytes: (bytes: number) => void;
}

/** The body of a planned request; it can be streamed as often as it is tried. */
export const bodyOf = (reading: Reading, { beforeBytes, onBytes, ...spliced }: Spliced & BodyTold): StreamedBody => ({
  length: spliced.request.bytes,
  async *chunks() {
    for await (const chunk of chunksOf(reading, spliced)) {
      beforeBytes();
      yield chunk;
      onBytes(chunk.length);
    }
  },
});

/**
 * The chunks of a body, each valid until the next one is asked for.
 * All of a part is read before its last byte is given, so that a changed file can't be sent whole.
 * @throws Failure `input-changed`, where what is read is not what was checked
 */
export async function* chunksOf(
  reading: Reading,
  { frame, request, room = chunkBytes }: Spliced,
): AsyncGenerator<Uint8Array, void> {
  const { parts } = reading.found;
  const chunk = Buffer.allocUnsafeSlow(Math.min(room, request.bytes));
  const reader = new PartReader(reading, chunk);
  let filled = 0;
  for (const piece of piecesOf(reading, { frame, request })) {
    const length = typeof piece === "number" ? parts.columns.length.at(piece) : piece.length;
    if (filled + length > chunk.length && filled > 0) {
      await reader.read();
      yield chunk.subarray(0, filled);
      filled = 0;
    }
    if (length > chunk.length) {
      if (typeof piece === "number") yield* reader.readLarge(piece);
      else for (let at = 0; at < length; at += chunk.length) yield piece.subarray(at, at + chunk.length);
      continue;
    }
    if (typeof piece === "number") reader.place(piece, filled);
    else chunk.set(piece, filled);
    filled += length;
  }
  await reader.read();
  yield chunk.subarray(0, filled);
}

const comma = Buffer.from(",");
const commaByte = 0x2c;

/** A body piece by piece: bytes, and positions of parts. */
function* piecesOf(
  { groups, found: { parts } }: Reading,
  { frame, request }: Pick<Spliced, "frame" | "request">,
): Generator<Uint8Array | number, void> {
  yield frame.opening;
  let between: Uint8Array | undefined;
  for (const group of request.groups) {
    if (between !== undefined) yield between;
    between = comma;
    const first = groups.firstOf(group);
    if (parts.kindOf(first) === "group") {
      yield first;
      continue;
    }
    let opening = groupOpening;
    for (const part of groups.partsOf(group)) {
      yield opening;
      yield part;
      opening = comma;
    }
    yield groupClosing;
  }
  yield frame.closing;
}

/** Reads parts into their places in a chunk. */
class PartReader {
  readonly #reading: Reading;
  readonly #chunk: Buffer;
  /** What is read at once where parts do not stand as they are sent, with what lies between them. */
  #window: Buffer | undefined;
  /** Parts that are not read yet, and their places. */
  readonly #parts: number[] = [];
  readonly #places: number[] = [];
  #bytesSinceTurn = 0;

  constructor(reading: Reading, chunk: Buffer) {
    this.#reading = reading;
    this.#chunk = chunk;
  }

  /** Gives a part a place in the chunk. */
  place(part: number, at: number): void {
    this.#parts.push(part);
    this.#places.push(at);
  }

  /** Reads all parts that have a place, those near each other at once. */
  async read(): Promise<void> {
    const { parts } = this.#reading.found;
    for (let first = 0, end = 0; first < this.#parts.length; first = end) {
      const run = this.#runFrom(first);
      end = run.end;
      const from = parts.columns.start.at(run.part);
      const base = run.isRow ? (this.#places[first] ?? 0) : 0;
      if (!run.isRow) this.#window ??= Buffer.allocUnsafeSlow(this.#chunk.length);
      const memory = (run.isRow ? undefined : this.#window) ?? this.#chunk;
      await this.#readFrom(run.part, { from, into: memory.subarray(base, base + run.behind - from) });
      for (let at = first; at < end; at++) {
        const part = this.#parts[at] ?? 0;
        const place = this.#places[at] ?? 0;
        // Made for every part: `subarray` of a buffer takes twice as long.
        const own = new Uint8Array(
          memory.buffer,
          base + parts.columns.start.at(part) - from,
          parts.columns.length.at(part),
        );
        if (crc32(own) !== parts.columns.checksum.at(part)) throw this.#changed(part);
        if (!run.isRow) this.#chunk.set(own, place);
        else if (at > first) this.#chunk[place - 1] = commaByte;
      }
    }
    this.#parts.length = 0;
    this.#places.length = 0;
  }

  /**
   * The parts that stand one behind the other in a source, from one on, as far as the chunk holds them. They are a row where
   * one byte lies between them there and here, where it is a comma: then they are read into their places.
   */
  #runFrom(first: number): {
    readonly part: number;
    readonly end: number;
    readonly behind: number;
    readonly isRow: boolean;
  } {
    const { parts } = this.#reading.found;
    const part = this.#parts[first] ?? 0;
    const [source, from] = [parts.columns.source.at(part), parts.columns.start.at(part)];
    const shift = (this.#places[first] ?? 0) - from;
    let behind = from + parts.columns.length.at(part);
    let isRow = true;
    for (let end = first + 1; ; end++) {
      const next = this.#parts[end];
      if (next === undefined || parts.columns.source.at(next) !== source) return { part, end, behind, isRow };
      const start = parts.columns.start.at(next);
      const nextBehind = start + parts.columns.length.at(next);
      const isNear = start >= behind && start <= behind + mostBetween && nextBehind - from <= this.#chunk.length;
      if (!isNear) return { part, end, behind, isRow };
      isRow &&= start === behind + 1 && this.#places[end] === start + shift;
      behind = nextBehind;
    }
  }

  /** Reads a part that is larger than the chunk through it. */
  async *readLarge(part: number): AsyncGenerator<Uint8Array, void> {
    const { parts } = this.#reading.found;
    const [start, end] = [parts.columns.start.at(part), parts.columns.start.at(part) + parts.columns.length.at(part)];
    let checksum = 0;
    for (let from = start; from < end; from += this.#chunk.length) {
      const into = this.#chunk.subarray(0, end - from);
      await this.#readFrom(part, { from, into });
      checksum = crc32(into, checksum);
      if (from + into.length === end && checksum !== parts.columns.checksum.at(part)) throw this.#changed(part);
      yield into;
    }
  }

  /** Reads from the source of a part. What was checked a moment ago is in memory still: that goes faster at once. */
  async #readFrom(part: number, { from, into }: { readonly from: number; readonly into: Buffer }): Promise<void> {
    const source = this.#reading.sources[this.#reading.found.parts.columns.source.at(part)];
    if (source === undefined || source.bytes.readNow(into, from) < into.length) throw this.#changed(part);
    this.#bytesSinceTurn += into.length + bytesOfRead;
    if (this.#bytesSinceTurn < bytesBetweenTurns) return;
    this.#bytesSinceTurn = 0;
    await turn();
  }

  #changed(part: number): Failure {
    const source = this.#reading.sources[this.#reading.found.parts.columns.source.at(part)];
    return inputChanged(source?.name ?? "the input");
  }
}

/** Whether all that was read of a source still stands there, whatever its times say. */
export const isStill = async ({ sources, found: { parts } }: Reading, source: number): Promise<boolean> => {
  const bytes = sources[source]?.bytes;
  const chunk = Buffer.allocUnsafeSlow(chunkBytes);
  let sinceTurn = 0;
  for (let part = 0; part < parts.count; part++) {
    if (parts.columns.source.at(part) !== source || bytes === undefined) continue;
    const end = parts.columns.start.at(part) + parts.columns.length.at(part);
    let checksum = 0;
    for (let from = parts.columns.start.at(part); from < end; from += chunk.length) {
      const into = chunk.subarray(0, end - from);
      if (bytes.readNow(into, from) < into.length) return false;
      checksum = crc32(into, checksum);
      sinceTurn += into.length + bytesOfRead;
    }
    if (checksum !== parts.columns.checksum.at(part)) return false;
    if (sinceTurn < bytesBetweenTurns) continue;
    sinceTurn = 0;
    await turn();
  }
  return true;
};

/** Lets everything else have its turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
