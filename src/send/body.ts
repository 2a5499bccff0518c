/** Reads the body of a request from the input in chunks, compares it with the checksums, and compresses it. */
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { type Dataset, groupClosing, groupOpening } from "../groups/index.ts";
import { inputChanged } from "../input/index.ts";
import { comma as commaByte } from "../json/walk.ts";
import { compressionUnsupported } from "./failures.ts";
import type { PlannedRequest, RequestEnvelope } from "./plan.ts";

/** Large enough for few writes, and small enough for the processor's cache. */
const chunkBytes = 2 ** 19;

/** Parts that are at most this far apart are read together, which is faster than two reads. */
const maxGapBytes = 2 ** 14;

/** After this many bytes, signals, replies and the socket get a turn. Each read counts as additional bytes. */
const maxBytesBetweenTurns = 2 ** 20;
const readCostBytes = 2 ** 15;

interface BodyContents {
  readonly envelope: RequestEnvelope;
  readonly request: PlannedRequest;
  readonly maxChunkBytes?: number;
}

/**
 * Yields the chunks of a body, each valid until the next one. A part is compared with its checksum before its last byte
 * is yielded, so a changed file cannot be sent completely. @throws Failure `input-changed`
 */
export async function* readBody(
  dataset: Dataset,
  { envelope, request, maxChunkBytes = chunkBytes }: BodyContents,
): AsyncGenerator<Uint8Array, void> {
  const { parts } = dataset.found;
  const chunk = Buffer.allocUnsafeSlow(Math.min(maxChunkBytes, request.bytes));
  const reader = openPartReader(dataset, chunk);
  let filled = 0;
  for (const piece of listPieces(dataset, { envelope, request })) {
    const isPart = typeof piece === "number";
    const length = isPart ? parts.columns.length.at(piece) : piece.length;
    if (filled + length > chunk.length && filled > 0) {
      await reader.readAdded();
      yield chunk.subarray(0, filled);
      filled = 0;
    }
    if (length > chunk.length) {
      if (isPart) yield* reader.readLarge(piece);
      else for (let at = 0; at < length; at += chunk.length) yield piece.subarray(at, at + chunk.length);
      continue;
    }
    if (isPart) reader.add(piece, filled);
    else chunk.set(piece, filled);
    filled += length;
  }
  await reader.readAdded();
  yield chunk.subarray(0, filled);
}

/** Compares all parts of a source with their checksums. @throws Failure `input-changed` */
export const verifySource = async (dataset: Dataset, source: number): Promise<void> => {
  const { parts } = dataset.found;
  const reader = openPartReader(dataset, Buffer.allocUnsafeSlow(chunkBytes));
  for (let part = 0; part < parts.count; part++) {
    if (parts.columns.source.at(part) !== source) continue;
    const pieces = reader.readLarge(part);
    while (!(await pieces.next()).done);
  }
};

const comma = Buffer.of(commaByte);

/** Yields the pieces of a body: bytes, and numbers of parts. */
function* listPieces(
  { groups, found: { parts } }: Dataset,
  { envelope, request }: Pick<BodyContents, "envelope" | "request">,
): Generator<Uint8Array | number, void> {
  yield envelope.opening;
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
  yield envelope.closing;
}

/** Opens a reader of parts into a chunk. */
const openPartReader = ({ sources, found: { parts } }: Dataset, chunk: Buffer) => {
  const { source: sourceOf, start: startOf, length: lengthOf, checksum: checksumOf } = parts.columns;
  /** Parts to read, and their positions in the chunk. */
  const added: number[] = [];
  const positions: number[] = [];
  /** Memory for parts that are adjacent in the body but not in the input. */
  let scattered: Buffer | undefined;
  let bytesSinceTurn = 0;

  /** Reads bytes of a part's source synchronously, which is faster for bytes in the system's cache. */
  const readBytes = async (part: number, { from, into }: { readonly from: number; readonly into: Buffer }) => {
    const source = sources[sourceOf.at(part)];
    if (source === undefined || source.bytes.readSync(into, from) < into.length) throw changed(part);
    bytesSinceTurn += into.length + readCostBytes;
    if (bytesSinceTurn < maxBytesBetweenTurns) return;
    bytesSinceTurn = 0;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const changed = (part: number) => inputChanged(sources[sourceOf.at(part)]?.name ?? "the input");

  /**
   * Finds the added parts from `first` on that can be read together. Parts are a row if one byte is between them in
   * both the source and the chunk. A row is read directly to its positions, and the byte becomes a comma.
   */
  const findReadableRange = (first: number) => {
    const part = added[first] ?? 0;
    const [source, start] = [sourceOf.at(part), startOf.at(part)];
    let isRow = true;
    for (let [end, after] = [first + 1, start + lengthOf.at(part)]; ; end++) {
      const next = added[end];
      const nextStart = next === undefined ? 0 : startOf.at(next);
      const nextAfter = next === undefined ? 0 : nextStart + lengthOf.at(next);
      const isNear = nextStart >= after && nextStart <= after + maxGapBytes && nextAfter - start <= chunk.length;
      if (next === undefined || sourceOf.at(next) !== source || !isNear) return { part, end, start, after, isRow };
      isRow &&= nextStart === after + 1 && (positions[end] ?? 0) - (positions[first] ?? 0) === nextStart - start;
      after = nextAfter;
    }
  };

  return {
    add: (part: number, position: number): void => {
      added.push(part);
      positions.push(position);
    },

    /** Reads all added parts. @throws Failure `input-changed` */
    readAdded: async (): Promise<void> => {
      for (let first = 0; first < added.length; ) {
        const { part, end, start, after, isRow } = findReadableRange(first);
        if (!isRow) scattered ??= Buffer.allocUnsafeSlow(chunk.length);
        const memory = (isRow ? undefined : scattered) ?? chunk;
        const base = isRow ? (positions[first] ?? 0) : 0;
        await readBytes(part, { from: start, into: memory.subarray(base, base + after - start) });
        for (; first < end; first++) {
          const at = added[first] ?? 0;
          const position = positions[first] ?? 0;
          // `Buffer.subarray` takes twice as long.
          const own = new Uint8Array(memory.buffer, base + startOf.at(at) - start, lengthOf.at(at));
          if (zlib.crc32(own) !== checksumOf.at(at)) throw changed(at);
          if (!isRow) chunk.set(own, position);
          else if (position > base) chunk[position - 1] = commaByte;
        }
      }
      added.length = 0;
      positions.length = 0;
    },

    /** Yields a part of any size in pieces. @throws Failure `input-changed` before the last piece */
    async *readLarge(part: number): AsyncGenerator<Uint8Array, void> {
      const start = startOf.at(part);
      const end = start + lengthOf.at(part);
      let checksum = 0;
      for (let from = start; from < end; from += chunk.length) {
        const into = chunk.subarray(0, end - from);
        await readBytes(part, { from, into });
        checksum = zlib.crc32(into, checksum);
        if (from + into.length === end && checksum !== checksumOf.at(part)) throw changed(part);
        yield into;
      }
    },
  };
};

/** The values of `Content-Encoding`. */
export type Compression = "gzip" | "zstd";

const compressorNames = { gzip: "createGzip", zstd: "createZstdCompress" } as const;

const maxPieceBytes = 2 ** 18;

/** Opens a compressor. @throws Failure `compression-unsupported` */
export const openCompressor = (compression: Compression): Transform => {
  // Node 22.15, 23.8 and newer have zstd. The types are those of the oldest supported Node.
  const make: unknown = Reflect.get(zlib, compressorNames[compression]);
  const compressor: unknown = typeof make === "function" ? make({ chunkSize: maxPieceBytes }) : undefined;
  if (!(compressor instanceof Transform)) throw compressionUnsupported(compression);
  return compressor;
};

/** Compresses a body in memory, so that its length is known and each attempt sends the same bytes. */
export const compress = async (chunks: AsyncIterable<Uint8Array>, compression: Compression) => {
  // The next chunk reuses the memory of a chunk.
  const copies = async function* () {
    for await (const chunk of chunks) yield Buffer.from(chunk);
  };
  const pieces: Buffer[] = [];
  await pipeline(copies, openCompressor(compression), async (compressed: AsyncIterable<Buffer>) => {
    for await (const piece of compressed) pieces.push(piece);
  });
  return pieces;
};
