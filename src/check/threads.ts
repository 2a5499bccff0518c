/** Reads a source to its end. Threads share a large one: each takes range after range, and what they find is merged in order. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { newScanResult, type ScanResultData, toScanResultData } from "../groups/parts/scan-result.ts";
import { type Bytes, findTextStart, isBlank, readBlocks, readFrames, type Source } from "../input/index.ts";
import { newline } from "../json/walk.ts";
import type { Strictness } from "./rules/rules.ts";
import { Scan, type ScanOptions } from "./scan.ts";

/** How reading is shared. */
export interface ThreadSharing {
  readonly program: string;
  /** Threads that read, this one included. */
  readonly threads: number;
  readonly minBytes: number;
  readonly rangeBytes: number;
}

/** Bytes of the smallest file that is worth another thread: a smaller one is read while the thread starts. */
export const minSharedBytes = 2 ** 26;

/** The program of a helping thread. It waits for its task. Without the program, nobody helps. */
const program = join(import.meta.dirname, "range-reader.cjs");

/** More threads would wait for memory, and each takes some 25 MB. */
const maxThreads = 4;

/** What the young generation of a helping thread takes at most: V8 would let it grow to 16 MB, and be no faster. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** Merging a range must cost little next to reading it. A very large file has no more than this many ranges. */
const minRangeBytes = 2 ** 23;
const maxRanges = 64;

/** How reading so many bytes is shared on this machine; undefined if there is no other thread. */
const chooseSharing = (bytes: number): ThreadSharing | undefined => {
  const threads = Math.min(availableParallelism(), maxThreads);
  const stepBytes = Math.max(minRangeBytes, Math.ceil(bytes / maxRanges));
  return threads > 1 && existsSync(program)
    ? { program, threads, minBytes: minSharedBytes, rangeBytes: stepBytes }
    : undefined;
};

/** What a helping thread is told. The next range that no thread has taken is counted in memory that threads share. */
export interface HelperTask extends Pick<ScanOptions, "index" | "groupBy"> {
  readonly descriptor: number;
  readonly name: string;
  readonly judgement: Strictness;
  readonly isMarked: boolean;
  /** Offset of the first line of the first range. */
  readonly start: number;
  readonly size: number;
  readonly stepBytes: number;
  readonly next: Int32Array;
}

/** A range. Its lines are counted from 1. */
export interface RangeResult {
  readonly position: number;
  /** Undefined if it has, or ends next to, a line that is too long to be read in ranges. */
  readonly found: ScanResultData | undefined;
  readonly lines: number;
  /** Offset after its last line. */
  readonly end: number;
}

const never = new AbortController().signal;

/**
 * Reads ranges for as long as there are any that no other thread has taken.
 * @throws Shrunk; the signal's reason
 */
export async function* scanRanges(
  source: Source,
  { start: first, size, stepBytes, next, judgement, isMarked, index, groupBy }: Omit<HelperTask, "descriptor" | "name">,
  signal = never,
): AsyncGenerator<RangeResult, void> {
  const memory: Buffer[] = [];
  let enough: ReadonlySet<string> = new Set();
  const read = async (position: number): Promise<RangeResult> => {
    const from = first + position * stepBytes;
    const start = position === 0 ? from : await findLineStart(source, from);
    const end = await findLineStart(source, Math.min(size, from + stepBytes));
    const tooLong = { position, found: undefined, lines: 0, end: 0 };
    if (start === undefined || end === undefined) return tooLong;
    const scan = new Scan(source, {
      index,
      groupBy,
      result: newScanResult(judgement, { fullRules: enough, hasDigests: isMarked }),
    });
    for await (const block of readBlocks(source.bytes, { start, end, memory })) {
      signal.throwIfAborted();
      if (block.kind !== "lines") return tooLong;
      scan.scanLines(block);
    }
    enough = scan.found.problems.enough;
    return { position, found: toScanResultData(scan.found), lines: scan.lines, end };
  };
  for (;;) {
    const position = Atomics.add(next, 0, 1);
    if (first + position * stepBytes >= size) return;
    yield await read(position);
  }
}

/** Bytes of the longest line in a range. One thread reads longer lines, to save memory. */
const maxLineBytes = 2 ** 20;

/** Bytes that most lines end within. */
const lineStartBytes = 2 ** 14;

/** Offset of the first line that begins at `from` or after it; undefined if the line before is too long. */
const findLineStart = async ({ bytes }: Source, from: number): Promise<number | undefined> => {
  if (from >= bytes.size) return bytes.size;
  const look = Buffer.allocUnsafe(lineStartBytes);
  // A line begins at `from` if the byte before it ends one.
  for (let at = from - 1; at < from + maxLineBytes; at += lineStartBytes) {
    const read = await bytes.read(look, at);
    const end = look.subarray(0, read).indexOf(newline);
    if (end >= 0) return at + end + 1;
    if (read < look.length) return bytes.size;
  }
  return undefined;
};

/** How a source is read. */
interface SourceOptions extends ScanOptions {
  readonly signal: AbortSignal;
  /** How a large source is shared among threads. Default: as suits the machine. */
  readonly sharing?: ThreadSharing | undefined;
  /** What this thread does while others begin to read. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
  readonly onRead: (bytes: number) => void;
}

/** Reads a source to its end. @throws Shrunk; the signal's reason */
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

/** True if the first block contains a line, and is not the beginning of one document. */
const startsWithLine = async (bytes: Bytes, start: number): Promise<boolean> => {
  for await (const frame of readFrames(bytes, { start, isBegun: false })) {
    return frame.kind === "lines" && !isBlank(frame.bytes);
  }
  return false;
};

interface SharedOptions extends SourceOptions {
  readonly sharing: ThreadSharing;
  /** Offset of the first line. */
  readonly start: number;
  /** Takes what was found, range by range, in order. */
  readonly scan: Scan;
}

/** Reads lines with others. Gives the offset up to which that was possible: a range may not be read alone, or a helper die. */
const scanShared = async (source: Source, options: SharedOptions): Promise<number> => {
  const { sharing, meanwhile, start, scan, onRead, signal, index, groupBy, result: found } = options;
  const { size, descriptor = -1 } = source.bytes;
  const next = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { strictness: judgement } = found.problems;
  const ranges = { start, size, stepBytes: sharing.rangeBytes, next, judgement, isMarked: found.parts.hasDigests };
  const task: HelperTask = { ...ranges, index, groupBy, descriptor, name: source.name };
  const waiting = new Map<number, Parameters<Scan["mergeRange"]>[0] & Pick<RangeResult, "end">>();
  let merged = 0;
  let end = start;
  const take = ({ position, found: own, lines, end: after }: RangeResult): void => {
    if (own !== undefined) waiting.set(position, { found: own, lines, end: after });
    // Nobody takes another range.
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
  // Loaded only if somebody helps: it takes Node most of a millisecond.
  const { Worker } = await import("node:worker_threads");
  const helpers = Array.from({ length: sharing.threads - 1 }, () => new Worker(sharing.program, { resourceLimits }));
  const stop = (): void => {
    for (const helper of helpers) void helper.terminate();
  };
  const ends = helpers.map(
    (helper) =>
      new Promise<void>((resolve) => {
        // What a helper that died did not hand over is read again, and fails again if it has to.
        helper.on("message", take).on("error", () => resolve());
        helper.on("exit", () => resolve()).postMessage(task);
      }),
  );
  signal.addEventListener("abort", stop, { once: true });
  try {
    await meanwhile?.();
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
