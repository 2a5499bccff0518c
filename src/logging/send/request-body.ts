/** Reads, checks and compresses the body of a request. */

import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { maxGapBytes, ReadWindow } from "../../rollouts/dataset/group-bytes.ts";
import { getPart } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { groupClosing, groupOpening } from "../../rollouts/index/groups.ts";
import { inputChanged } from "../../rollouts/rules/failures.ts";
import { findZlibFunction } from "../../system/host.ts";
import { compressionUnsupported } from "./failures.ts";
import type { PlannedRequest, RequestEnvelope } from "./plan.ts";

/** Chunks of this size need few writes and fit in the processor's cache. */
const chunkBytes = 2 ** 19;

/** After this many bytes, the event loop gets a turn for signals and answers. */
const maxBytesBetweenTurns = 2 ** 20;
/** The fixed cost of a read, in bytes. */
const readCostBytes = 2 ** 15;

type BodyContents = { envelope: RequestEnvelope; request: PlannedRequest; maxChunkBytes?: number };

/** Each chunk is valid until the next chunk. @throws Failure `input-changed` before the last chunk of a changed part */
export async function* composeBody(dataset: Dataset, { envelope, request, maxChunkBytes = chunkBytes }: BodyContents) {
  const { parts } = dataset.scan;
  const chunk = Buffer.allocUnsafeSlow(Math.min(maxChunkBytes, request.bytes));
  const reader = new PartReader(dataset, chunk.length);
  let filled = 0;
  const subsets = new ReadWindow();
  for (const listed of listPieces(dataset, { envelope, request })) {
    const isSubset = typeof listed === "number" && parts.subsets.has(listed);
    const piece = isSubset ? await subsets.readPart(getPart(dataset, listed)) : listed;
    const isPart = typeof piece === "number";
    const length = isPart ? parts.columns.length.at(piece) : piece.length;
    if (filled + length > chunk.length && filled > 0) {
      yield chunk.subarray(0, filled);
      filled = 0;
    }
    if (length > chunk.length) {
      if (isPart) yield* reader.readLarge(piece);
      else for (let at = 0; at < length; at += chunk.length) yield piece.subarray(at, at + chunk.length);
      continue;
    }
    chunk.set(isPart ? (reader.readNow(piece) ?? (await reader.read(piece))) : piece, filled);
    filled += length;
  }
  yield chunk.subarray(0, filled);
}

/** @throws Failure `input-changed` if a part of the source changed */
export const verifySource = async (dataset: Dataset, source: number) => {
  const { parts } = dataset.scan;
  const reader = new PartReader(dataset, chunkBytes);
  const subsets = new ReadWindow();
  for (let part = 0; part < parts.count; part++) {
    if (parts.columns.source.at(part) !== source) continue;
    if (parts.subsets.has(part)) await subsets.readPart(getPart(dataset, part));
    else for await (const _ of reader.readLarge(part));
  }
};

const comma = Buffer.from(",");

function* listPieces({ groups }: Dataset, { envelope, request }: BodyContents) {
  yield envelope.opening;
  for (const [at, group] of request.groups.entries()) {
    if (at > 0) yield comma;
    if (!groups.isBare(group)) {
      yield groups.firstOf(group);
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
  yield envelope.closing;
}

/** Reads parts through a window. The returned bytes are valid until the next call. */
class PartReader {
  readonly #sources: Dataset["sources"];
  readonly #columns: Dataset["scan"]["parts"]["columns"];
  readonly #window: Buffer;
  #buffered = { source: -1, start: 0, end: 0 };
  #bytesSinceTurn = 0;

  constructor({ sources, scan }: Dataset, windowBytes: number) {
    this.#sources = sources;
    this.#columns = scan.parts.columns;
    this.#window = Buffer.allocUnsafeSlow(windowBytes);
  }

  /** Returns undefined if the window does not have the part. */
  readNow(part: number) {
    const { source, start, length: lengths, checksum } = this.#columns;
    const buffered = this.#buffered;
    const at = start.at(part) - buffered.start;
    const length = lengths.at(part);
    if (buffered.source !== source.at(part) || at < 0 || buffered.start + at + length > buffered.end) return undefined;
    // `Buffer.subarray` takes twice as long.
    const bytes = new Uint8Array(this.#window.buffer, at, length);
    if (zlib.crc32(bytes) !== checksum.at(part)) throw this.#toInputChanged(part);
    return bytes;
  }

  async read(part: number) {
    const buffered = this.#buffered;
    const [source, start] = [this.#columns.source.at(part), this.#columns.start.at(part)];
    const isNext = buffered.source === source && start >= buffered.end && start <= buffered.end + maxGapBytes;
    const into = isNext ? this.#window : this.#window.subarray(0, this.#columns.length.at(part));
    this.#buffered = { source, start, end: start + (await this.#readBytes(part, { from: start, into })) };
    const bytes = this.readNow(part);
    if (!bytes) throw this.#toInputChanged(part);
    return bytes;
  }

  async *readLarge(part: number) {
    const start = this.#columns.start.at(part);
    const end = start + this.#columns.length.at(part);
    this.#buffered = { source: -1, start: 0, end: 0 };
    let checksum = 0;
    for (let from = start; from < end; from += this.#window.length) {
      const into = this.#window.subarray(0, end - from);
      if ((await this.#readBytes(part, { from, into })) < into.length) throw this.#toInputChanged(part);
      checksum = zlib.crc32(into, checksum);
      if (from + into.length === end && checksum !== this.#columns.checksum.at(part)) throw this.#toInputChanged(part);
      yield into;
    }
  }

  /** Synchronous reads are faster if the system has cached the bytes. */
  async #readBytes(part: number, { from, into }: { from: number; into: Buffer }) {
    const count = this.#sources[this.#columns.source.at(part)]?.bytes.read(into, from) ?? 0;
    this.#bytesSinceTurn += into.length + readCostBytes;
    if (this.#bytesSinceTurn >= maxBytesBetweenTurns) {
      this.#bytesSinceTurn = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return count;
  }

  #toInputChanged(part: number) {
    return inputChanged(this.#sources[this.#columns.source.at(part)]?.name ?? "the input");
  }
}

export type Compression = "gzip" | "zstd";

const compressorNames = { gzip: "createGzip", zstd: "createZstdCompress" } as const;
const maxPieceBytes = 2 ** 18;

export const openCompressor = (compression: Compression) => {
  // The types of the oldest supported Node lack zstd.
  const make = findZlibFunction(compressorNames[compression]);
  const compressor: unknown = typeof make === "function" ? make({ chunkSize: maxPieceBytes }) : undefined;
  if (!(compressor instanceof Transform)) throw compressionUnsupported(compression);
  return compressor;
};

/** Compresses in memory, so that the length is known and all attempts send the same bytes. */
export const compress = async (chunks: AsyncIterable<Uint8Array>, compression: Compression) => {
  // `composeBody` reuses the memory of each chunk.
  const copies = async function* () {
    for await (const chunk of chunks) yield Buffer.from(chunk);
  };
  const pieces: Buffer[] = [];
  await pipeline(copies, openCompressor(compression), async (compressed: AsyncIterable<Buffer>) => {
    for await (const piece of compressed) pieces.push(piece);
  });
  return pieces;
};
