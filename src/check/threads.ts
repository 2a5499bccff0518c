/** Reads a source to its end. For a large one, threads take range after range, and results are merged in order. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { newScanResult, type ScanResultData, toScanResultData } from "../groups/parts/scan-result.ts";
import { type Bytes, findTextStart, isBlank, readBlocks, readFrames, type Source } from "../input/index.ts";
import { newline } from "../json/walk.ts";
import type { ScanOptions } from "./checker.ts";
import type { Strictness } from "./rules/rules.ts";
import { Scan } from "./scan.ts";

export interface ThreadSharing {
  readonly program: string;
  /** Number of threads, including this one. */
  readonly threads: number;
  readonly minBytes: number;
  readonly rangeBytes: number;
}

/** V8 compiles the checker once for each thread. Two threads read a smaller file no faster than one. */
export const minSharedBytes = 2 ** 28;

/** The program of a helper. If it is missing, this thread reads alone. */
const program = join(import.meta.dirname, "range-reader.cjs");

/** More threads would wait for memory, and each takes 25 MB. */
const maxThreads = 4;

/** V8's young generation would grow to 16 MB and be no faster. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** A range must be large enough to be worth merging, and a large file has a bounded number of ranges. */
const minRangeBytes = 2 ** 23;
const maxRanges = 64;

const chooseSharing = (bytes: number): ThreadSharing | undefined => {
  const threads = Math.min(availableParallelism(), maxThreads);
  const stepBytes = Math.max(minRangeBytes, Math.ceil(bytes / maxRanges));
  return threads > 1 && existsSync(program)
    ? { program, threads, minBytes: minSharedBytes, rangeBytes: stepBytes }
    : undefined;
};

/** Task of a helper. Threads share `next`, the index of the next free range. */
export interface HelperTask extends Pick<ScanOptions, "index" | "groupBy"> {
  readonly descriptor: number;
  readonly name: string;
  readonly strictness: Strictness;
  readonly hasDigests: boolean;
  /** Offset of the first line of the first range. */
  readonly start: number;
  readonly size: number;
  readonly stepBytes: number;
  readonly next: Int32Array;
}

/** Result of a range, with lines counted from 1. */
interface RangeResult {
  readonly position: number;
  /** Undefined if the range contains or borders a line that is too long to be read in ranges. */
  readonly found: ScanResultData | undefined;
  readonly lines: number;
  readonly end: number;
}

const never = new AbortController().signal;

/** Scans ranges until other threads have taken the rest. @throws ShrunkSourceError; the signal's reason */
export async function* scanRanges(
  source: Source,
  task: Omit<HelperTask, "descriptor" | "name">,
  signal = never,
): AsyncGenerator<RangeResult, void> {
  const { start: first, size, stepBytes, next, strictness, hasDigests, index, groupBy } = task;
  const memory: Buffer[] = [];
  const read = async (position: number): Promise<RangeResult> => {
    const from = first + position * stepBytes;
    const start = position === 0 ? from : await findLineStart(source, from);
    const end = await findLineStart(source, Math.min(size, from + stepBytes));
    const tooLong = { position, found: undefined, lines: 0, end: 0 };
    if (start === undefined || end === undefined) return tooLong;
    const result = newScanResult(strictness, hasDigests);
    const scan = new Scan(source, { index, groupBy, result });
    for await (const block of readBlocks(source.bytes, { start, end, memory })) {
      signal.throwIfAborted();
      if (block.kind !== "lines") return tooLong;
      scan.scanLines(block);
    }
    return { position, found: toScanResultData(scan.found), lines: scan.lines, end };
  };
  for (;;) {
    const position = Atomics.add(next, 0, 1);
    if (first + position * stepBytes >= size) return;
    yield await read(position);
  }
}

/** Longer lines are read by one thread, to save memory. */
const maxLineBytes = 2 ** 20;

const lineStartBytes = 2 ** 14;

/** Returns the offset of the first line start at or after `from`; undefined if the line before is too long. */
const findLineStart = async ({ bytes }: Source, from: number): Promise<number | undefined> => {
  if (from >= bytes.size) return bytes.size;
  const look = Buffer.allocUnsafe(lineStartBytes);
  // A line starts at `from` if the byte before is a line end.
  for (let at = from - 1; at < from + maxLineBytes; at += lineStartBytes) {
    const read = await bytes.read(look, at);
    const end = look.subarray(0, read).indexOf(newline);
    if (end >= 0) return at + end + 1;
    if (read < look.length) return bytes.size;
  }
  return undefined;
};

interface SourceOptions extends ScanOptions {
  readonly signal: AbortSignal;
  /** Default: chosen for the machine and the size. */
  readonly sharing?: ThreadSharing | undefined;
  readonly onRead: (bytes: number) => void;
}

/** Reads a source to its end. @throws ShrunkSourceError; the signal's reason */
export const scanSource = async (source: Source, options: SourceOptions): Promise<void> => {
  const { bytes } = source;
  const { signal, onRead, sharing } = options;
  const scan = new Scan(source, options);
  const start = await findTextStart(bytes);
  const isShared = bytes.descriptor !== undefined && bytes.size >= (sharing?.minBytes ?? minSharedBytes);
  const shared = isShared ? (sharing ?? chooseSharing(bytes.size)) : undefined;
  const isOfLines = shared !== undefined && (await startsWithLine(bytes, start));
  const at = isOfLines ? await scanShared(source, { ...options, sharing: shared, start, scan }) : start;
  for await (const frame of readFrames(bytes, { start: at, isBegun: at > start })) {
    signal.throwIfAborted();
    await scan.scanFrame(frame);
    onRead(frame.kind === "lines" ? frame.start + frame.bytes.length : frame.end);
  }
  onRead(bytes.size);
};

const startsWithLine = async (bytes: Bytes, start: number): Promise<boolean> => {
  for await (const frame of readFrames(bytes, { start, isBegun: false })) {
    return frame.kind === "lines" && !isBlank(frame.bytes);
  }
  return false;
};

interface SharedOptions extends SourceOptions {
  readonly sharing: ThreadSharing;
  readonly start: number;
  readonly scan: Scan;
}

/** Reads lines with helpers. Returns the offset that was reached: a line can be too long, or a helper die. */
const scanShared = async (source: Source, options: SharedOptions): Promise<number> => {
  const { sharing, start, scan, onRead, signal, index, groupBy, result: found } = options;
  const { size, descriptor = -1 } = source.bytes;
  const next = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { strictness } = found.problems;
  const ranges = { start, size, stepBytes: sharing.rangeBytes, next, strictness, hasDigests: found.parts.hasDigests };
  const task: HelperTask = { ...ranges, index, groupBy, descriptor, name: source.name };
  const waiting = new Map<number, Parameters<Scan["mergeRange"]>[0] & Pick<RangeResult, "end">>();
  let merged = 0;
  let end = start;
  const take = ({ position, found: own, lines, end: after }: RangeResult): void => {
    if (own !== undefined) waiting.set(position, { found: own, lines, end: after });
    // Stops all threads from taking another range.
    else Atomics.store(next, 0, 2 ** 30);
  };
  const merge = (): void => {
    for (let range = waiting.get(merged); range !== undefined; range = waiting.get(merged)) {
      signal.throwIfAborted();
      waiting.delete(merged++);
      scan.mergeRange(range);
      end = range.end;
      onRead(end);
    }
  };
  // Loaded only for helpers: it takes Node most of a millisecond.
  const { Worker } = await import("node:worker_threads");
  const helpers = Array.from({ length: sharing.threads - 1 }, () => new Worker(sharing.program, { resourceLimits }));
  const stop = (): void => {
    for (const helper of helpers) void helper.terminate();
  };
  const ends = helpers.map(
    (helper) =>
      new Promise<void>((resolve) => {
        // This thread reads the ranges of a dead helper again.
        helper.on("message", take).on("error", () => resolve());
        helper.on("exit", () => resolve()).postMessage(task);
      }),
  );
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const result of scanRanges(source, task, signal)) {
      take(result);
      merge();
    }
    await Promise.all(ends);
    signal.throwIfAborted();
    merge();
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
  return end;
};
