/** Reads the bodies of requests within limits: the size of each body, and the memory of all bodies. */
import { EventEmitter, once } from "node:events";
import * as zlib from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import { getErrorCode } from "../files.ts";
import { Refusal } from "./operation.ts";

/** @throws Refusal 413 as soon as the body is over its limit; 415 before it is read; 400 if it is cut off or damaged */
type BodyReader = <Result>(exchange: HttpBindings, use: (bytes: Uint8Array) => Promise<Result>) => Promise<Result>;

/** Maximum bytes of all bodies in memory. At the limit, rollcall continues to read only the oldest request. */
const uploadBudgetBytes = 256 * 1024 * 1024;

export const openBodyReader = (maxBytes: number): BodyReader => {
  let bytesInMemory = 0;
  const requests = new Set<HttpBindings["incoming"]>();
  const memory = new EventEmitter().setMaxListeners(0);
  return async ({ incoming, outgoing }, use) => {
    const { headers } = incoming;
    if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
      throw new Refusal(415, "Content-Type must be application/json");
    }
    if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const decompress = findDecompressor(headers["content-encoding"]);
    let ownBytes = 0;
    const reserve = (bytes: number): void => {
      ownBytes += bytes;
      bytesInMemory += bytes;
    };
    const read = async (): Promise<Uint8Array> => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
        chunks.push(chunk);
        reserve(chunk.length);
        if (ownBytes > maxBytes) throw tooLarge(maxBytes);
        const isOldest = () => requests.values().next().value === incoming;
        while (bytesInMemory >= uploadBudgetBytes && !isOldest()) await once(memory, "released");
      }
      return Buffer.concat(chunks, ownBytes);
    };
    requests.add(incoming);
    try {
      if (/^100-continue$/i.test(headers.expect ?? "")) outgoing.writeContinue();
      const received = await read().catch((thrown: unknown) => {
        throw thrown instanceof Refusal ? thrown : new Refusal(400, "the body was cut off");
      });
      const bytes = decompress === undefined ? received : await decompressBody(received, decompress, maxBytes);
      if (bytes !== received) reserve(bytes.length);
      return await use(bytes);
    } finally {
      bytesInMemory -= ownBytes;
      requests.delete(incoming);
      memory.emit("released");
    }
  };
};

const tooLarge = (maxBytes: number): Refusal => new Refusal(413, `the body is larger than ${maxBytes} bytes`);

type Callback = (error: Error | null, bytes: Uint8Array) => void;
type Decompressor = (bytes: Uint8Array, options: { readonly maxOutputLength: number }, done: Callback) => void;

const findDecompressor = (header: string | undefined): Decompressor | undefined => {
  const encoding = header?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity") return undefined;
  if (encoding === "gzip" || encoding === "x-gzip") return zlib.gunzip;
  // Node 22.15, 23.8 and newer have this function. The types are those of the oldest supported Node.
  const zstd: unknown = Reflect.get(zlib, "zstdDecompress");
  const hasZstd = typeof zstd === "function";
  if (encoding === "zstd" && hasZstd) {
    return (bytes, options, done) => void Reflect.apply(zstd, zlib, [bytes, options, done]);
  }
  const accepted = hasZstd ? "gzip, zstd" : "gzip";
  throw new Refusal(415, `unknown Content-Encoding, expected ${accepted} or none`, { "Accept-Encoding": accepted });
};

const decompressBody = (bytes: Uint8Array, decompress: Decompressor, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    decompress(bytes, { maxOutputLength: maxBytes }, (error, decompressed) => {
      if (error === null) resolve(decompressed);
      else if (getErrorCode(error) === "ERR_BUFFER_TOO_LARGE") reject(tooLarge(maxBytes));
      else reject(new Refusal(400, "the compressed body is damaged or cut off"));
    });
  });
