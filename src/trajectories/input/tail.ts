/** A file that a run still writes: which of its lines are complete, and whether it is still what was read of it. */

import { type FileHandle, open, stat } from "node:fs/promises";
import { newline } from "../../json/walk.ts";
import { sniffedBytes } from "./sniff.ts";
import { fileBytes, readRange, type Source } from "./source.ts";

/** Bytes read at once when the last line end is looked for. */
const stepBytes = 2 ** 16;

/** Bytes before the place that was read up to by which a file that was written anew is known. */
const printBytes = 256;

/** What became of the file since it was opened: its name may be another file's now. */
export type TailState = "same" | "moved" | "rewritten";

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** A file being followed. Must be closed. */
export class Tail {
  readonly source: Source;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #identity: Identity;
  readonly #bytes: Pick<Source["bytes"], "read" | "readNow">;
  /** Offset behind the last line that was taken, and the bytes before it. */
  #taken = 0;
  #print = Buffer.alloc(0);
  /** Where no line end stands from `#taken` up to here. */
  #searched = 0;
  #rewritten = false;

  private constructor(path: string, { file, name, identity }: Opened) {
    this.#path = path;
    this.#file = file;
    this.#identity = identity;
    this.#bytes = fileBytes(file, { name, size: Number.MAX_SAFE_INTEGER });
    const taken = () => (this.#rewritten ? 0 : this.#taken);
    this.source = {
      name,
      bytes: {
        get size() {
          return taken();
        },
        // What stands in a file that was written anew is not what was read.
        read: async (into, at) => (this.#rewritten ? 0 : await this.#bytes.read(into, at)),
        readNow: (into, at) => (this.#rewritten ? 0 : this.#bytes.readNow(into, at)),
        close: async () => await file.close(),
      },
      // Once that is known, nothing of it is sent any more.
      touched: async () => !this.#rewritten && (await this.#state()) === "rewritten",
    };
  }

  /** Opens a file. @throws what the system says; `NotAFile` */
  static async open(path: string, name: string): Promise<Tail> {
    // Opening a pipe would wait for its writer.
    const there = await stat(path);
    if (!there.isFile()) throw new NotAFile(there.isDirectory());
    const file = await open(path, "r");
    const facts = await file.stat({ bigint: true });
    return new Tail(path, { file, name, identity: facts });
  }

  /** Offset behind the last line that was taken. */
  get taken(): number {
    return this.#taken;
  }

  /** The first bytes of the file. */
  async head(): Promise<Buffer> {
    const head = Buffer.alloc(sniffedBytes);
    return head.subarray(0, await this.#bytes.read(head, 0));
  }

  /** Offset behind the last line that is complete; what stands there is not taken yet. */
  async completeEnd(): Promise<number> {
    const { size } = await this.#file.stat();
    const from = Math.max(this.#taken, this.#searched);
    for (let end = size; end > from; end -= stepBytes) {
      const start = Math.max(from, end - stepBytes);
      const step = Buffer.alloc(end - start);
      const at = step.subarray(0, await this.#bytes.read(step, start)).lastIndexOf(newline);
      if (at >= 0) return start + at + 1;
    }
    this.#searched = Math.max(from, size);
    return this.#taken;
  }

  /** Bytes behind the last line that was taken. */
  async unfinished(): Promise<number> {
    return Math.max(0, (await this.#file.stat()).size - this.#taken);
  }

  /** Remembers that the lines up to an offset were taken. */
  async take(end: number): Promise<void> {
    this.#taken = end;
    const length = Math.min(printBytes, end);
    this.#print = await readRange(this.#bytes, { start: end - length, length }).catch(() => Buffer.alloc(0));
  }

  /** What became of the file; where it is `rewritten`, nothing of it can be read any more. */
  async look(): Promise<TailState> {
    const state = await this.#state();
    if (state === "rewritten") this.#rewritten = true;
    return state;
  }

  async #state(): Promise<TailState> {
    if ((await this.#file.stat()).size < this.#taken) return "rewritten";
    const print = Buffer.alloc(this.#print.length);
    await this.#bytes.read(print, this.#taken - print.length);
    if (!print.equals(this.#print)) return "rewritten";
    // A name that is nobody's for now is the old file's still.
    const now = await stat(this.#path, { bigint: true }).catch(() => this.#identity);
    return now.ino === this.#identity.ino && now.dev === this.#identity.dev ? "same" : "moved";
  }
}

interface Opened {
  readonly file: FileHandle;
  readonly name: string;
  readonly identity: Identity;
}

/** What is to be followed is a folder, a pipe or a device. */
export class NotAFile extends Error {
  readonly isFolder: boolean;
  constructor(isFolder: boolean) {
    super();
    this.isFolder = isFolder;
  }
}
