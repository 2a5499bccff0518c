/** Reads the parts of a body from the input into the memory they are sent from, and holds them against their checksums. */
import { crc32 } from "node:zlib";
import { Failure } from "../../failure.ts";
import type { Source } from "../input/source.ts";
import type { Reading } from "../read/read.ts";
import { Pieces } from "./pieces.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

/** What lies between two parts is read along up to this many bytes, which takes less time than a second read. */
const mostBetween = 2 ** 14;

/** Parts that are read at once. */
const mostParts = 1024;

/** After as many reads, or bytes, everything else gets its turn: signals, answers, the socket. */
const mostReads = 32;
const mostBytes = 2 ** 20;

/** Parts of a source that are read at once: where they stand in it, and where they go. */
interface Run {
  count: number;
  source: number;
  /** What is read: from here on, up to here, and where it is put at first. */
  from: number;
  end: number;
  into: number;
  readonly parts: Uint32Array;
  readonly starts: Float64Array;
  readonly lengths: Float64Array;
  readonly places: Float64Array;
  readonly befores: Uint8Array[];
}

/** A part that is larger than the memory, as far as it is not read yet. */
interface Rest {
  readonly part: number;
  from: number;
  left: number;
  sum: number;
}

/** A body on its way through one piece of memory. */
export class Splice {
  readonly #reading: Reading;
  readonly #pieces: Pieces;
  readonly #chunk: Buffer;
  #filled = 0;
  /** What goes before anything else. */
  #literal: Uint8Array;
  #rest: Rest | undefined;
  #isClosed = false;
  #reads = 0;
  #bytes = 0;
  readonly #run: Run = {
    count: 0,
    source: 0,
    from: 0,
    end: 0,
    into: 0,
    parts: new Uint32Array(mostParts),
    starts: new Float64Array(mostParts),
    lengths: new Float64Array(mostParts),
    places: new Float64Array(mostParts),
    befores: [],
  };

  constructor(
    reading: Reading,
    { frame, request, chunk }: { readonly frame: Frame; readonly request: PlannedRequest; readonly chunk: Buffer },
  ) {
    this.#reading = reading;
    this.#pieces = new Pieces(reading, frame, request);
    this.#chunk = chunk;
    this.#literal = frame.opening;
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
      } else if (this.#pieces.part < 0) {
        if (this.#isClosed) return true;
        this.#isClosed = true;
        this.#literal = this.#pieces.behind;
      } else if (this.#gather() > 0) this.#addRun();
      else if (this.#filled > 0) return true;
      else this.#begin();
    }
    return false;
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
   * Finds the next parts that stand one behind the other in a source and that there is room for; how many. What is read
   * of them goes so far back that none is overwritten by what it is put behind: where they lie as they are sent, with a
   * byte in place of each comma, that is where they belong.
   */
  #gather(): number {
    const { parts } = this.#reading.found;
    const [run, pieces, room] = [this.#run, this.#pieces, this.#chunk.length];
    let filled = this.#filled;
    let count = 0;
    for (; count < mostParts; count++) {
      const { part, before } = pieces;
      if (part < 0) break;
      const start = parts.startOf(part);
      const length = parts.lengthOf(part);
      if (count === 0) {
        run.source = parts.sourceOf(part);
        run.from = start;
        run.into = 0;
      } else if (start < run.end || start > run.end + mostBetween || parts.sourceOf(part) !== run.source) break;
      const place = filled + before.length;
      const into = Math.max(run.into, place - (start - run.from));
      if (place + length > room || into + (start + length - run.from) > room) break;
      run.into = into;
      run.end = start + length;
      run.parts[count] = part;
      run.starts[count] = start;
      run.lengths[count] = length;
      run.places[count] = place;
      run.befores[count] = before;
      filled = place + length;
      pieces.advance();
    }
    run.count = count;
    return count;
  }

  #addRun(): void {
    const { parts } = this.#reading.found;
    const { count, source, from, end, into, parts: own, starts, lengths, places, befores } = this.#run;
    const chunk = this.#chunk;
    this.#read(source, from, into, end - from);
    for (let at = 0; at < count; at++) {
      const here = into + (starts[at] ?? 0) - from;
      const length = lengths[at] ?? 0;
      if (crc32(chunk.subarray(here, here + length)) !== parts.checksumOf(own[at] ?? 0)) throw this.#changed(source);
      const place = places[at] ?? 0;
      if (place !== here) chunk.copyWithin(place, here, here + length);
      const before = befores[at];
      if (before !== undefined) chunk.set(before, place - before.length);
      this.#filled = place + length;
    }
  }

  /** Begins with a part that is larger than the memory. */
  #begin(): void {
    const { parts } = this.#reading.found;
    const { part, before } = this.#pieces;
    this.#literal = before;
    this.#rest = { part, from: parts.startOf(part), left: parts.lengthOf(part), sum: 0 };
    this.#pieces.advance();
  }

  #addRest(rest: Rest): void {
    const { parts } = this.#reading.found;
    const source = parts.sourceOf(rest.part);
    const some = Math.min(rest.left, this.#chunk.length - this.#filled);
    this.#read(source, rest.from, this.#filled, some);
    rest.sum = crc32(this.#chunk.subarray(this.#filled, this.#filled + some), rest.sum);
    rest.from += some;
    rest.left -= some;
    this.#filled += some;
    if (rest.left > 0) return;
    if (rest.sum !== parts.checksumOf(rest.part)) throw this.#changed(source);
    this.#rest = undefined;
  }

  #read(source: number, from: number, into: number, length: number): void {
    const read = this.#sourceAt(source).bytes.readNow(this.#chunk.subarray(into, into + length), from);
    if (read < length) throw this.#changed(source);
    this.#reads++;
    this.#bytes += length;
  }

  #changed(source: number): Failure {
    return new Failure("input-changed", { file: this.#sourceAt(source).name });
  }

  #sourceAt(position: number): Source {
    const source = this.#reading.sources[position];
    if (source === undefined) throw new RangeError(`no source ${position}`);
    return source;
  }
}
