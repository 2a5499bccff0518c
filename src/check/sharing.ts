/** Shares the reading of a large file among threads: each takes range after range, and what they find is put together in order. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Worker } from "node:worker_threads";
import type { Source } from "../input/index.ts";
import { type Cuts, cutsOf, newRangeMemory, type RangeFound, rangeCount, scanRange } from "./ranges.ts";
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

/** The smallest file that is worth another thread: a smaller one is read in the time in which that starts. */
export const minSharedBytes = 2 ** 26;

/** The program of a helper thread: it waits to be told what to read. Without it nobody helps. */
const helpingProgram = join(import.meta.dirname, "range-reader.cjs");

/** More threads than this read no faster than memory is filled, and each takes some 25 MB. */
const maxThreads = 4;

/** From here on a few milliseconds are nothing, and what is loaded for later would only add to the memory that reading takes. */
const minBytesToWait = 2 ** 30;

/** Ranges are large beside what it takes to put one to the others; in a very large file there are no more than this many. */
const smallestStep = 2 ** 23;
const maxRanges = 64;

/** How reading so many bytes is shared on this machine; undefined if there is nobody to share with. */
export const sharingHere = (bytes: number): Sharing | undefined => {
  const threads = Math.min(availableParallelism(), maxThreads);
  const stepBytes = Math.max(smallestStep, Math.ceil(bytes / maxRanges));
  if (threads === 1 || !existsSync(helpingProgram)) return undefined;
  return { program: helpingProgram, threads, leastBytes: minSharedBytes, stepBytes };
};

/**
 * Keeps small, in each thread, the part of the heap in which all that it makes begins: V8 would let it grow to three times
 * 16 MB. Without this, checking 170 MB in which every line has a finding takes half as much memory again (131 MB, 196 MB), and
 * no less time. It holds for all threads, until another one starts, which therefore says it again.
 */
export const haveSmallNursery = (): void => setFlagsFromString("--semi-space-growth-factor=1");

/** What a helping thread is told. */
export interface HelperTask {
  readonly descriptor: number;
  readonly name: string;
  readonly options: Omit<ScanOptions, "signal" | "found">;
  readonly cuts: Cuts;
  /** The next range that nobody has taken. */
  readonly next: Int32Array;
}

/** What a helping thread hands over: of a range, what was found, or nothing if it can't be read as one. */
export interface HelperResult {
  readonly position: number;
  readonly range: RangeFound | undefined;
}

/** Takes the next range for itself. */
export const takeNext = (next: Int32Array): number => Atomics.add(next, 0, 1);

/**
 * Reads a source from a line on, with others; `onRange` is given what was found, range by range, in order.
 * Gives the offset up to which it was read: less than all of it where a range can't be read by itself, or a helper died.
 * @throws Shrunk; the signal's reason; what `onRange` throws
 */
export const scanShared = async (
  source: Source,
  {
    sharing,
    meanwhile,
    start,
    onRange,
    ...options
  }: ScanOptions & {
    readonly sharing: Sharing;
    readonly meanwhile: (() => Promise<void>) | undefined;
    readonly start: number;
    readonly onRange: (range: RangeFound) => void;
  },
): Promise<number> => {
  const cuts = cutsOf({ ...sharing, start, size: source.bytes.size });
  const count = rangeCount(cuts);
  const next = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const found = new Map<number, RangeFound>();
  let merged = 0;
  let end = start;
  const take = ({ position, range }: HelperResult): void => {
    if (range !== undefined) found.set(position, range);
    else Atomics.store(next, 0, count);
  };
  const merge = (): void => {
    for (let range = found.get(merged); range !== undefined; range = found.get(merged)) {
      options.signal.throwIfAborted();
      found.delete(merged++);
      end = range.end;
      onRange(range);
    }
  };
  // Loaded where somebody helps: it takes Node most of a millisecond.
  const { Worker } = await import("node:worker_threads");
  const open = (): Worker => new Worker(sharing.program);
  const helpers = startHelpers(source, { sharing, open, cuts, next, options, take });
  const memory = newRangeMemory();
  try {
    if (source.bytes.size < minBytesToWait) await meanwhile?.();
    for (let position = takeNext(next); position < count; position = takeNext(next)) {
      take({ position, range: await scanRange(source, { ...options, cuts, position, memory }) });
      merge();
    }
    await helpers.finished(options.signal);
    merge();
  } finally {
    helpers.stop();
  }
  return end;
};

interface Helpers {
  /** Resolves when no helper reads any more. @throws the signal's reason */
  finished(signal: AbortSignal): Promise<void>;
  stop(): void;
}

const startHelpers = (
  { name, bytes: { descriptor = -1 } }: Source,
  {
    sharing: { threads },
    open,
    options: { signal: _, ...options },
    take,
    ...rest
  }: Pick<HelperTask, "cuts" | "next"> & {
    readonly sharing: Sharing;
    readonly open: () => Worker;
    readonly options: ScanOptions;
    readonly take: (result: HelperResult) => void;
  },
): Helpers => {
  const task: HelperTask = { ...rest, descriptor, name, options };
  const workers = Array.from({ length: threads - 1 }, open);
  const ends = workers.map(
    (worker) =>
      new Promise<void>((resolve) => {
        // What a helper that died did not hand over is read again, and fails again if it has to.
        worker.on("message", take);
        worker.on("error", resolve);
        worker.on("exit", resolve);
        worker.ref();
        worker.postMessage(task);
      }),
  );
  return {
    async finished(signal) {
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (signal.aborted) reject(signal.reason);
      });
      await Promise.race([Promise.all(ends), aborted]);
    },
    stop() {
      for (const worker of workers) void worker.terminate();
    },
  };
};
