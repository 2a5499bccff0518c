/** Numbers in columns that grow, and can be changed where they stand. */

/** The numbers of a column alone, as they go from one thread to another. */
export type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array;

/** A column of numbers, all of one size in memory, in blocks: one that grows leaves nothing behind and little empty. */
export class Numbers {
  readonly #make: (length: number) => Column;
  readonly #blocks: Column[];
  #length = 0;

  private constructor(make: (length: number) => Column) {
    this.#make = make;
    this.#blocks = [make(0)];
  }

  /** Whole numbers up to 2^53, and any double. */
  static doubles(): Numbers {
    return new Numbers((length) => new Float64Array(length));
  }

  /** Whole numbers below 2^32. */
  static words(): Numbers {
    return new Numbers((length) => new Uint32Array(length));
  }

  /** Whole numbers below 256. */
  static bytes(): Numbers {
    return new Numbers((length) => new Uint8Array(length));
  }

  get length(): number {
    return this.#length;
  }

  /** The number at a position; 0 behind the end. */
  at(position: number): number {
    return this.#blocks[position >>> blockBits]?.[position & blockMask] ?? 0;
  }

  /** Changes the number at a position that there is. */
  set(position: number, value: number): void {
    const block = this.#blocks[position >>> blockBits];
    if (block !== undefined) block[position & blockMask] = value;
  }

  push(value: number): void {
    const block = this.#room();
    block[this.#length++ & blockMask] = value;
  }

  /** Adds many. */
  append(values: Column): void {
    for (let from = 0; from < values.length; ) {
      const block = this.#room(values.length - from);
      const at = this.#length & blockMask;
      const some = values.subarray(from, from + block.length - at);
      block.set(some, at);
      from += some.length;
      this.#length += some.length;
    }
  }

  /** Those from one position up to another; valid until the next one is added. */
  values(from = 0, to = this.#length): Column {
    const first = from >>> blockBits;
    if (to <= (first + 1) << blockBits) {
      const start = first << blockBits;
      return (this.#blocks[first] ?? this.#make(0)).subarray(from - start, Math.max(from, to) - start);
    }
    const all = this.#make(to - from);
    for (let at = from; at < to; ) {
      const end = Math.min(to, ((at >>> blockBits) + 1) << blockBits);
      all.set(this.values(at, end), at - from);
      at = end;
    }
    return all;
  }

  /** All of them, piece by piece; valid until the next one is added. */
  *blocks(): Generator<Column, void> {
    for (let from = 0; from < this.#length; from += blockLength) {
      yield this.values(from, Math.min(this.#length, from + blockLength));
    }
  }

  /** Copies all of them to where they go from `at` on. */
  copyTo(into: Column, at: number): void {
    let next = at;
    for (const block of this.blocks()) {
      into.set(block, next);
      next += block.length;
    }
  }

  /** The block that the next number goes to, with room for as many as go into one. */
  #room(wanted = 1): Column {
    const at = this.#length >>> blockBits;
    const block = this.#blocks[at] ?? this.#make(0);
    const filled = this.#length & blockMask;
    if (filled < block.length) return block;
    // The first block grows from nothing; behind it there will be many.
    const length = at > 0 ? blockLength : Math.min(blockLength, Math.max(filled + wanted, 2 * filled, leastLength));
    const larger = this.#make(length);
    larger.set(block);
    this.#blocks[at] = larger;
    return larger;
  }
}

/** Numbers in a block: a power of two, which no digest goes across. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** Numbers that a column has room for once it has any. */
const leastLength = 16;
