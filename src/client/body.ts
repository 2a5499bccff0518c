/** A reply's body: collected up to a limit, and decompressed. */
import { promisify } from "node:util";
import { codeOf } from "../files.ts";

/** Bytes that are collected. */
export interface Collected {
  /** Takes a piece, as far as the limit allows. */
  add(piece: Uint8Array): void;
  readonly isTooLong: boolean;
  read(): Uint8Array;
}

/** The first buffer, in bytes, if the length is unknown. */
const firstBuffer = 1 << 16;

/** A larger buffer has the size of the limit: the system gives memory only for what is written, and a copy would need it twice. */
const maxDoubled = 1 << 22;

/** Collects at most `limit` bytes. `expected` is the length that the sender announced. */
export const openCollected = (limit: number, expected = 0): Collected => {
  let buffer = Buffer.allocUnsafeSlow(Math.min(limit, expected));
  let size = 0;
  let isTooLong = false;
  return {
    get isTooLong() {
      return isTooLong;
    },
    add(piece) {
      const taken = piece.subarray(0, limit - size);
      isTooLong ||= taken.length < piece.length;
      if (size + taken.length > buffer.length) {
        const doubled = Math.max(size + taken.length, buffer.length * 2, firstBuffer);
        const larger = Buffer.allocUnsafeSlow(Math.min(limit, doubled > maxDoubled ? limit : doubled));
        larger.set(buffer.subarray(0, size));
        buffer = larger;
      }
      buffer.set(taken, size);
      size += taken.length;
    },
    read: () => buffer.subarray(0, size),
  };
};

/** A decompressed body, or the part of it that could be decompressed. */
export interface Decoded {
  readonly bytes: Uint8Array;
  /** Why it is not whole: it ended early or is damaged, is over the limit, or there is no decoder for its encoding. */
  readonly fault: "cut" | "too-long" | "unknown-encoding" | undefined;
}

/** Services compress once. */
const maxEncodings = 2;

/** Decodes a body by its `Content-Encoding`, to at most `limit` bytes. */
export const decode = async (bytes: Uint8Array, encoding: string, limit: number): Promise<Decoded> => {
  const names = encoding.toLowerCase().split(",");
  const encodings = names.map((name) => name.trim()).filter((name) => name !== "" && name !== "identity");
  if (bytes.length === 0) return { bytes, fault: undefined };
  const { brotliDecompress, constants, gunzip, inflate } = await import("node:zlib");
  const gzip = { decoder: promisify(gunzip), flush: constants.Z_SYNC_FLUSH };
  const decoders = new Map([
    ["gzip", gzip],
    ["x-gzip", gzip],
    ["deflate", { decoder: promisify(inflate), flush: constants.Z_SYNC_FLUSH }],
    ["br", { decoder: promisify(brotliDecompress), flush: constants.BROTLI_OPERATION_FLUSH }],
  ]);
  let decoded: Decoded = { bytes, fault: encodings.length > maxEncodings ? "unknown-encoding" : undefined };
  for (const name of decoded.fault === undefined ? encodings.reverse() : []) {
    const { decoder, flush } = decoders.get(name) ?? {};
    if (decoder === undefined) return { bytes, fault: "unknown-encoding" };
    const whole = decoded.bytes;
    const options = { maxOutputLength: limit };
    try {
      decoded = { ...decoded, bytes: await decoder(whole, options) };
    } catch (thrown) {
      const isTooLong = codeOf(thrown) === "ERR_BUFFER_TOO_LARGE";
      // Flushed at its end, a body that was cut gives what it has.
      const part = isTooLong
        ? undefined
        : await decoder(whole, { ...options, finishFlush: flush }).catch(() => undefined);
      decoded = { bytes: part ?? Buffer.alloc(0), fault: decoded.fault ?? (isTooLong ? "too-long" : "cut") };
    }
  }
  return decoded;
};
