/** Reads the parts of a body from the input into the memory they are sent from, and holds them against their checksums. */
import { crc32 } from "node:zlib";
import { Failure } from "../../failure.ts";
import type { Source } from "../input/source.ts";
import { joined, withByte } from "../read/parts/checksums.ts";
import type { Reading } from "../read/read.ts";
import { commaAlone, type LaidOut, Layout, putCommas, separators, widths } from "./layout.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

/** What lies between two parts is read along up to this many bytes, which takes less time than a second read. */
const mostBetween = 2 ** 14;

/** After as many reads, or bytes, everything else gets its turn: signals, answers, the socket. */
const mostReads = 32;
const mostBytes = 2 ** 20;

/** Parts that stand one behind the other in a source, and are read at once. */
interface Run {
  /** Positions of the first, and behind the last, among those laid out. */
  readonly first: number;
  readonly end: number;
  /** What is read, where it is put at first, and where the last of it ends when all is in its place. */
  readonly from: number;
  readonly length: number;
  readonly into: number;
  readonly filled: number;
  /** Whether they lie as they are sent, with a byte in place of each comma between them. */
  readonly isRow: boolean;
}

/** A part that is larger than the memory, as far as it is not read yet. */
interface Rest {
  readonly source: number;
  readonly checksum: number;
  from: number;
  left: number;
  sum: number;
}

/** The memory that a body goes through: what leaves of it, and where its next parts stand. */
export interface SpliceMemory {
  readonly chunk: Buffer;
  readonly laidOut: LaidOut;
}

/** A body on its way through one piece of memory. */
export class Splice {
  readonly #sources: readonly Source[];
  readonly #laidOut: LaidOut;
  readonly #layout: Layout;
  /** The next part among those laid out. */
  #next = 0;
  readonly #chunk: Buffer;
  #filled = 0;
  /** What goes before anything else. */
  #literal: Uint8Array;
  #rest: Rest | undefined;
  #isClosed = false;
  #reads = 0;
  #bytes = 0;

  constructor(
    reading: Reading,
    {
      memory: { chunk, laidOut },
      ...about
    }: { readonly frame: Frame; readonly request: PlannedRequest; readonly memory: SpliceMemory },
  ) {
    this.#sources = reading.sources;
    this.#laidOut = laidOut;
    this.#layout = new Layout(reading, { ...about, laidOut });
    this.#chunk = chunk;
    this.#literal = about.frame.opening;
  }

  /** Whether everything else is to get its turn. */
  get isDue(): boolean {
    return this.#reads >= mostReads || this.#bytes >= mostBytes;
  }

  /** Everything else had its turn. */
  goOn(): void {
    this.#reads = 0;
    this.#bytes = 0;
  }

  /** What `fill` read, valid until it reads more; nothing where the body has ended. */
  take(): Uint8Array {
    const full = this.#chunk.subarray(0, this.#filled);
    this.#filled = 0;
    return full;
  }

  /**
   * Reads on until there is something to take, or the body has ended; false where everything else is to get its turn before.
   * All of a part is read before the last of it can be taken, so that a changed file can't be sent whole.
   * @throws Failure `input-changed`, where what is read is not what was checked
   */
  fill(): boolean {
    while (!this.isDue) {
      if (this.#literal.length > 0 && !this.#addLiteral()) return true;
      if (this.#rest !== undefined) {
        if (this.#filled === this.#chunk.length) return true;
        this.#addRest(this.#rest);
      } else if (this.#next === this.#layout.count && !this.#goFurther()) {
        if (this.#isClosed) return true;
        this.#isClosed = true;
        this.#literal = this.#layout.behind;
      } else {
        const run = this.#runThatFits();
        if (run !== undefined) this.#addRun(run);
        else if (this.#filled > 0) return true;
        else this.#begin();
      }
    }
    return false;
  }

  /** Lays out the next parts; whether there are any. */
  #goFurther(): boolean {
    this.#next = 0;
    return this.#layout.advance() > 0;
  }

  /** Adds what there is room for; whether that was all. */
  #addLiteral(): boolean {
    const some = this.#literal.subarray(0, this.#chunk.length - this.#filled);
    this.#chunk.set(some, this.#filled);
    this.#filled += some.length;
    this.#literal = this.#literal.subarray(some.length);
    return this.#literal.length === 0;
  }

  /**
   * The next parts that stand one behind the other and that there is room for; undefined where there is none for the next.
   * What is read of them is put so far back that none is overwritten by what goes before it: where they lie as they are
   * sent, that is where they belong.
   */
  #runThatFits(): Run | undefined {
    const { starts, lengths, sources, before } = this.#laidOut;
    const { count } = this.#layout;
    const room = this.#chunk.length;
    const first = this.#next;
    const from = starts[first] ?? 0;
    const source = sources[first];
    let behind = from;
    let filled = this.#filled;
    let into = 0;
    let isRow = true;
    let end = first;
    for (; end < count; end++) {
      const start = starts[end] ?? 0;
      if (start < behind || start > behind + mostBetween || sources[end] !== source) break;
      const length = lengths[end] ?? 0;
      const place = filled + (widths[before[end] ?? 0] ?? 0);
      const shift = place - (start - from);
      const least = shift > into ? shift : into;
      if (place + length > room || least + (start - from) + length > room) break;
      if (end > first && (least !== into || shift !== into || before[end] !== commaAlone)) isRow = false;
      into = least;
      filled = place + length;
      behind = start + length;
    }
    return end === first ? undefined : { first, end, from, length: behind - from, into, filled, isRow };
  }

  /** Reads parts, puts each in its place behind what goes before it, and holds all that came of it against their checksums. */
  #addRun(run: Run): void {
    const { first, end, from, length, into, filled, isRow } = run;
    const { sources, before, lengths } = this.#laidOut;
    const source = sources[first] ?? 0;
    this.#read(source, { from, into, length });
    const alone = isRow ? first + 1 : end;
    let checksum = 0;
    let place = this.#filled;
    for (let at = first; at < alone; at++) {
      checksum = this.#put(at, run, { checksum, place });
      place += (widths[before[at] ?? 0] ?? 0) + (lengths[at] ?? 0);
    }
    if (isRow) checksum = putCommas(this.#laidOut, { first: alone, end, chunk: this.#chunk, place, checksum });
    if ((crc32(this.#chunk.subarray(this.#filled, filled)) | 0) !== checksum) throw this.#changed(source);
    this.#filled = filled;
    this.#next = end;
  }

  /** Puts what was read of a part in its place, behind what goes before it; gives the checksum up to there. */
  #put(
    at: number,
    { into, from }: Run,
    { checksum, place }: { readonly checksum: number; readonly place: number },
  ): number {
    const { starts, lengths, before, checksums } = this.#laidOut;
    const bytes = separators[before[at] ?? 0] ?? new Uint8Array(0);
    const here = into + (starts[at] ?? 0) - from;
    const own = lengths[at] ?? 0;
    const there = place + bytes.length;
    if (there !== here) this.#chunk.copyWithin(there, here, here + own);
    let sum = checksum;
    for (let byte = 0; byte < bytes.length; byte++) {
      const value = bytes[byte] ?? 0;
      this.#chunk[place + byte] = value;
      sum = withByte(sum, value);
    }
    return joined(sum, checksums[at] ?? 0, own);
  }

  /** Begins with a part that is larger than the memory. */
  #begin(): void {
    const { starts, lengths, before, checksums, sources } = this.#laidOut;
    const at = this.#next++;
    this.#literal = separators[before[at] ?? 0] ?? new Uint8Array(0);
    const [source = 0, checksum = 0, from = 0, left = 0] = [sources[at], checksums[at], starts[at], lengths[at]];
    this.#rest = { source, checksum, from, left, sum: 0 };
  }

  #addRest(rest: Rest): void {
    const length = Math.min(rest.left, this.#chunk.length - this.#filled);
    this.#read(rest.source, { from: rest.from, into: this.#filled, length });
    rest.sum = crc32(this.#chunk.subarray(this.#filled, this.#filled + length), rest.sum);
    rest.from += length;
    rest.left -= length;
    if (rest.left === 0) {
      if ((rest.sum | 0) !== rest.checksum) throw this.#changed(rest.source);
      this.#rest = undefined;
    }
    this.#filled += length;
  }

  #read(
    source: number,
    { from, into, length }: { readonly from: number; readonly into: number; readonly length: number },
  ): void {
    const read = this.#sourceAt(source).bytes.readNow(this.#chunk.subarray(into, into + length), from);
    if (read < length) throw this.#changed(source);
    this.#reads++;
    this.#bytes += length;
  }

  #changed(source: number): Failure {
    return new Failure("input-changed", { file: this.#sourceAt(source).name });
  }

  #sourceAt(position: number): Source {
    const source = this.#sources[position];
    if (source === undefined) throw new RangeError(`no source ${position}`);
    return source;
  }
}
