/** Unpacks gzip, and sees what Node's decoder does not: bytes behind the last member. */

import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { codeOf } from "../../files.ts";
import { PackedBroken } from "../rules/packed.ts";

/** Whether bytes begin as gzip does. */
export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Unpacks all members. @throws PackedBroken */
export const unpackGzip = async (
  packed: AsyncIterable<Uint8Array>,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<void> => {
  const gunzip = createGunzip({ chunkSize: 2 ** 18 });
  const tail = new Tail();
  try {
    await pipeline(tail.through(packed), gunzip, async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) await write(chunk);
    });
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "Z_BUF_ERROR") throw new PackedBroken("gzip", "cut", thrown);
    if (code.startsWith("Z_")) throw new PackedBroken("gzip", "corrupt", thrown);
    throw thrown;
  }
  // Node's decoder leaves out what follows the last member; tapes pad it with NUL bytes.
  if (tail.otherThanPadding(gunzip.bytesWritten)) throw new PackedBroken("gzip", "more");
};

/** Remembers where the last bytes that are no padding were. */
class Tail {
  #total = 0;
  #lastOther = 0;

  async *through(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      let end = chunk.length;
      while (end > 0 && chunk[end - 1] === 0) end--;
      if (end > 0) this.#lastOther = this.#total + end;
      this.#total += chunk.length;
      yield chunk;
    }
  }

  /** Whether anything but NUL stands behind an offset. */
  otherThanPadding(offset: number): boolean {
    return this.#lastOther > offset;
  }
}
