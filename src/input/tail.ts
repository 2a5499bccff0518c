/** A file that a run still writes: which of its lines are complete, and whether it is still what was read of it. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { newline } from "../json/walk.ts";
import { sniffedBytes } from "./sniff.ts";
import { fileBytes, readRange, type Source } from "./source.ts";

/** Bytes read at once when the last line end is looked for. */
const stepBytes = 2 ** 16;

/** Bytes that have a checksum of their own: a few of them are read again whenever the file changed. */
const segmentBytes = 2 ** 18;

/** What a file is known by, whatever its name. */
interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** What the file is known by that a name leads to; undefined where there is none. */
export const identityOf = async (path: string): Promise<Identity | undefined> =>
  await stat(path, { bigint: true }).catch(() => undefined);

/** A file being followed. Must be closed. */
export class Tail {
  readonly source: Source;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #identity: Identity;
  readonly #bytes: Pick<Source["bytes"], "read" | "readNow">;
  /** Offset behind the last line that was taken, and checksums of all that stands before it, a segment each. */
  #taken = 0;
  readonly #sums: number[] = [];
  /** The last segment that was looked at, of those between the first and the last. */
  #seen = 0;
  /** Size and times when it was last looked at. */
  #facts = "";
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
      touched: async () => !this.#rewritten && !(await this.#isStill()),
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

  /** Remembers lines that were taken. */
  take(lines: Uint8Array): void {
    for (let from = 0; from < lines.length; ) {
      const piece = lines.subarray(from, from + segmentBytes - (this.#taken % segmentBytes));
      const segment = Math.floor(this.#taken / segmentBytes);
      this.#sums[segment] = crc32(piece, this.#sums[segment] ?? 0);
      this.#taken += piece.length;
      from += piece.length;
    }
  }

  /** Remembers that what stands before an offset was taken, though nobody looked at it. @throws Shrunk */
  async skip(end: number): Promise<void> {
    while (this.#taken < end) {
      const length = Math.min(segmentBytes, end - this.#taken);
      this.take(await readRange(this.#bytes, { start: this.#taken, length }));
    }
  }

  /** Whether it was written anew; nothing of it can be read any more then. */
  async isRewritten(): Promise<boolean> {
    this.#rewritten ||= !(await this.#isStill());
    return this.#rewritten;
  }

  /** Whether another file has the name that it was opened by. A name that is nobody's for now is its own still. */
  async isMoved(): Promise<boolean> {
    return !this.is((await identityOf(this.#path)) ?? this.#identity);
  }

  /** Whether it is the file that a name leads to. */
  is({ dev, ino }: Identity): boolean {
    return ino === this.#identity.ino && dev === this.#identity.dev;
  }

  /** Whether what was taken still stands there, as far as the first segment, the last, and another one each time tell. */
  async #isStill(): Promise<boolean> {
    const { size, mtimeNs, ctimeNs } = await this.#file.stat({ bigint: true });
    if (size < this.#taken) return false;
    const facts = `${size} ${mtimeNs} ${ctimeNs}`;
    if (facts === this.#facts) return true;
    const count = this.#sums.length;
    this.#seen = (this.#seen + 1) % Math.max(1, count);
    for (const segment of count === 0 ? [] : new Set([count - 1, 0, this.#seen])) {
      if (!(await this.#holds(segment))) return false;
    }
    this.#facts = facts;
    return true;
  }

  async #holds(segment: number): Promise<boolean> {
    const start = segment * segmentBytes;
    const bytes = Buffer.alloc(Math.min(segmentBytes, this.#taken - start));
    const filled = await this.#bytes.read(bytes, start);
    return filled === bytes.length && crc32(bytes) === this.#sums[segment];
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
