/** Gives Node a zstd decoder if it has none, so that tests of zstd run with every Node. */
import { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { Decompress } from "fzstd";
import { afterAll, beforeAll } from "vitest";

/** True if Node itself has zstd. Only its own decoder compares checksums. */
export const hasZstd = typeof Reflect.get(zlib, "createZstdDecompress") === "function";

/** Gives the tests of a block a decoder of zstd. */
export const useZstd = (): void => {
  if (hasZstd) return;
  const builtin = process.getBuiltinModule("node:zlib");
  beforeAll(() => void Object.assign(builtin, { createZstdDecompress }));
  afterAll(() => void Reflect.deleteProperty(builtin, "createZstdDecompress"));
};

/** Decompresses a frame. Errors have the codes of Node's decoder. */
const createZstdDecompress = (): Transform => {
  const push = (bytes: Uint8Array, isLast: boolean, done: (error?: Error) => void) => {
    try {
      frame.push(bytes, isLast);
      done();
    } catch (thrown) {
      done(Object.assign(new Error(String(thrown)), { code: "ZSTD_error_corruption_detected" }));
    }
  };
  const decoder = new Transform({
    transform: (bytes, _, done) => push(bytes, false, done),
    flush: (done) => push(new Uint8Array(), true, done),
  });
  const frame = new Decompress((bytes) => decoder.push(bytes));
  return decoder;
};
