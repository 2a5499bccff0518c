/** Unpacks gzip and zstd, and sees what Node's decoders do not: bytes behind the last member, and frames behind the first. */
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { PackedBroken } from "../check/rules/packed.ts";
import { codeOf } from "../files.ts";

/** Unpacks all of some data. @throws PackedBroken; NoZstd */
type Unpack = (packed: AsyncIterable<Uint8Array>, write: Write) => Promise<void>;
type Write = (chunk: Uint8Array) => Promise<void>;

/** First bytes that say by what data is packed. */
export const packedBytes = 4;

/** What unpacks data that begins with these bytes; undefined where it is not packed. */
export const unpackerOf = (head: Uint8Array): Unpack | undefined =>
  isGzip(head) ? unpackGzip : isZstd(head) ? unpackZstd : undefined;

/** Whether bytes begin as data does that is unpacked. */
export const isPacked = (head: Uint8Array): boolean => unpackerOf(head) !== undefined;

const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

const unpackGzip: Unpack = async (packed, write) => {
  const gunzip = zlib.createGunzip({ chunkSize: 2 ** 18 });
  const tail = new Tail();
  try {
    await decode(tail.through(packed), gunzip, write);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "Z_BUF_ERROR") throw new PackedBroken("gzip", "cut", thrown);
    if (code.startsWith("Z_")) throw new PackedBroken("gzip", "corrupt", thrown);
    throw thrown;
  }
  // Node's decoder leaves out what follows the last member; tapes pad it with NUL bytes.
  if (tail.otherThanPadding(gunzip.bytesWritten)) throw new PackedBroken("gzip", "more");
};

const decode = async (packed: AsyncIterable<Uint8Array>, decoder: Transform, write: Write): Promise<void> =>
  await pipeline(packed, decoder, async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) await write(chunk);
  });

/** Remembers where the last bytes that are no padding were. */
class Tail {
  #total = 0;
  #lastOther = 0;

  async *through(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      let end = chunk.length;
      while (end > 0 && chunk[end - 1] === 0) end--;
      if (end > 0) this.#lastOther = this.#total + end;
      this.#total += chunk.length;
      yield chunk;
    }
  }

  /** Whether anything but NUL stands behind an offset. */
  otherThanPadding(offset: number): boolean {
    return this.#lastOther > offset;
  }
}

/** First bytes of a frame, and of one that holds no data but has a length (its last four bits are anyone's). */
export const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const skippableMask = 0xfffffff0;

/** The largest window that a frame may ask for, as a power of two: the format's own limit for `zstd --long`. */
const longestWindow = 31;

/** Number of `ZSTD_d_windowLogMax` in zstd's own header. */
const windowLogMax = 100;

const isZstd = (head: Uint8Array): boolean => {
  if (head.length < 4) return false;
  const magic = new DataView(head.buffer, head.byteOffset, 4).getUint32(0, true);
  return magic === frameMagic || isSkippable(magic);
};

export const isSkippable = (magic: number): boolean => (magic & skippableMask) >>> 0 === skippableMagic;

/** This Node has no decoder for zstd. */
export class NoZstd extends Error {}

/** Unpacks frame by frame (RFC 8878): Node's decoder ends at the end of the first one, and not every Node has one. */
const unpackZstd: Unpack = async (packed, write) => {
  const reader = new Pieces(packed[Symbol.asyncIterator]());
  for (;;) {
    const start = await reader.upTo(4);
    if (start.length === 0) return;
    const magic = start.length < 4 ? 0 : start.readUInt32LE(0);
    if (isSkippable(magic)) {
      await reader.skip((await reader.exactly(4)).readUInt32LE(0));
    } else if (magic === frameMagic) {
      await unpackFrame(frameBytes(reader, start), write);
    } else {
      await checkPadding(start, reader);
      return;
    }
  }
};

/** Tapes pad data with NUL bytes; anything else behind it is not meant to be there. */
const checkPadding = async (start: Buffer, reader: Pieces): Promise<void> => {
  for (let bytes = start; bytes.length > 0; bytes = await reader.upTo(2 ** 16)) {
    if (bytes.some((byte) => byte !== 0)) throw new PackedBroken("zstd", "more");
  }
};

const unpackFrame = async (frame: AsyncIterable<Uint8Array>, write: Write): Promise<void> => {
  const decoder = openDecoder();
  try {
    await decode(frame, decoder, write);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code.startsWith("Z_") || code.startsWith("ZSTD_")) throw new PackedBroken("zstd", "corrupt", thrown);
    throw thrown;
  }
};

const openDecoder = (): Transform => {
  // Node 22.15, 23.8 and newer have it; the types are those of the oldest Node that is supported.
  const create: unknown = Reflect.get(zlib, "createZstdDecompress");
  if (typeof create !== "function") throw new NoZstd();
  const decoder: unknown = create({ chunkSize: 2 ** 18, params: { [windowLogMax]: longestWindow } });
  if (!(decoder instanceof Transform)) throw new NoZstd();
  return decoder;
};

/** What follows the descriptor of a frame (RFC 8878, 3.1.1.1): whether a window, and the bytes of what stands there. */
export const frameHead = (descriptor: number) => {
  const hasWindow = (descriptor & 0x20) === 0;
  return {
    hasWindow,
    dictionaryBytes: [0, 1, 2, 4][descriptor & 3] ?? 0,
    contentBytes: [hasWindow ? 0 : 1, 2, 4, 8][descriptor >> 6] ?? 0,
    checksumBytes: (descriptor & 4) === 0 ? 0 : 4,
  };
};

/** The bytes of one frame (RFC 8878, 3.1.1). @throws PackedBroken where it is cut, or no frame after all */
async function* frameBytes(reader: Pieces, magic: Buffer): AsyncGenerator<Uint8Array, void> {
  yield magic;
  const [descriptor = 0] = yield* passed(await reader.exactly(1));
  const { hasWindow, dictionaryBytes, contentBytes, checksumBytes } = frameHead(descriptor);
  yield await reader.exactly((hasWindow ? 1 : 0) + dictionaryBytes + contentBytes);
  for (let last = false; !last; ) {
    const block = (yield* passed(await reader.exactly(3))).readUIntLE(0, 3);
    last = (block & 1) === 1;
    const kind = (block >> 1) & 3;
    if (kind === 3) throw new PackedBroken("zstd", "corrupt");
    // A block of one byte many times holds it once.
    yield await reader.exactly(kind === 1 ? 1 : block >> 3);
  }
  yield await reader.exactly(checksumBytes);
}

function* passed(bytes: Buffer): Generator<Uint8Array, Buffer> {
  yield bytes;
  return bytes;
}

/** A stream of chunks, read in pieces of any length. */
class Pieces {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #left: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** As many bytes, or fewer at the end. */
  async upTo(length: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for (let missing = length; missing > 0; ) {
      if (this.#left.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) break;
        this.#left = next.value;
      }
      const piece = this.#left.subarray(0, missing);
      this.#left = this.#left.subarray(piece.length);
      missing -= piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  /** @throws PackedBroken where there are fewer */
  async exactly(length: number): Promise<Buffer> {
    const bytes = await this.upTo(length);
    if (bytes.length < length) throw new PackedBroken("zstd", "cut");
    return bytes;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) left -= (await this.exactly(Math.min(left, 2 ** 16))).length;
  }
}
