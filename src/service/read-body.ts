/** Reads bodies within limits of size and memory. */
import { EventEmitter, once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import { findDecompressor } from "../rollouts/input/decompress.ts";
import { findZlibFunction } from "../system/host.ts";
import { HttpRefusal } from "./operation.ts";

/** The limit for all bodies in memory. At the limit, newer requests wait for the oldest request. */
const maxUploadBytes = 256 * 1024 * 1024;

type Upload = { readonly maxBytes: number; bytes: number };

export class BodyReader {
  #bytesInMemory = 0;
  readonly #uploads = new Set<Upload>();
  readonly #memory = new EventEmitter().setMaxListeners(0);

  /** @throws HttpRefusal 400, 413 or 415 */
  async read<Result>(
    { incoming, outgoing }: HttpBindings,
    maxBytes: number,
    use: (body: Uint8Array) => Promise<Result>,
  ): Promise<Result> {
    const encoding = requireHeaders(incoming.headers, maxBytes);
    const upload: Upload = { maxBytes, bytes: 0 };
    this.#uploads.add(upload);
    try {
      if (/^100-continue$/i.test(incoming.headers.expect ?? "")) outgoing.writeContinue();
      const chunks = incoming.iterator({ destroyOnReturn: false });
      const stated = Number(incoming.headers["content-length"] ?? 0);
      const received = await this.#collect(upload, chunks, "the body was cut off", stated);
      if (encoding === "identity") return await use(received);
      const fault = "the compressed body is damaged or cut off";
      const decompress = findDecompressor(received);
      if (!decompress) throw new HttpRefusal(400, fault);
      return await use(await this.#collect(upload, decompress(Readable.from([received])), fault));
    } finally {
      this.#bytesInMemory -= upload.bytes;
      this.#uploads.delete(upload);
      this.#memory.emit("released");
    }
  }

  async #collect(upload: Upload, chunks: AsyncIterable<Uint8Array>, fault: string, stated = 0) {
    // The system provides memory when it is written, so a client that only states a length takes none.
    let collected = Buffer.allocUnsafeSlow(stated);
    let length = 0;
    try {
      for await (const chunk of chunks) {
        if (length + chunk.length > collected.length) {
          const grown = Buffer.allocUnsafeSlow(2 * (length + chunk.length));
          grown.set(collected);
          collected = grown;
        }
        collected.set(chunk, length);
        length += chunk.length;
        upload.bytes += chunk.length;
        this.#bytesInMemory += chunk.length;
        if (length > upload.maxBytes) throw tooLarge(upload.maxBytes);
        while (this.#bytesInMemory >= maxUploadBytes && this.#uploads.values().next().value !== upload)
          await once(this.#memory, "released");
      }
    } catch (thrown) {
      throw thrown instanceof HttpRefusal ? thrown : new HttpRefusal(400, fault);
    }
    return collected.subarray(0, length);
  }
}

/** Returns the encoding of the body. @throws HttpRefusal 413, 415 */
const requireHeaders = (headers: IncomingHttpHeaders, maxBytes: number) => {
  if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new HttpRefusal(415, "Content-Type must be application/json");
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const encoding = headers["content-encoding"]?.trim().toLowerCase().replace(/^x-/, "") ?? "identity";
  // Node has zstd since 22.15 and 23.8.
  const encodings = ["identity", "gzip", ...(findZlibFunction("createZstdDecompress") ? ["zstd"] : [])];
  if (encodings.includes(encoding)) return encoding;
  throw new HttpRefusal(415, `unknown Content-Encoding, expected one of ${encodings.join(", ")}`);
};

const tooLarge = (maxBytes: number) => new HttpRefusal(413, `the body is larger than ${maxBytes} bytes`);
