/** The memory that bodies go through: the input in windows, the next of which is read ahead, and chunks on their way out. */
import type { Source } from "../input/source.ts";

/** Bytes handed over at once: few writes, and all of them still in the processor's cache. */
const chunkBytes = 2 ** 18;

/** Bytes read ahead where parts stand one behind the other. */
const windowBytes = 2 ** 20;

/** Bytes read around a part that stands by itself. */
const aloneBytes = 2 ** 14;

/** What one body needs. */
export interface BodyBuffers {
  readonly chunk: Buffer;
  readonly windows: readonly [Buffer, Buffer];
}

/** Buffers that are used again: new ones for every request would cost more than filling them. */
export class BodyMemory {
  readonly #free: BodyBuffers[] = [];

  take(): BodyBuffers {
    return this.#free.pop() ?? { chunk: room(chunkBytes), windows: [room(windowBytes), room(windowBytes)] };
  }

  /** Gives buffers back that nobody uses any more. */
  give(buffers: BodyBuffers): void {
    this.#free.push(buffers);
  }
}

const room = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes);

/** Small pieces on their way to be large ones. */
export class Chunk {
  readonly #bytes: Buffer;
  #filled = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Adds what there is room for, from an offset on; gives how many bytes that were. */
  add(bytes: Uint8Array, from = 0): number {
    const count = Math.min(bytes.length - from, this.#bytes.length - this.#filled);
    this.#bytes.set(count === bytes.length ? bytes : bytes.subarray(from, from + count), this.#filled);
    this.#filled += count;
    return count;
  }

  /** All that was added, valid until more is. */
  full(): Uint8Array {
    const full = this.#bytes.subarray(0, this.#filled);
    this.#filled = 0;
    return full;
  }
}

/** A piece of a source in memory. */
interface Window {
  readonly source: Source;
  readonly start: number;
  readonly bytes: Buffer;
}

const behindOf = ({ start, bytes }: Window): number => start + bytes.length;

/** The sources of a body in windows that move along. */
export class Windows {
  readonly #buffers: readonly [Buffer, Buffer];
  /** Where the last part ends. */
  readonly #end: number;
  #used = 0;
  #now: Window | undefined;
  /** The one that is being read. */
  #ahead: Promise<Window> | undefined;

  constructor({ windows }: BodyBuffers, end: number) {
    this.#buffers = windows;
    this.#end = end;
  }

  /** Whether a byte is in it. */
  holds(source: Source, at: number): boolean {
    const now = this.#now;
    return now !== undefined && source === now.source && at >= now.start && at < behindOf(now);
  }

  /** Moves to where a part, or the rest of one, begins; reads ahead where it follows what was there. */
  async moveTo(source: Source, { from, end }: { readonly from: number; readonly end: number }): Promise<void> {
    const before = this.#now;
    const behind = before === undefined ? from : behindOf(before);
    const follows = (before === undefined || source === before.source) && from >= behind && from <= behind + aloneBytes;
    await this.#takeAhead();
    if (!this.holds(source, from)) {
      const wanted = follows ? Math.max(end, this.#end) - from : Math.max(end - from, aloneBytes);
      this.#now = await this.#read(source, from, wanted);
    }
    if (follows && this.#now !== undefined) this.#readAhead(source, behindOf(this.#now));
  }

  /** Resolves when nothing is read into the buffers any more. */
  async finished(): Promise<void> {
    await this.#ahead?.catch(() => undefined);
  }

  /** The bytes of a part that are here, from one place on up to another; valid until it moves on. */
  bytes(from: number, end: number): Buffer {
    const { start = from, bytes = Buffer.alloc(0) } = this.#now ?? {};
    return bytes.subarray(Math.max(0, from - start), Math.max(0, end - start));
  }

  async #takeAhead(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead !== undefined) this.#now = await ahead;
  }

  #readAhead(source: Source, start: number): void {
    if (start >= this.#end) return;
    this.#ahead = this.#read(source, start, this.#end - start);
    // Whoever breaks off never asks for it.
    this.#ahead.catch(() => undefined);
  }

  async #read(source: Source, start: number, wanted: number): Promise<Window> {
    this.#used = 1 - this.#used;
    const into = this.#buffers[this.#used === 0 ? 0 : 1].subarray(0, Math.min(wanted, windowBytes));
    return { source, start, bytes: into.subarray(0, await source.bytes.read(into, start)) };
  }
}
