/** Reads the bodies of requests. The size of each is limited, and the memory of all together. */

import type { IncomingMessage } from "node:http";
import * as zlib from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import { getErrorCode } from "../files.ts";
import { countNested } from "../json/walk.ts";
import { Refusal } from "./operation.ts";

/**
 * Reads a whole body, decompressed, and passes it to `use`. Both of its sizes are limited.
 * @throws Refusal 413 for a body over the limits, as soon as that is known; 415 before it is read; 400 if it is cut off or damaged
 */
export type BodyReader = <Result>(
  exchange: HttpBindings,
  use: (bytes: Uint8Array) => Promise<Result>,
) => Promise<Result>;

/** Bytes of all bodies in memory: what a laptop can spare. Beyond it, only the oldest body is read on. */
const uploadBudgetBytes = 256 * 1024 * 1024;

export const openBodyReader = (maxBytes: number): BodyReader => {
  let bytesInMemory = 0;
  /** The bodies in memory, the oldest first. */
  const bodies = new Set<object>();
  let resolveReleased = (): void => undefined;
  let memoryReleased: Promise<void> = Promise.resolve();
  const notifyReleased = (): void => {
    resolveReleased();
    memoryReleased = new Promise((resolve) => {
      resolveReleased = resolve;
    });
  };
  notifyReleased();
  const read = async (incoming: IncomingMessage, take: (bytes: number) => void, own: object): Promise<Uint8Array> => {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        take(chunk.length);
        // What is not read waits with its sender.
        while (bytesInMemory >= uploadBudgetBytes && own !== bodies.values().next().value) await memoryReleased;
      }
    } catch (thrown) {
      throw thrown instanceof Refusal ? thrown : new Refusal(400, "the body was cut off");
    }
    return Buffer.concat(chunks, size);
  };
  return async ({ incoming, outgoing }, use) => {
    const { headers } = incoming;
    if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
      throw new Refusal(415, "Content-Type must be application/json");
    }
    if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const decompress = findDecompressor(headers["content-encoding"]);
    const own = {};
    let ownBytes = 0;
    const reserve = (bytes: number): void => {
      ownBytes += bytes;
      bytesInMemory += bytes;
    };
    bodies.add(own);
    try {
      if (/^100-continue$/i.test(headers.expect ?? "")) outgoing.writeContinue();
      const sent = await read(incoming, reserve, own);
      const bytes = decompress === undefined ? sent : await decompressBody(sent, decompress, maxBytes);
      if (bytes !== sent) reserve(bytes.length);
      checkValueCount(bytes, maxBytes);
      return await use(bytes);
    } finally {
      bytesInMemory -= ownBytes;
      bodies.delete(own);
      notifyReleased();
    }
  };
};

const tooLarge = (maxBytes: number): Refusal => new Refusal(413, `the body is larger than ${maxBytes} bytes`);

type DecompressCallback = (error: Error | null, bytes: Uint8Array) => void;
type Decompressor = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
  done: DecompressCallback,
) => void;

/** Returns what decompresses a body; undefined if it is not compressed. @throws Refusal 415 */
const findDecompressor = (header: string | undefined): Decompressor | undefined => {
  const encoding = header?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity") return undefined;
  if (encoding === "gzip" || encoding === "x-gzip") return zlib.gunzip;
  // Node 22.15, 23.8 and newer have it; the types are those of the oldest Node that is supported.
  const zstd: unknown = Reflect.get(zlib, "zstdDecompress");
  const hasZstd = typeof zstd === "function";
  if (encoding === "zstd" && hasZstd) {
    return (bytes, options, done) => void Reflect.apply(zstd, zlib, [bytes, options, done]);
  }
  const acceptedEncodings = hasZstd ? "gzip, zstd" : "gzip";
  const message = `a body is taken as it is, or in one of these encodings: ${acceptedEncodings}`;
  throw new Refusal(415, message, { headers: { "Accept-Encoding": acceptedEncodings } });
};

/** @throws Refusal 413, 400 */
const decompressBody = (bytes: Uint8Array, decompress: Decompressor, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    decompress(bytes, { maxOutputLength: maxBytes }, (error, all) => {
      if (error === null) resolve(all);
      else if (getErrorCode(error) === "ERR_BUFFER_TOO_LARGE") reject(tooLarge(maxBytes));
      else reject(new Refusal(400, "the compressed body is damaged, or was cut off"));
    });
  });

/**
 * A body may have an object or array for each twelve bytes of the largest body, and any body may have 262,144: each is memory
 * and time, whatever it contains. What is logged has at most one in 20 bytes, if there are log probabilities.
 */
const minBytesPerValue = 12;
const allowedValues = 2 ** 18;

/** @throws Refusal 413 */
const checkValueCount = (bytes: Uint8Array, maxBytes: number): void => {
  const max = Math.max(allowedValues, Math.floor(maxBytes / minBytesPerValue));
  if (bytes.length <= max || countNested(bytes, max) <= max) return;
  throw new Refusal(413, `the body holds more than ${max} objects and arrays`);
};
