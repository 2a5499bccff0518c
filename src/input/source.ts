/** A source of bytes that can be read again: a file as it stands, or what was kept of a stream. */

import { closeSync, openSync, read, readSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import type { Path } from "../check/rules/places.ts";
import { problemOf, type Spot } from "../check/rules/problems.ts";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";

/** Bytes that can be read at any offset, as often as needed. */
export interface Bytes {
  readonly size: number;
  /** Of the file behind them, by which other threads can read them too. */
  readonly descriptor?: number;
  /** Fills as much of `into` as there is from `at` on; gives the number of bytes, 0 at the end. */
  read(into: Buffer, at: number): Promise<number>;
  /** The same while everything else waits: for a little at a time, which was read before and is in memory still. */
  readNow(into: Buffer, at: number): number;
  close(): Promise<void>;
}

/** One input. */
export interface Source {
  /** As it was given; `-` for standard input. */
  readonly name: string;
  readonly bytes: Bytes;
  /** Whether it may have changed since this was last asked, other than by growing: its bytes then say whether it did. */
  touched(): Promise<boolean>;
  /** Whether something else stands now where it stood, with other bytes; absent where nothing can. */
  replaced?(): Promise<boolean>;
  /** Where its lines come from, where they were made of another tool's files: a group each. */
  readonly origin?: Origin;
}

/** A line of a file. */
interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** The text of a file whose places are named: of a source, or of a file that one was made of. */
export const textOf = (sources: readonly Source[], file: string): Bytes | undefined =>
  sources.find(({ name }) => name === file)?.bytes ??
  sources.map(({ origin }) => origin?.textOf(file)).find((own) => own !== undefined);

/** The file that a source is, or the first that it was made of, as it was named. */
export const fileOf = (source: Source): string => filesOf(source)[0] ?? source.name;

/** The files that a source is made of, as they were named. */
export const filesOf = ({ name, origin }: Pick<Source, "name" | "origin">): readonly string[] =>
  origin?.files ?? [name];

/**
 * Returns the mode of a file that is made of sources: those who can read all of their files can read it.
 * @param ofOthers the mode that stands for what is not a file: pipes, standard input, addresses
 */
export const modeOf = (sources: readonly Pick<Source, "name" | "origin">[], ofOthers = 0o666): number =>
  sources.flatMap(filesOf).reduce((mode, file) => {
    const facts = statSync(file, { throwIfNoEntry: false });
    return mode & (0o600 | (facts?.isFile() === true ? facts.mode : ofOthers));
  }, 0o666);

/** Where a line of a source stands for a person: in the file that it was made of, where it was. */
export const placeOfLine = ({ name, origin }: Source, line: number): FilePlace & Pick<Spot, "readAt"> =>
  origin === undefined ? { file: name, line } : { ...origin.placeOf(line), readAt: `${name}:${line}` };

/** Where the lines of a source come from; they are counted from 1. */
export interface Origin {
  /** The files that they were made of, as they were named. */
  readonly files: readonly string[];
  /** Whether a line stands for what could not be converted: what is wrong with it was said. */
  isBroken(line: number): boolean;
  /** The file and line of the first of what a line's group was made of. */
  placeOf(line: number): FilePlace;
  /** What the ledger knows the group of a line by, or some of its trajectories: a digest of what it was made of, whoever made it. */
  digestOf(line: number, kept?: readonly number[]): Uint8Array;
  /** Where the value at a path of a line's group stood. */
  spotOf(line: number, path: Path): Promise<Spot>;
  /** What a line's group was made of, a line each, without line ends. */
  recordsOf(line: number): Promise<readonly Buffer[]>;
  /** The text of a file whose places are named. */
  textOf(file: string): Bytes | undefined;
}

/**
 * The bytes of an open file, up to the size it has now: what is appended later is not part of it.
 * Reading throws Failure `input-unreadable` where the system can't.
 */
export const fileBytes = (file: FileHandle, { name, size }: Pick<OpenFile, "name" | "size">): Bytes => ({
  ...descriptorBytes({ descriptor: file.fd, name, size }),
  async close() {
    await file.close();
  },
});

const readDescriptor = promisify(read);

/** A file that is open. */
interface OpenFile {
  readonly descriptor: number;
  /** What it is called where it can't be read. */
  readonly name: string;
  readonly size: number;
}

/** The bytes of a file that somebody else opened, and closes; reading throws as that of `fileBytes`. */
export const descriptorBytes = ({ descriptor, name, size }: OpenFile): Bytes => ({
  size,
  descriptor,
  async read(into, at) {
    const wanted = Math.min(into.length, size - at);
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await readDescriptor(descriptor, into, filled, wanted - filled, at + filled).catch(
        (thrown: unknown) => {
          throw unreadable(name, thrown);
        },
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  },
  readNow(into, at) {
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

/** Opens one of many files whenever it is read, and closes the one before: no descriptor a file stays open. */
export class OneOpenFile {
  #name: string | undefined;
  #descriptor = -1;

  /** The bytes of a file, which begin with a head that was read; reading throws as that of `fileBytes`. */
  bytesOf({ name, size, head }: Pick<OpenFile, "name" | "size"> & { readonly head: Buffer }): Bytes {
    const readNow: Bytes["readNow"] = (into, at) =>
      at + into.length <= head.length
        ? head.copy(into, 0, at)
        : descriptorBytes({ descriptor: this.#open(name), name, size }).readNow(into, at);
    return {
      size,
      read: async (into, at) => readNow(into, at),
      readNow,
      close: async () => this.#close(),
    };
  }

  #open(name: string): number {
    if (this.#name === name) return this.#descriptor;
    this.#close();
    try {
      this.#descriptor = openSync(name, "r");
    } catch (thrown) {
      throw unreadable(name, thrown);
    }
    this.#name = name;
    return this.#descriptor;
  }

  #close(): void {
    if (this.#name !== undefined) closeSync(this.#descriptor);
    this.#name = undefined;
  }
}

/** A disk that fails, or a network between: files there can be gone from one moment to the next. */
const unreadable = (file: string, cause: unknown): Failure =>
  new Failure(
    "input-unreadable",
    { file, code: codeOf(cause) },
    { cause, problems: [problemOf("file-unreadable", { code: codeOf(cause) }, { file })] },
  );

/** Bytes kept in memory, where there is no place for a file. */
export const memoryBytes = (chunks: readonly Uint8Array[]): Bytes => {
  const starts: number[] = [];
  let size = 0;
  for (const chunk of chunks) {
    starts.push(size);
    size += chunk.length;
  }
  const readNow = (into: Buffer, at: number): number => {
    let filled = 0;
    for (const [index, chunk] of chunks.entries()) {
      const from = at + filled - (starts[index] ?? 0);
      if (from < 0 || from >= chunk.length || filled === into.length) continue;
      const piece = chunk.subarray(from, from + into.length - filled);
      into.set(piece, filled);
      filled += piece.length;
    }
    return filled;
  };
  return { size, readNow, read: async (into, at) => readNow(into, at), async close() {} };
};

/** What a run ends with whose input is no longer what was read: the same command again reads it anew. */
export const inputChanged = (file: string): Failure =>
  new Failure("input-changed", { file }, { problems: [problemOf("input-changed", undefined, { file })] });

/** The range ended before it should: the file is shorter than it was. */
export class Shrunk extends Error {}

/** Reads a range whole. @throws Shrunk */
export const readRange = async (
  bytes: Pick<Bytes, "read">,
  { start, length }: { readonly start: number; readonly length: number },
) => {
  const into = Buffer.allocUnsafe(length);
  const filled = await bytes.read(into, start);
  if (filled < length) throw new Shrunk();
  return into;
};

/** The longest document that is read: Node's texts end there. */
export const longestDocument = 2 ** 29 - 2 ** 10;

/** What is said of a document that is longer. */
export const tooLong = `it is longer than ${longestDocument} bytes, the most that can be read at once: have it written as several files`;
