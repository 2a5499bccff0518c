/** Shares the reading of a large file among threads. Each takes range after range, and what they find is merged in order. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Source } from "../input/index.ts";
import { cutsOf, type RangeFound, type RangeResult, type Ranges, scanRanges } from "./ranges.ts";
import type { ScanOptions } from "./scan.ts";

/** How reading is shared. */
export interface Sharing {
  /** The program that a helping thread runs. */
  readonly program: string;
  /** Threads that read, this one included. */
  readonly threads: number;
  /** The smallest file that is shared. */
  readonly leastBytes: number;
  readonly stepBytes: number;
}

/** Bytes of the smallest file that is worth another thread: a smaller one is read while the thread starts. */
export const minSharedBytes = 2 ** 26;

/** The program of a helper thread. It waits for its task. Without the program, nobody helps. */
const helpingProgram = join(import.meta.dirname, "range-reader.cjs");

/** More threads would wait for memory, and each takes some 25 MB. */
const maxThreads = 4;

/** Bytes from which modules are loaded after reading: a few milliseconds do not matter then, and memory does. */
const minBytesToWait = 2 ** 30;

/** Merging a range must cost little next to reading it. A very large file has no more than this many ranges. */
const smallestStep = 2 ** 23;
const maxRanges = 64;

/** How reading so many bytes is shared on this machine; undefined if there is no other thread. */
export const sharingHere = (bytes: number): Sharing | undefined => {
  const threads = Math.min(availableParallelism(), maxThreads);
  const stepBytes = Math.max(smallestStep, Math.ceil(bytes / maxRanges));
  if (threads === 1 || !existsSync(helpingProgram)) return undefined;
  return { program: helpingProgram, threads, leastBytes: minSharedBytes, stepBytes };
};

/**
 * Keeps the young generation of the heap small, which V8 would let grow to three times 16 MB. Without this, checking 170 MB
 * with a finding on every line takes 196 MB instead of 131 MB, and no less time. It applies to all threads until another one
 * starts, which therefore calls it again.
 */
export const haveSmallNursery = (): void => setFlagsFromString("--semi-space-growth-factor=1");

/** The task of a helper thread. */
export interface HelperTask extends Ranges {
  readonly descriptor: number;
  readonly name: string;
  readonly options: Omit<ScanOptions, "signal" | "found">;
}

/** How reading is shared. */
interface SharedOptions extends ScanOptions {
  readonly sharing: Sharing;
  /** What this thread does while others begin to read. */
  readonly meanwhile: (() => Promise<void>) | undefined;
  /** Offset of the first line. */
  readonly start: number;
  /** Is given what was found, range by range, in order. */
  readonly onRange: (range: RangeFound) => void;
}

/**
 * Reads a source from a line on, with others. Returns the offset up to which it was read: less than all of it if a range
 * cannot be read alone, or a helper died.
 * @throws Shrunk; the signal's reason; what `onRange` throws
 */
export const scanShared = async (
  source: Source,
  { sharing, meanwhile, start, onRange, found: _, ...options }: SharedOptions,
): Promise<number> => {
  const { signal, ...helperOptions } = options;
  const cuts = cutsOf({ ...sharing, start, size: source.bytes.size });
  const ranges = { cuts, next: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) };
  const waiting = new Map<number, RangeFound>();
  let merged = 0;
  let end = start;
  const take = ({ position, range }: RangeResult): void => {
    if (range !== undefined) waiting.set(position, range);
    else Atomics.store(ranges.next, 0, cuts.length - 1);
  };
  const merge = (): void => {
    for (let range = waiting.get(merged); range !== undefined; range = waiting.get(merged)) {
      signal.throwIfAborted();
      waiting.delete(merged++);
      end = range.end;
      onRange(range);
    }
  };
  // Loaded only if somebody helps: it takes Node most of a millisecond.
  const { Worker } = await import("node:worker_threads");
  const { name, bytes } = source;
  const task: HelperTask = { ...ranges, descriptor: bytes.descriptor ?? -1, name, options: helperOptions };
  const helpers = Array.from({ length: sharing.threads - 1 }, () => new Worker(sharing.program));
  const ends = helpers.map(
    (helper) =>
      new Promise<void>((resolve) => {
        // What a helper that died did not hand over is read again, and fails again if it has to.
        helper.on("message", take).on("error", () => resolve());
        helper.on("exit", () => resolve()).postMessage(task);
      }),
  );
  try {
    if (bytes.size < minBytesToWait) await meanwhile?.();
    for await (const result of scanRanges(source, { ...options, ...ranges })) {
      take(result);
      merge();
    }
    await Promise.race([Promise.all(ends), aborted(signal)]);
    merge();
  } finally {
    for (const helper of helpers) void helper.terminate();
  }
  return end;
};

/** Rejects with the signal's reason. */
const aborted = async (signal: AbortSignal): Promise<never> =>
  await new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
