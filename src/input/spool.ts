/** Keeps a stream, so that it can be read again: in a file that has no name, or in memory where there is no place for one. */

import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { packedBytes, unpackerOf } from "./packed.ts";
import { sniff, sniffedBytes } from "./sniff.ts";
import { type Bytes, fileBytes, memoryBytes } from "./source.ts";

/** What is kept in memory at most where no file can be made: `check` needs no place to write. */
const memoryLimit = 2 ** 30;

/** How many times its size data may unpack to, and how much of it always may: lines that are alike pack well. */
const mostTimes = 1000;
const alwaysUnpacked = 2 ** 26;

/** How a stream is kept. */
interface Keeping {
  readonly host: Host;
  readonly maxUnpackedBytes: number;
  /** Whether files of other tools that are no text can be read too. */
  readonly takesContainers: boolean;
  /** Where it is kept; in a place of its own where nothing is said. */
  readonly openKeeper?: (() => Promise<Keeper>) | undefined;
}

/**
 * Keeps all of a stream, unpacked where it is gzip or zstd, up to a number of bytes; only the beginning of what is
 * nothing that can be read.
 * @throws PackedBroken; PackedTooLarge; NoZstd; Failure `spool-failed`; the signal's reason; what the stream throws
 */
export const keepStream = async (stream: Readable, keeping: Keeping): Promise<Bytes> => {
  const { host } = keeping;
  const keeper = await (keeping.openKeeper ?? openKeeper)(host);
  try {
    await pipeline(stream, async (chunks: AsyncIterable<Uint8Array>) => await keepChunks(chunks, keeper, keeping), {
      signal: host.signal,
    });
    return keeper.bytes();
  } catch (thrown) {
    await keeper.discard();
    if (host.signal.aborted) throw host.signal.reason;
    throw thrown;
  }
};

/** The bytes that packed data may unpack to. */
export const unpackedLimit = (packedBytes: number, maxUnpackedBytes: number): number =>
  Math.min(maxUnpackedBytes, Math.max(alwaysUnpacked, mostTimes * packedBytes));

/** Keeps chunks as they are, or unpacked, as their first bytes say. */
const keepChunks = async (
  chunks: AsyncIterable<Uint8Array>,
  keeper: Keeper,
  { maxUnpackedBytes, takesContainers }: Keeping,
): Promise<void> => {
  const rest = chunks[Symbol.asyncIterator]();
  let head = new Uint8Array();
  while (head.length < packedBytes) {
    const next = await rest.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  let packed = 0;
  const whole = async function* (): AsyncGenerator<Uint8Array, void> {
    packed += head.length;
    yield head;
    for await (const chunk of { [Symbol.asyncIterator]: () => rest }) {
      packed += chunk.length;
      yield chunk;
    }
  };
  const unpack = unpackerOf(head);
  if (unpack !== undefined) {
    let unpacked = 0;
    await unpack(whole(), async (chunk) => {
      unpacked += chunk.length;
      const limit = unpackedLimit(packed, maxUnpackedBytes);
      if (unpacked > limit) throw new PackedTooLarge(limit);
      await keeper.write(chunk);
    });
    return;
  }
  // A device that never ends would be kept until the disk is full.
  const sniffed = head.length >= sniffedBytes ? sniff(head.subarray(0, sniffedBytes)) : undefined;
  const isTaken = takesContainers && sniffed?.rule === "not-json" && sniffed.container !== undefined;
  if (sniffed !== undefined && !isTaken) await keeper.write(head);
  else for await (const chunk of whole()) await keeper.write(chunk);
};

/** Where chunks are kept. */
export interface Keeper {
  write(chunk: Uint8Array): Promise<void>;
  /** What was kept; it is closed by whom it is given to. */
  bytes(): Bytes;
  discard(): Promise<void>;
}

/** Opens a place to keep chunks in. */
export const openKeeper = async (host: Host): Promise<Keeper> => {
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

/**
 * Opens one place for many streams, kept one after the other: no descriptor a stream stays open. It is closed with the last
 * of them that was begun.
 */
export const openSharedKeeper = (host: Host): (() => Promise<Keeper>) => {
  let opened: Promise<Keeper> | undefined;
  let [size, users] = [0, 0];
  return async () => {
    users++;
    opened ??= openKeeper(host);
    const keeper = await opened;
    const start = size;
    let isLeft = false;
    const leave = async (): Promise<void> => {
      if (isLeft) return;
      isLeft = true;
      if (--users > 0) return;
      opened = undefined;
      size = 0;
      await keeper.discard();
    };
    return {
      async write(chunk) {
        await keeper.write(chunk);
        size += chunk.length;
      },
      bytes: () => ({ ...windowOf(keeper.bytes(), start, size - start), close: leave }),
      discard: leave,
    };
  };
};

/** A part of bytes, as bytes of their own, which no other thread knows. */
const windowOf = (bytes: Bytes, start: number, size: number): Omit<Bytes, "close"> => {
  const within = (into: Buffer, at: number) => into.subarray(0, Math.max(0, size - at));
  return {
    size,
    read: async (into, at) => await bytes.read(within(into, at), start + at),
    readNow: (into, at) => bytes.readNow(within(into, at), start + at),
  };
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
    bytes: () => fileBytes(file, { name: folder, size }),
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
