/** Follows a file that another program writes, and detects if it is rewritten. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { newline } from "../json/walk.ts";
import { sniffedBytes } from "./sniff.ts";
import { descriptorBytes, readHead, readRange, type Source } from "./source.ts";

/** Bytes per read in the search for the last line end. */
const searchBytes = 2 ** 16;

/** Bytes per checksum. Some of these segments are read again after each change of the file. */
const segmentBytes = 2 ** 18;

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Returns undefined if the file does not exist or its folder cannot be read. */
export const readIdentity = async (path: string): Promise<Identity | undefined> =>
  await stat(path, { bigint: true }).catch(() => undefined);

/** A followed file, whose lines are taken in order. The caller closes its source. */
export class Tail {
  readonly source: Source;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #identity: Identity;
  readonly #bytes: Source["bytes"];
  /** Offset after the last taken line, and the checksums of the segments before it. */
  #position = 0;
  readonly #checksums: number[] = [];
  /** The segment that was compared in turn at the last comparison. */
  #lastCompared = 0;
  /** Size and times at the last comparison. */
  #stats = "";
  /** No line ends between `#position` and this offset. */
  #searchedEnd = 0;
  #wasRewritten = false;

  private constructor(path: string, opened: { file: FileHandle; name: string; identity: Identity }) {
    const { file, name, identity } = opened;
    this.#path = path;
    this.#file = file;
    this.#identity = identity;
    this.#bytes = descriptorBytes({ descriptor: file.fd, name, size: Number.MAX_SAFE_INTEGER });
    const position = () => (this.#wasRewritten ? 0 : this.#position);
    this.source = {
      name,
      bytes: {
        get size() {
          return position();
        },
        // A rewritten file does not contain the taken lines any more.
        read: (into, at) => (this.#wasRewritten ? 0 : this.#bytes.read(into, at)),
        close: async () => await file.close(),
      },
      // A file that is known to be rewritten reads as empty, so a read of it fails without this comparison.
      touched: async () => !this.#wasRewritten && !(await this.#isUnchanged()),
    };
  }

  /** Opens a regular file. @throws the system's errors */
  static async open(path: string, name: string): Promise<Tail> {
    const file = await open(path, "r");
    return new Tail(path, { file, name, identity: await file.stat({ bigint: true }) });
  }

  /** Offset after the last taken line. */
  get taken(): number {
    return this.#position;
  }

  head(): Buffer {
    return readHead(this.#bytes, sniffedBytes);
  }

  /** Returns the offset after the last complete line. */
  async findCompleteEnd(): Promise<number> {
    const { size } = await this.#file.stat();
    const from = Math.max(this.#position, this.#searchedEnd);
    for (let end = size; end > from; end -= searchBytes) {
      const start = Math.max(from, end - searchBytes);
      const block = Buffer.alloc(end - start);
      const at = block.subarray(0, this.#bytes.read(block, start)).lastIndexOf(newline);
      if (at >= 0) return start + at + 1;
    }
    this.#searchedEnd = Math.max(from, size);
    return this.#position;
  }

  /** Returns the number of bytes after the last taken line. */
  async countUnfinished(): Promise<number> {
    return Math.max(0, (await this.#file.stat()).size - this.#position);
  }

  /** Advances over the next lines. */
  take(lines: Uint8Array): void {
    for (let from = 0; from < lines.length; ) {
      const piece = lines.subarray(from, from + segmentBytes - (this.#position % segmentBytes));
      const segment = Math.floor(this.#position / segmentBytes);
      this.#checksums[segment] = crc32(piece, this.#checksums[segment] ?? 0);
      this.#position += piece.length;
      from += piece.length;
    }
  }

  /** Takes the lines before an offset. @throws ShrunkSourceError */
  async skip(end: number): Promise<void> {
    while (this.#position < end) {
      const length = Math.min(segmentBytes, end - this.#position);
      this.take(await readRange(this.#bytes, { start: this.#position, length }));
    }
  }

  /** True if the file was rewritten. It then reads as empty. */
  async isRewritten(): Promise<boolean> {
    this.#wasRewritten ||= !(await this.#isUnchanged());
    return this.#wasRewritten;
  }

  /** True if another file has its name. */
  async isMoved(): Promise<boolean> {
    return !this.hasIdentity((await readIdentity(this.#path)) ?? this.#identity);
  }

  hasIdentity({ dev, ino }: Identity): boolean {
    return ino === this.#identity.ino && dev === this.#identity.dev;
  }

  /** Compares three segments if size or times of the file changed: the first, the last, and another segment in turn. */
  async #isUnchanged(): Promise<boolean> {
    const { size, mtimeNs, ctimeNs } = await this.#file.stat({ bigint: true });
    if (size < this.#position) return false;
    const facts = `${size} ${mtimeNs} ${ctimeNs}`;
    if (facts === this.#stats) return true;
    const count = this.#checksums.length;
    this.#lastCompared = (this.#lastCompared + 1) % Math.max(1, count);
    for (const segment of count === 0 ? [] : new Set([count - 1, 0, this.#lastCompared])) {
      const start = segment * segmentBytes;
      const bytes = Buffer.alloc(Math.min(segmentBytes, this.#position - start));
      const length = this.#bytes.read(bytes, start);
      if (length < bytes.length || crc32(bytes) !== this.#checksums[segment]) return false;
    }
    this.#stats = facts;
    return true;
  }
}
