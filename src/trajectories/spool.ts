/** Keeps a stream, so that it can be read again: in a file that has no name, or in memory where there is no place for one. */
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { type Bytes, fileBytes, memoryBytes } from "./source.ts";

/** What is kept in memory at most where no file can be made: `check` needs no place to write. */
const memoryLimit = 2 ** 30;

/** What is wrong with compressed data: its end is missing, it is damaged, or other bytes follow it. */
export type GzipFault = "cut" | "corrupt" | "more";

/** Compressed data that is not whole. */
export class GzipBroken extends Error {
  readonly fault: GzipFault;
  constructor(fault: GzipFault, cause?: unknown) {
    super(fault, { cause });
    this.fault = fault;
  }
}

/** Whether bytes begin as gzip does. */
export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/**
 * Keeps all of a stream, unpacked where it is gzip.
 * @throws GzipBroken; Failure `spool-failed`; the signal's reason; what the stream throws
 */
export const keepStream = async (stream: Readable, host: Host): Promise<Bytes> => {
  const keeper = await openKeeper(host);
  try {
    await pipeline(stream, async (chunks: AsyncIterable<Uint8Array>) => await keepChunks(chunks, keeper), {
      signal: host.signal,
    });
    return keeper.bytes();
  } catch (thrown) {
    await keeper.discard();
    if (host.signal.aborted) throw host.signal.reason;
    throw thrown;
  }
};

/** Keeps chunks as they are, or unpacked, as their first two bytes say. */
const keepChunks = async (chunks: AsyncIterable<Uint8Array>, keeper: Keeper): Promise<void> => {
  const rest = chunks[Symbol.asyncIterator]();
  let head = new Uint8Array();
  while (head.length < 2) {
    const next = await rest.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = async function* (): AsyncGenerator<Uint8Array, void> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => rest };
  };
  if (isGzip(head)) await unpack(whole(), keeper);
  else for await (const chunk of whole()) await keeper.write(chunk);
};

const unpack = async (packed: AsyncIterable<Uint8Array>, keeper: Keeper): Promise<void> => {
  const gunzip = createGunzip({ chunkSize: 2 ** 18 });
  const tail = new Tail();
  try {
    await pipeline(tail.through(packed), gunzip, async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) await keeper.write(chunk);
    });
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "Z_BUF_ERROR") throw new GzipBroken("cut", thrown);
    if (code.startsWith("Z_")) throw new GzipBroken("corrupt", thrown);
    throw thrown;
  }
  // Node's decoder leaves out what follows the last member; tapes pad it with NUL bytes.
  if (tail.otherThanPadding(gunzip.bytesWritten)) throw new GzipBroken("more");
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

/** Where chunks are kept. */
interface Keeper {
  write(chunk: Uint8Array): Promise<void>;
  /** What was kept; it is closed by whom it is given to. */
  bytes(): Bytes;
  discard(): Promise<void>;
}

const openKeeper = async (host: Host): Promise<Keeper> => {
  const folder = tmpdir();
  const path = join(folder, `rollcall-${host.random().toString(36).slice(2)}-${host.now()}`);
  try {
    const file = await open(path, "wx+", 0o600);
    await unlink(path);
    return fileKeeper(file, folder);
  } catch {
    return memoryKeeper(folder);
  }
};

const fileKeeper = (file: FileHandle, folder: string): Keeper => {
  let size = 0;
  return {
    async write(chunk) {
      let written = 0;
      while (written < chunk.length) {
        const { bytesWritten } = await file
          .write(chunk, written, chunk.length - written, size + written)
          .catch((error: unknown) => {
            throw new Failure("spool-failed", { folder, code: codeOf(error) }, { cause: error });
          });
        written += bytesWritten;
      }
      size += chunk.length;
    },
    bytes: () => fileBytes(file, size),
    discard: async () => await file.close(),
  };
};

const memoryKeeper = (folder: string): Keeper => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    async write(chunk) {
      size += chunk.length;
      if (size > memoryLimit) throw new Failure("spool-failed", { folder, code: "EACCES" });
      chunks.push(chunk);
    },
    bytes: () => memoryBytes(chunks),
    discard: async () => undefined,
  };
};

/** The system's code of an error, such as `ENOSPC`. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
