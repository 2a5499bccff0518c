/** Decompresses zstd in memory, with fzstd if Node has no zstd decoder. */
import { Decompress } from "fzstd";
import { toBuffer } from "../../json/json-bytes.ts";
import { findZlibFunction } from "../../system/host.ts";
import { frameMagic, isSkippableFrame, walkFrame } from "./decompress.ts";
import { corruptData } from "./failures.ts";

export class UnreadableContent extends Error {}

export const formatExcess = (length: number) => `it decompresses to more than its declared ${length} bytes`;

/** The default limit of zstd in bytes (2^`ZSTD_WINDOWLOG_LIMIT_DEFAULT`). */
const maxWindowBytes = 2 ** 27;

/** Returns at most `length` bytes. @throws UnreadableContent; UnusableInput; an Error of the decoder */
export const unzstd = (compressed: Uint8Array, length: number) => {
  const pieces: Uint8Array[] = [];
  let left = length;
  const take = (piece: Uint8Array) => {
    left -= piece.length;
    if (left < 0) throw new UnreadableContent(formatExcess(length));
    pieces.push(piece);
  };
  for (const frame of checkFrames(compressed, length)) {
    const piece = decodeNatively(frame, left);
    if (piece) take(piece);
    else new Decompress(take).push(frame, true);
  }
  return Buffer.concat(pieces);
};

/** Checks frames, because decoders allocate the memory that headers claim. */
const checkFrames = (compressed: Uint8Array, length: number) => {
  const bytes = toBuffer(compressed);
  const frames: Uint8Array[] = [];
  let claimed = 0;
  let at = 0;
  const next = (size: number) => {
    if (at + size > bytes.length) throw corruptData("zstd", "cut");
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const start = at;
    const magic = next(4).readUInt32LE();
    if (isSkippableFrame(magic)) {
      next(next(4).readUInt32LE());
      continue;
    }
    if (magic !== frameMagic) throw corruptData("zstd", "more");
    const walk = walkFrame();
    let step = walk.next();
    while (step.done !== true) step = walk.next(next(step.value));
    const { window, content } = step.value;
    claimed += content;
    if (claimed > length)
      throw new UnreadableContent(`its zstd frames contain ${claimed} bytes, more than its declared ${length} bytes`);
    if (window > maxWindowBytes)
      throw new UnreadableContent(`it needs a zstd window of ${window} bytes, over the limit of ${maxWindowBytes}`);
    frames.push(bytes.subarray(start, at));
  }
  return frames;
};

const decodeNatively = (frame: Uint8Array, maxLength: number) => {
  // Older versions of Node lack this function. Node rejects a `maxOutputLength` of 0.
  const decode = findZlibFunction("zstdDecompressSync");
  const decoded: unknown = typeof decode === "function" ? decode(frame, { maxOutputLength: maxLength + 1 }) : undefined;
  return Buffer.isBuffer(decoded) ? decoded : undefined;
};
