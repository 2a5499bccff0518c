/** Decompresses a reply's body. */
import { promisify } from "node:util";
import { codeOf } from "../files.ts";

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
