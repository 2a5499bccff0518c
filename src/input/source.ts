/** A source of bytes that can be read at any range: a file, or a stored stream. */

import { closeSync, openSync, read, readSync, statSync } from "node:fs";
import { promisify } from "node:util";
import type { Path } from "../check/rules/positions.ts";
import { createProblem, type ProblemLocation } from "../check/rules/problems.ts";
import type { Failure } from "../failure.ts";
import { getErrorCode } from "../files.ts";
import { inputChanged as changed, inputUnreadable } from "./failures.ts";

/** Bytes that can be read at any offset, as often as needed. */
export interface Bytes {
  readonly size: number;
  /** The file behind them, if other threads can read it too. */
  readonly descriptor?: number;
  /** Fills as much of `into` as there is from `at` on. Returns the number of bytes, 0 at the end. */
  read(into: Buffer, at: number): Promise<number>;
  /** The same, synchronously: for a few bytes that were read before and are still in memory. */
  readSync(into: Buffer, at: number): number;
  close(): Promise<void>;
  /** The column that was computed last: UTF-16 units between the start of a line and an offset in it. */
  lastColumn?: { readonly line: number; readonly at: number; readonly units: number };
}

/** A position in a source, and its line. */
export interface Position {
  readonly start: number;
  readonly line: number;
}

/** One input. */
export interface Source {
  /** As it was given; `-` for standard input. */
  readonly name: string;
  readonly bytes: Bytes;
  /** True if it may have changed since the last call, other than by growing. Its bytes then show if it did. */
  touched(): Promise<boolean>;
  /** True if another file with other bytes has its name now. Absent if that cannot happen. */
  isReplaced?(): Promise<boolean>;
  /** The origin of its lines, if they were converted from another tool's files. Each line is a group. */
  readonly origin?: Origin;
}

/** A line of a file. */
interface FileLine {
  readonly file: string;
  readonly line: number;
}

/** The origin of converted lines, which are counted from 1. */
export interface Origin {
  /** The files that the lines were made of, as they were given. */
  readonly files: readonly string[];
  /** True if a line stands for records that could not be converted, and that were reported. */
  isBroken(line: number): boolean;
  /** The file and line of the first record of a line's group. */
  positionOf(line: number): FileLine;
  /** The digest that the ledger has for the group of a line, or for some of its trajectories: that of its records. */
  digestOf(line: number, kept?: readonly number[]): Uint8Array;
  /** The position in a record of the value at a path of a line's group. */
  locationOf(line: number, path: Path): Promise<ProblemLocation>;
  /** The records of a line's group, one per line, without line ends. */
  recordsOf(line: number): Promise<readonly Buffer[]>;
  /** The text of a file that `locationOf` names. */
  textOf(file: string): Bytes | undefined;
}

/** Returns the text of a file that a position names: a source, or a file that a source was made of. */
export const findText = (sources: readonly Source[], file: string): Bytes | undefined =>
  sources.find(({ name, origin }) => name === file && origin === undefined)?.bytes ??
  sources.map(({ origin }) => origin?.textOf(file)).find((own) => own !== undefined);

/** Returns the first file of a source, as it was given. */
export const fileOf = (source: Source): string => filesOf(source)[0] ?? source.name;

/** Returns the files that a source is made of, as they were given. */
export const filesOf = ({ name, origin }: Pick<Source, "name" | "origin">): readonly string[] =>
  origin?.files ?? [name];

/**
 * Returns the mode of a file that is made of sources: those who can read all of their files can read it.
 * @param otherMode the mode that stands for what is not a file: pipes, standard input, addresses
 */
export const combineModes = (sources: readonly Pick<Source, "name" | "origin">[], otherMode = 0o666): number =>
  sources.flatMap(filesOf).reduce((mode, file) => {
    const facts = statSync(file, { throwIfNoEntry: false });
    return mode & (0o600 | (facts?.isFile() === true ? facts.mode : otherMode));
  }, 0o666);

/** Returns the position of a line for a person: in the file that it was made of, if it was converted. */
export const locateLine = ({ name, origin }: Source, line: number): FileLine & Pick<ProblemLocation, "readAt"> =>
  origin === undefined ? { file: name, line } : { ...origin.positionOf(line), readAt: `${name}:${line}` };

/** An open file. */
interface OpenFile {
  readonly descriptor: number;
  /** Its name in messages. */
  readonly name: string;
  /** Bytes after this offset, such as those that are appended later, are not part of the input. */
  readonly size: number;
}

const readDescriptor = promisify(read);

/** Returns the bytes of an open file, which somebody else closes. Reading throws Failure `input-unreadable`. */
export const descriptorBytes = ({ descriptor, name, size }: OpenFile): Bytes => ({
  size,
  descriptor,
  async read(into, at) {
    const wanted = Math.min(into.length, size - at);
    let filled = 0;
    while (filled < wanted) {
      const reading = readDescriptor(descriptor, into, filled, wanted - filled, at + filled);
      const { bytesRead } = await reading.catch((thrown: unknown) => {
        throw unreadable(name, thrown);
      });
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  },
  readSync(into, at) {
    const wanted = Math.min(into.length, size - at);
    let filled = 0;
    try {
      while (filled < wanted) {
        const bytesRead = readSync(descriptor, into, filled, wanted - filled, at + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
    } catch (thrown) {
      throw unreadable(name, thrown);
    }
    return filled;
  },
  async close() {},
});

/** Returns a function that closes a descriptor once: after that, the number can be another file's. */
export const createCloser = (descriptor: number): (() => Promise<void>) => {
  let isOpen = true;
  return async () => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
};

/** Returns the bytes of a file that is opened for each read, so that many files need no descriptor each. */
export const reopenedBytes = ({
  name,
  size,
  head,
}: Pick<OpenFile, "name" | "size"> & { readonly head: Buffer }): Bytes => {
  const readNow: Bytes["readSync"] = (into, at) => {
    if (at + into.length <= head.length) return head.copy(into, 0, at);
    const descriptor = openForReading(name);
    try {
      return descriptorBytes({ descriptor, name, size }).readSync(into, at);
    } finally {
      closeSync(descriptor);
    }
  };
  return { size, read: async (into, at) => readNow(into, at), readSync: readNow, async close() {} };
};

const openForReading = (name: string): number => {
  try {
    return openSync(name, "r");
  } catch (thrown) {
    throw unreadable(name, thrown);
  }
};

/** A disk or a network file system can fail at any time. */
const unreadable = (file: string, cause: unknown): Failure => {
  const code = getErrorCode(cause);
  const problems = [createProblem("file-unreadable", { code }, { file })];
  return inputUnreadable(file, code, { cause, problems });
};

/** Returns bytes in memory. */
export const memoryBytes = (chunks: readonly Uint8Array[]): Bytes => {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const readNow = (into: Buffer, at: number): number => {
    let [start, filled] = [0, 0];
    for (const chunk of chunks) {
      const from = at + filled - start;
      start += chunk.length;
      if (from < 0 || from >= chunk.length) continue;
      const piece = chunk.subarray(from, from + into.length - filled);
      into.set(piece, filled);
      filled += piece.length;
    }
    return filled;
  };
  return { size, readSync: readNow, read: async (into, at) => readNow(into, at), async close() {} };
};

/** The failure for an input that changed after it was read. The same command reads it again. */
export const inputChanged = (file: string): Failure =>
  changed(file, { problems: [createProblem("input-changed", undefined, { file })] });

/** The source ended before the end of the range: it is shorter than it was. */
export class ShrunkSourceError extends Error {}

/** Reads all of a range. @throws Shrunk */
export const readRange = async (
  bytes: Pick<Bytes, "read">,
  { start, length }: { readonly start: number; readonly length: number },
): Promise<Buffer<ArrayBuffer>> => {
  const into = Buffer.allocUnsafe(length);
  if ((await bytes.read(into, start)) < length) throw new ShrunkSourceError();
  return into;
};

/** Reads the first bytes of a source, fewer if it is shorter. */
export const readHead = async (bytes: Bytes, length: number): Promise<Buffer> => {
  const head = Buffer.alloc(Math.min(length, bytes.size));
  return head.subarray(0, await bytes.read(head, 0));
};

/** Length in bytes of the largest document that is read: the limit of Node's strings. */
export const maxDocumentBytes = 2 ** 29 - 2 ** 10;

/** The problem of a longer document. */
export const documentTooLong = `it is longer than ${maxDocumentBytes} bytes, the most that can be read at once: have it written as several files`;
