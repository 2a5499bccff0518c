/** Compresses a body in memory before it is sent: its length is known, and each attempt sends the same bytes. */

import { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { compressionMissing } from "./failures.ts";

/** How requests are compressed: the names of `Content-Encoding`. */
export type Compression = "gzip" | "zstd";

const makers = { gzip: "createGzip", zstd: "createZstdCompress" } as const;

/** Largest piece of compressed bytes. */
const maxPieceBytes = 2 ** 18;

/** Opens a compressor. @throws Failure `compression-missing` if this version of Node lacks it */
export const openCompressor = (form: Compression): Transform => {
  // Node 22.15, 23.8 and newer have zstd; the types are those of the oldest Node that is supported.
  const make: unknown = Reflect.get(zlib, makers[form]);
  const compressor: unknown = typeof make === "function" ? make({ chunkSize: maxPieceBytes }) : undefined;
  if (!(compressor instanceof Transform)) throw compressionMissing(form);
  return compressor;
};

/** Compresses chunks. @throws whatever the chunks throw */
export const compress = async (chunks: AsyncIterable<Uint8Array>, form: Compression): Promise<readonly Buffer[]> => {
  const compressor = openCompressor(form);
  const pieces: Buffer[] = [];
  compressor.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise((resolve, reject) => compressor.once("end", resolve).once("error", reject));
  try {
    for await (const chunk of chunks) {
      // The memory of a chunk is used again for the next one.
      await new Promise<void>((resolve, reject) =>
        compressor.write(chunk, (error) => (error ? reject(error) : resolve())),
      );
    }
    compressor.end();
    await ended;
    return pieces;
  } finally {
    compressor.destroy();
  }
};
