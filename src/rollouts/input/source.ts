/** Defines sources, and reads bytes at any offset. */
import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { getErrorCode } from "../../system/files.ts";
import type { OfOtherSplits } from "../rules/file-rules.ts";
import type { Path } from "../rules/positions.ts";
import { createProblem, type ProblemLocation } from "../rules/problems.ts";
import type { Columns } from "./column-values.ts";
import { inputUnreadable } from "./failures.ts";
import type { SkippedFile } from "./list-folder.ts";
import { tryStat } from "./names.ts";

export interface Bytes {
  readonly size: number;
  /** Reads from the offset `at` until `into` is full or the source ends. Returns the number of read bytes. */
  read(into: Buffer, at: number): number;
  close(): Promise<void>;
  /** The last result of `countUnitsBefore`. */
  lastColumn?: Readonly<Record<"line" | "at" | "units", number>>;
}

export type LineStart = Readonly<Record<"start" | "line", number>>;

export type Source = Readonly<{
  /** A path, or `-` for standard input. */
  name: string;
  bytes: Bytes;
  /** Returns true if the file may have been rewritten since the last call. Ignores appended data. */
  touched?(): Promise<boolean>;
  /** Present if each line is a converted group. */
  originals?: OriginalLines;
}>;

type FileLine = Readonly<{ file: string; line: number }>;

/** A record before conversion, without line ends. */
export type OriginalRecord = FileLine & { readonly bytes: Buffer };

/** How converted records use the key of `--group-by`. */
export type GroupKeyUse = Readonly<{
  isUsed: boolean;
  /** The number of groups of several files. */
  joined: number;
  linesWithout: readonly number[];
  keys: readonly string[];
}>;

/** The original records of the lines of a source. Line numbers begin at 1. */
export interface OriginalLines {
  readonly files: readonly string[];
  readonly canRegroup?: boolean;
  /** Undefined without `--group-by`, and if it has no effect. */
  readonly keyUse?: GroupKeyUse | undefined;
  readonly ofOtherSplits?: OfOtherSplits | undefined;
  /** Returns true if rollcall has reported a fault of the line. */
  isBroken(line: number): boolean;
  positionOf(line: number): FileLine;
  /** For each trajectory, true if its record states no finish reason of the last choice. */
  derivedFinishesOf(line: number): readonly boolean[];
  digestOf(line: number): Uint8Array;
  /** @param path the path in the group */
  locationOf(line: number, path: Path): Promise<ProblemLocation>;
  recordsOf(line: number): Promise<readonly OriginalRecord[]>;
  failedRecordsOf(line: number): Promise<readonly (Buffer | undefined)[]>;
  /** Returns undefined for a file without lines. @param file a name from `locationOf` */
  textOf(file: string): Bytes | undefined;
}

export const closeSources = async (sources: Iterable<Source>) => {
  for (const { bytes } of sources) await bytes.close();
};

export const findText = (sources: readonly Source[], file: string) =>
  sources.find(({ name, originals }) => name === file && !originals)?.bytes ??
  sources.map(({ originals }) => originals?.textOf(file)).find((text) => text);

export const fileOf = (source: Source) => filesOf(source)[0] ?? source.name;

export const filesOf = ({ name, originals }: Pick<Source, "name" | "originals">) => originals?.files ?? [name];

/** Gives other users a right if every file gives this right. @param otherMode the mode of pipes */
export const combineModes = (sources: readonly Pick<Source, "name" | "originals">[], otherMode = 0o666) =>
  sources.flatMap(filesOf).reduce((mode, file) => {
    const facts = file === "-" ? undefined : tryStat(file);
    return mode & (0o600 | (facts?.isFile() ? Number(facts.mode) : otherMode));
  }, 0o666);

/** Returns a line's position before conversion. */
export const locateLine = ({ name, originals }: Source, line: number): FileLine & Pick<ProblemLocation, "readAt"> =>
  originals ? { ...originals.positionOf(line), readAt: `${name}:${line}` } : { file: name, line };

type OpenFile = Readonly<{ descriptor: number; name: string; size: number }>;

/** The caller closes the file. `read` throws Failure `input-unreadable`. */
export const openDescriptorBytes = ({ descriptor, name, size }: OpenFile): Bytes => ({
  size,
  read(into, at) {
    const wanted = Math.min(into.length, size - at);
    let filled = 0;
    while (filled < wanted) {
      const bytesRead = accessFile(name, () => readSync(descriptor, into, filled, wanted - filled, at + filled));
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  },
  async close() {},
});

/** Closes once, because another file can get the number of the descriptor. */
export const createCloser = (descriptor: number) => {
  let isOpen = true;
  return async () => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
};

/** @param head the cached first bytes */
export const openReopenedBytes = ({ name, size, head }: Pick<OpenFile, "name" | "size"> & { head: Buffer }): Bytes => ({
  size,
  read(into, at) {
    if (at + into.length <= head.length) return head.copy(into, 0, at);
    const descriptor = accessFile(name, () => openSync(name, "r"));
    try {
      return openDescriptorBytes({ descriptor, name, size }).read(into, at);
    } finally {
      closeSync(descriptor);
    }
  },
  async close() {},
});

const accessFile = (file: string, access: () => number) => {
  try {
    return access();
  } catch (cause) {
    const code = getErrorCode(cause);
    const problems = [createProblem("file-unreadable", { code }, { file })];
    throw inputUnreadable(file, code, { cause, problems });
  }
};

export const openMemoryBytes = (content: Buffer): Bytes => ({
  size: content.length,
  read: (into, at) => content.subarray(at).copy(into),
  async close() {},
});

export class ShrunkSourceError extends Error {}

type ByteRange = Readonly<Record<"start" | "length", number>>;

/** @throws ShrunkSourceError */
export const readRangeNow = (bytes: Pick<Bytes, "read">, { start, length }: ByteRange): Buffer<ArrayBuffer> => {
  const into = Buffer.allocUnsafe(length);
  if (bytes.read(into, start) < length) throw new ShrunkSourceError();
  return into;
};

/** Lets other tasks run, and then reads a range. @throws ShrunkSourceError */
export const readRange = async (bytes: Pick<Bytes, "read">, range: ByteRange): Promise<Buffer<ArrayBuffer>> => {
  await setImmediate();
  return readRangeNow(bytes, range);
};

/** The first bytes of most records in rollcall's format, up to a list that identifies the format. */
export const ownHeadBytes = 128;

export const readHead = (bytes: Bytes, length: number) => {
  const head = Buffer.allocUnsafe(Math.min(length, bytes.size));
  return head.subarray(0, bytes.read(head, 0));
};

/** The limit is just below the maximum length of a string in Node. */
export const maxDocumentBytes = 2 ** 29 - 2 ** 10;

export const documentTooLong = `it is over the limit of ${maxDocumentBytes} bytes for a document (write the document as several files)`;

export const unreadableRecord = (
  text: Pick<RawRecord, "label" | "within" | "member" | "columns">,
  fault: string,
  { start, line }: LineStart = { start: 0, line: 1 },
): RawRecord => ({ ...text, start, line, bytes: Buffer.alloc(0), fault });

export type RawRecord = Readonly<{
  /** The bytes are valid until the next record is read. */
  bytes: Buffer;
  /** The columns of a Parquet row; empty for an unreadable file. Each access to the `bytes` of a row composes JSON. */
  columns?: Columns;
  /** A column that is declared as text, but has bytes that are not UTF-8. */
  invalidText?: string | undefined;
  /** The name of a file or of a part, such as `run.eval!samples/1_epoch_1.json`. */
  label: string;
  line: number;
  start: number;
  /** The bytes of the file; absent for composed records and members. */
  within?: Bytes;
  member?: string;
  /** The index in an array that is on one line, where the line does not tell records apart. */
  element?: number | undefined;
  /** True if the record is a whole file, although the format allows lines. */
  isDocument?: boolean;
  /** The defect of an unreadable record. The record's `bytes` are empty. */
  fault?: string | undefined;
}>;

/** The caller must use each batch before requesting the next batch. */
export type Batches = AsyncGenerator<Iterable<RawRecord>, void>;

export interface Records {
  /** @throws ShrunkSourceError; Failure `input-unreadable`; the signal's reason */
  batches(): Batches;
  /** Absent if `batches` yields the first record as fast. */
  readFirst?(): Promise<RawRecord | undefined>;
  reread(position: number): Promise<RawRecord | undefined>;
  readNow?(position: number): Buffer | undefined;
  /** True if the file has several documents, each of which is read like a file. */
  readonly isList?: boolean;
  locate(position: number): Pick<RawRecord, "label" | "line">;
  readSibling?(name: string): Buffer | undefined;
  /** Members of an archive that could hold rollouts and are not records. */
  readonly skipped?: readonly SkippedFile[];
  readonly text?: Bytes;
}

export type ReadLimits = Readonly<{ maxUnpackedBytes: number; signal: AbortSignal }>;

/** The only record of a file without readable records. */
export const openUnreadable = (record: RawRecord): Records => ({
  async *batches() {
    yield [record];
  },
  reread: async () => record,
  locate: () => record,
});
