/** Reads bodies within limits of size and memory. */
import { EventEmitter, once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import { findDecompressor } from "../rollouts/input/decompress.ts";
import { HttpRefusal } from "./refusal.ts";

/** The limit for all bodies in memory. At the limit, newer requests wait for the oldest request. */
const maxUploadBytes = 256 * 1024 * 1024;

/** Each chunk has a buffer of its own, so that a thread can take it. */
export type Chunks = Uint8Array<ArrayBuffer>[];

/** The returned function throws Refusal 400, 413 or 415. */
export const openBodyReader = () => {
  let bytesInMemory = 0;
  const requests = new Set<HttpBindings["incoming"]>();
  const memory = new EventEmitter().setMaxListeners(0);
  return async <Result>(
    { incoming, outgoing }: HttpBindings,
    maxBytes: number,
    use: (body: Chunks) => Promise<Result>,
  ) => {
    const encoding = requireHeaders(incoming.headers, maxBytes);
    let ownBytes = 0;
    const collect = async (chunks: AsyncIterable<Uint8Array>, fault: string) => {
      const collected: Chunks = [];
      let length = 0;
      try {
        for await (const chunk of chunks) {
          collected.push(ownBuffer(chunk));
          length += chunk.length;
          ownBytes += chunk.length;
          bytesInMemory += chunk.length;
          if (length > maxBytes) throw tooLarge(maxBytes);
          while (bytesInMemory >= maxUploadBytes && requests.values().next().value !== incoming)
            await once(memory, "released");
        }
      } catch (thrown) {
        throw thrown instanceof HttpRefusal ? thrown : new HttpRefusal(400, fault);
      }
      return collected;
    };
    requests.add(incoming);
    try {
      if (/^100-continue$/i.test(incoming.headers.expect ?? "")) outgoing.writeContinue();
      const received = await collect(incoming.iterator({ destroyOnReturn: false }), "the body was cut off");
      if (encoding === "identity") return await use(received);
      const fault = "the compressed body is damaged or cut off";
      // No chunk is empty, so these have the four bytes that name the format.
      const decompress = findDecompressor(Buffer.concat(received.slice(0, 4)));
      if (!decompress) throw new HttpRefusal(400, fault);
      return await use(await collect(decompress(Readable.from(received)), fault));
    } finally {
      bytesInMemory -= ownBytes;
      requests.delete(incoming);
      memory.emit("released");
    }
  };
};

/** Returns the encoding of the body. @throws HttpRefusal 413, 415 */
const requireHeaders = (headers: IncomingHttpHeaders, maxBytes: number) => {
  if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new HttpRefusal(415, "Content-Type must be application/json");
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const encoding = headers["content-encoding"]?.trim().toLowerCase().replace(/^x-/, "") ?? "identity";
  if (encodings.includes(encoding)) return encoding;
  throw new HttpRefusal(415, `unknown Content-Encoding, expected one of ${encodings.join(", ")}`);
};

const ownBuffer = (chunk: Uint8Array): Uint8Array<ArrayBuffer> =>
  chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.length
    ? new Uint8Array(chunk.buffer)
    : new Uint8Array(chunk);

const tooLarge = (maxBytes: number) => new HttpRefusal(413, `the body is larger than ${maxBytes} bytes`);

/** Node has zstd since 22.15 and 23.8. */
const encodings = ["identity", "gzip", ...("zstdDecompress" in zlib ? ["zstd"] : [])];
