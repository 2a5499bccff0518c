/** Unpacks zstd that is in memory, of one frame or several: with Node's own decoder where it has one, which is twice as fast. */
import * as zlib from "node:zlib";
import { Decompress } from "fzstd";
import { frameHead, frameMagic, isSkippable } from "./packed.ts";

/** What packed bytes hold, or say that they hold, is more than there may be; the message says what. */
export class ClaimsTooMuch extends Error {}

/** Unpacks to so many bytes. @throws ClaimsTooMuch; Error where it is damaged */
export const unzstd = (packed: Uint8Array, length: number): Buffer => {
  checkClaims(Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength), length);
  const pieces: Uint8Array[] = [];
  let left = length;
  const take = (piece: Uint8Array): void => {
    left -= piece.length;
    if (left < 0) throw new ClaimsTooMuch(`it unpacks to more than the ${length} bytes that are said of it`);
    pieces.push(piece);
  };
  if (!("zstdDecompressSync" in zlib)) new Decompress(take).push(packed, true);
  else for (let at = 0; at < packed.length; ) at += unpackFrame(packed.subarray(at), left, take);
  return Buffer.concat(pieces);
};

/** Unpacks the first frame, where Node's decoder ends; gives the number of bytes that it has. */
const unpackFrame = (packed: Uint8Array, most: number, take: (piece: Uint8Array) => void): number => {
  // The types are those of the oldest Node that is supported.
  const decode: unknown = Reflect.get(zlib, "zstdDecompressSync");
  const result: unknown = typeof decode === "function" ? decode(packed, { info: true, maxOutputLength: most + 1 }) : {};
  const { buffer, engine } = Object.assign({ buffer: undefined, engine: undefined }, result);
  const used: unknown = Object(engine).bytesWritten;
  if (!Buffer.isBuffer(buffer) || typeof used !== "number" || used === 0) throw new Error("it is no zstd");
  take(buffer);
  return used;
};

/** The largest window that is made room for: what zstd's own decoder takes where nobody says more. */
const largestWindow = 2 ** 27;

/** Looks at the heads of all frames: a decoder makes room for what they claim before it unpacks anything. */
const checkClaims = (packed: Buffer, length: number): void => {
  let claimed = 0;
  for (let at = 0; at + 4 <= packed.length; ) {
    const magic = packed.readUInt32LE(at);
    if (isSkippable(magic)) {
      at += 8 + packed.readUInt32LE(at + 4);
      continue;
    }
    // What is no frame, a decoder refuses.
    if (magic !== frameMagic) return;
    const { window, content, end } = headOf(packed, at + 4);
    claimed += content;
    if (claimed > length) {
      throw new ClaimsTooMuch(`it claims to unpack to ${claimed} bytes, and ${length} are said of it`);
    }
    if (window > largestWindow) {
      throw new ClaimsTooMuch(`it needs a window of ${window} bytes, and ${largestWindow} is the most that is read`);
    }
    at = end;
  }
};

/** What the head of a frame behind its magic says: bytes of its window, of its content as far as it says so, and where the frame ends. */
const headOf = (packed: Buffer, start: number) => {
  const { hasWindow, dictionaryBytes, contentBytes, checksumBytes } = frameHead(packed.readUInt8(start));
  let at = start + 1;
  let window = 0;
  if (hasWindow) {
    const descriptor = packed.readUInt8(at++);
    window = 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8);
  }
  at += dictionaryBytes;
  const content = contentIn(packed, at, contentBytes);
  return { window, content, end: endOfBlocks(packed, at + contentBytes) + checksumBytes };
};

/** The number in so many bytes; of two it is counted from 256. */
const contentIn = (packed: Buffer, at: number, bytes: number): number => {
  if (bytes === 8) return Number(packed.readBigUInt64LE(at));
  if (bytes === 0) return 0;
  return packed.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
};

/** Offset behind the last block of a frame. */
const endOfBlocks = (packed: Buffer, start: number): number => {
  for (let at = start; ; ) {
    const head = packed.readUIntLE(at, 3);
    const isRepeated = ((head >> 1) & 3) === 1;
    at += 3 + (isRepeated ? 1 : head >> 3);
    if ((head & 1) === 1) return at;
  }
};
