/** Stores streams in an unlinked temporary file, or in memory. */
import { openSync, unlinkSync, write } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { getErrorCode } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { findDecompressor, readPieces } from "./decompress.ts";
import { decompressedTooLarge, spoolFailed } from "./failures.ts";
import { findContainer, findFormatError, sniffedBytes } from "./sniff.ts";
import { type Bytes, createCloser, openDescriptorBytes, openMemoryBytes } from "./source.ts";

const maxMemoryBytes = 2 ** 30;

/** Similar lines can have a high compression ratio. */
const maxRatio = 1000;
const minLimitBytes = 2 ** 26;

export const decompressionLimit = (compressedBytes: number, maxUnpackedBytes: number) =>
  Math.min(maxUnpackedBytes, Math.max(minLimitBytes, maxRatio * compressedBytes));

export type SpoolOptions = Readonly<{
  host: Host;
  maxUnpackedBytes: number;
}>;

/**
 * If the format is unusable, stops after the first bytes, because an endless device could fill the disk.
 * @throws UnusableInput; Failure `spool-failed`; errors of the signal and stream
 */
export const spoolStream = async (stream: Readable, { host, maxUnpackedBytes }: SpoolOptions): Promise<Bytes> => {
  const spool = await openSpool(host);
  try {
    const store = async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of decodeChunks(chunks, maxUnpackedBytes)) await spool.write(chunk);
    };
    await pipeline(stream, store, { signal: host.signal });
    return spool.bytes();
  } catch (thrown) {
    await spool.discard();
    host.signal.throwIfAborted();
    throw thrown;
  }
};

async function* decodeChunks(chunks: AsyncIterable<Uint8Array>, maxUnpackedBytes: number) {
  const reader = readPieces(chunks);
  const head = await reader.read(sniffedBytes);
  let inputBytes = head.length;
  const countChunks = async function* () {
    yield head;
    for await (const chunk of reader.rest()) {
      inputBytes += chunk.length;
      yield chunk;
    }
  };
  const decompress = findDecompressor(head);
  if (!decompress) {
    if (head.length < sniffedBytes || findContainer(head) || !findFormatError(head)) yield* countChunks();
    else yield head;
    return;
  }
  let outputBytes = 0;
  for await (const chunk of decompress(countChunks())) {
    outputBytes += chunk.length;
    const limit = decompressionLimit(inputBytes, maxUnpackedBytes);
    if (outputBytes > limit) throw decompressedTooLarge(limit, maxUnpackedBytes, "stream");
    yield chunk;
  }
}

export interface Spool {
  readonly write: (chunk: Uint8Array) => Promise<void>;
  /** The caller closes the bytes. */
  readonly bytes: () => Bytes;
  readonly discard: () => Promise<void>;
}

export const openSpool = async (host: Host): Promise<Spool> => {
  const folder = (await import("node:os")).tmpdir();
  const path = join(folder, `rollcall-${host.random().toString(36).slice(2)}-${host.now()}`);
  try {
    const descriptor = openSync(path, "wx+", 0o600);
    // Without `unlinkSync`, a killed process would leave the file.
    unlinkSync(path);
    return fileSpool(descriptor, folder);
  } catch {
    return memorySpool(folder);
  }
};

const writeTo = promisify(write);

const fileSpool = (descriptor: number, folder: string): Spool => {
  let size = 0;
  let writing: Promise<{ bytesWritten: number }> | undefined;
  const close = createCloser(descriptor);
  const discard = async () => {
    // After `close`, a pending write could reach another file with the same descriptor.
    await writing?.catch(() => undefined);
    await close();
  };
  return {
    async write(chunk) {
      for (let written = 0; written < chunk.length; ) {
        writing = writeTo(descriptor, chunk, written, chunk.length - written, size);
        const { bytesWritten } = await writing.catch((error: unknown) => {
          throw spoolFailed(folder, getErrorCode(error), { cause: error });
        });
        written += bytesWritten;
        size += bytesWritten;
      }
    },
    bytes: () => ({ ...openDescriptorBytes({ descriptor, name: folder, size }), close: discard }),
    discard,
  };
};

const memorySpool = (folder: string): Spool => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    async write(chunk) {
      size += chunk.length;
      if (size > maxMemoryBytes) throw spoolFailed(folder, "EACCES");
      // Decoders reuse the memory of chunks.
      chunks.push(Uint8Array.from(chunk));
    },
    bytes: () => openMemoryBytes(Buffer.concat(chunks)),
    discard: async () => undefined,
  };
};
