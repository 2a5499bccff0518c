/** Decompresses gzip and zstd streams. */
import { pipeline, Transform } from "node:stream";
import { getErrorCode } from "../../system/files.ts";
import { findZlibFunction } from "../../system/host.ts";
import { corruptData, UnusableInput } from "./failures.ts";

type Chunks = AsyncIterable<Uint8Array>;

/** Returns a function that throws UnusableInput and the stream's errors. */
export const findDecompressor = (head: Uint8Array) => {
  if (head[0] === 0x1f && head[1] === 0x8b) return gunzip;
  if (head.length < 4) return undefined;
  const magic = Buffer.from(head).readUInt32LE(0);
  return magic === frameMagic || isSkippableFrame(magic) ? unzstd : undefined;
};

const chunkBytes = 2 ** 18;

const decode = (compressed: Chunks, decoder: Transform) => pipeline(compressed, decoder, () => undefined);

async function* gunzip(compressed: Chunks) {
  const { createGunzip } = await import("node:zlib");
  const decoder = createGunzip({ chunkSize: chunkBytes });
  let size = 0;
  /** The offset after the last byte that is not NUL, because NUL bytes can pad the data. */
  let contentEnd = 0;
  const measureContent = async function* () {
    for await (const chunk of compressed) {
      const last = chunk.findLastIndex((byte) => byte !== 0);
      if (last >= 0) contentEnd = size + last + 1;
      size += chunk.length;
      yield chunk;
    }
  };
  try {
    yield* decode(measureContent(), decoder);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (!code.startsWith("Z_")) throw thrown;
    throw corruptData("gzip", code === "Z_BUF_ERROR" ? "cut" : "corrupt", thrown);
  }
  // Node ignores data after the last gzip member.
  if (contentEnd > decoder.bytesWritten) throw corruptData("gzip", "more");
}

/** The magic number of a zstd frame with data (RFC 8878, 3.1.1). */
export const frameMagic = 0xfd2fb528;
export const isSkippableFrame = (magic: number) => (magic & 0xfffffff0) >>> 0 === 0x184d2a50;

/**
 * Walks over a zstd frame after the magic number (RFC 8878, 3.1.1). Yields the length of each piece in bytes. The
 * caller passes the piece to `next`. Returns sizes in bytes, or 0 for an undeclared size.
 */
export function* walkFrame(): Generator<number, { window: number; content: number }, Buffer> {
  const descriptor = (yield 1).readUInt8();
  const windowBytes = (descriptor & 0x20) === 0 ? 1 : 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentBytes = [1 - windowBytes, 2, 4, 8][descriptor >> 6] ?? 0;
  const header = yield windowBytes + dictionaryBytes + contentBytes;
  for (let isLast = false; !isLast; ) {
    const block = (yield 3).readUIntLE(0, 3);
    isLast = (block & 1) === 1;
    const type = (block >> 1) & 3;
    if (type === 3) throw corruptData("zstd", "corrupt");
    // A block of type 1 repeats one byte.
    yield type === 1 ? 1 : block >> 3;
  }
  if ((descriptor & 4) !== 0) yield 4;
  const window = windowBytes === 0 ? 0 : header.readUInt8();
  return {
    window: windowBytes === 0 ? 0 : 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8),
    content: contentSize(header.subarray(windowBytes + dictionaryBytes)),
  };
}

/** A field of two bytes contains the size minus 256 (RFC 8878, 3.1.1.1.4). */
const contentSize = (field: Buffer) => {
  if (field.length === 8) return Number(field.readBigUInt64LE());
  return field.length === 0 ? 0 : field.readUIntLE(0, field.length) + (field.length === 2 ? 256 : 0);
};

const zstdUnsupported = () =>
  new UnusableInput("not-json", {
    kind: "zstd, which this version of Node cannot decompress",
    instead: "use Node 22.15, 23.8 or newer, or decompress the file: zstd -d",
  });

/** Decodes each frame separately, because Node's decoder stops after a frame. */
async function* unzstd(compressed: Chunks) {
  const reader = readPieces(compressed);
  for (;;) {
    const start = await reader.read(4);
    if (start.length === 0) return;
    const magic = start.length < 4 ? 0 : start.readUInt32LE(0);
    if (magic === frameMagic) yield* decodeFrame(reader, start);
    else if (isSkippableFrame(magic)) {
      const length = (await reader.readExactly(4)).readUInt32LE(0);
      for (let left = length; left > 0; ) left -= (await reader.readExactly(Math.min(left, skippedPieceBytes))).length;
    } else {
      for (let bytes = start; bytes.length > 0; bytes = await reader.read(skippedPieceBytes)) {
        if (bytes.some((byte) => byte !== 0)) throw corruptData("zstd", "more");
      }
      return;
    }
  }
}

const skippedPieceBytes = 2 ** 16;

async function* decodeFrame(reader: ReturnType<typeof readPieces>, magic: Buffer) {
  const frame = async function* () {
    yield magic;
    const walk = walkFrame();
    for (let step = walk.next(); step.done !== true; ) {
      const piece = await reader.readExactly(step.value);
      yield piece;
      step = walk.next(piece);
    }
  };
  try {
    yield* decode(frame(), openZstdDecoder());
  } catch (thrown) {
    throw /^Z(?:STD)?_/.test(getErrorCode(thrown)) ? corruptData("zstd", "corrupt", thrown) : thrown;
  }
}

/** The number of `ZSTD_d_windowLogMax` in zstd.h. */
const windowLogParameter = 100;
/** Files of `zstd --long=31` need a window of 2^31 bytes. */
const maxWindowLog = 31;

const openZstdDecoder = () => {
  // Node before 22.15, and Node 23 before 23.8, lack this function.
  const create = findZlibFunction("createZstdDecompress");
  if (typeof create !== "function") throw zstdUnsupported();
  const decoder: unknown = create({ chunkSize: chunkBytes, params: { [windowLogParameter]: maxWindowLog } });
  if (!(decoder instanceof Transform)) throw zstdUnsupported();
  return decoder;
};

export const readPieces = (chunks: Chunks) => {
  const iterator = chunks[Symbol.asyncIterator]();
  let unread: Uint8Array = new Uint8Array();
  const read = async (length: number) => {
    const pieces: Uint8Array[] = [];
    for (let missing = length; missing > 0; ) {
      if (unread.length === 0) {
        const next = await iterator.next();
        if (next.done) break;
        unread = next.value;
      }
      const piece = unread.subarray(0, missing);
      unread = unread.subarray(piece.length);
      missing -= piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  };
  return {
    read,
    async *rest() {
      if (unread.length > 0) yield unread;
      yield* { [Symbol.asyncIterator]: () => iterator };
    },
    /** @throws UnusableInput if the zstd data ends too early */
    async readExactly(length: number) {
      const bytes = await read(length);
      if (bytes.length < length) throw corruptData("zstd", "cut");
      return bytes;
    },
  };
};
