/** Packs a request's body whole, in memory, before it is sent: its length is known then, and every try sends the same bytes. */
import { Transform } from "node:stream";
import * as zlib from "node:zlib";
import type { StreamedBody } from "../client/index.ts";
import { Failure } from "../failure.ts";
import type { BodyTold } from "./body.ts";

/** How requests are compressed: the names of `Content-Encoding`. */
export type Compression = "gzip" | "zstd";

const makers = { gzip: "createGzip", zstd: "createZstdCompress" } as const;

/** Bytes of a piece of what was packed, at most. */
const pieceBytes = 2 ** 18;

/** @throws Failure `compression-missing` where this Node can't compress so */
export const openPacker = (form: Compression): Transform => {
  // Node 22.15, 23.8 and newer have zstd; the types are those of the oldest Node that is supported.
  const make: unknown = Reflect.get(zlib, makers[form]);
  const packer: unknown = typeof make === "function" ? make({ chunkSize: pieceBytes }) : undefined;
  if (!(packer instanceof Transform)) throw new Failure("compression-missing", { form });
  return packer;
};

/** Packs what a body yields. @throws whatever the body throws */
export const packed = async (chunks: AsyncIterable<Uint8Array>, form: Compression): Promise<readonly Buffer[]> => {
  const packer = openPacker(form);
  const pieces: Buffer[] = [];
  packer.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise((resolve, reject) => packer.once("end", resolve).once("error", reject));
  try {
    for await (const chunk of chunks) {
      // A chunk's memory is used again for the next.
      await new Promise<void>((resolve, reject) => packer.write(chunk, (error) => (error ? reject(error) : resolve())));
    }
    packer.end();
    await ended;
    return pieces;
  } finally {
    packer.destroy();
  }
};

/** What was packed as a body; who is told of bytes is told of its share of the `of` bytes that it holds. */
export const packedBody = (
  pieces: readonly Buffer[],
  { of, beforeBytes, onBytes }: { readonly of: number } & BodyTold,
): StreamedBody => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    length,
    async *chunks() {
      for (const piece of pieces) {
        beforeBytes();
        yield piece;
        onBytes(Math.floor((piece.length * of) / length));
      }
    },
  };
};
