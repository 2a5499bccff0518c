/** Numbers in columns that grow, and can be changed where they stand. */

/** The numbers of a column alone, as they go from one thread to another. */
export type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array;

/** A column of numbers, all of one size in memory, in blocks: one that grows leaves nothing behind and little empty. */
export class Numbers {
  readonly #make: (length: number) => Column;
  readonly #blocks: Column[];
  /** Numbers in a block, as a power of two and by themselves, and what of a position is the place in one. */
  readonly #bits: number;
  readonly #size: number;
  readonly #mask: number;
  #length = 0;

  private constructor(make: (length: number) => Column, bits = usualBits) {
    this.#make = make;
    this.#bits = bits;
    this.#size = 2 ** bits;
    this.#mask = this.#size - 1;
    this.#blocks = [make(0)];
  }

  /** Whole numbers up to 2^53, and any double. */
  static doubles(): Numbers {
    return new Numbers((length) => new Float64Array(length));
  }

  /** Whole numbers below 2^32. */
  static words(bits?: number): Numbers {
    return new Numbers((length) => new Uint32Array(length), bits);
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
    return this.#blocks[position >>> this.#bits]?.[position & this.#mask] ?? 0;
  }

  /** Changes the number at a position that there is. */
  set(position: number, value: number): void {
    const block = this.#blocks[position >>> this.#bits];
    if (block !== undefined) block[position & this.#mask] = value;
  }

  push(value: number): void {
    const block = this.#room();
    block[this.#length++ & this.#mask] = value;
  }

  /** Adds many. */
  append(values: Column): void {
    for (let from = 0; from < values.length; ) {
      const block = this.#room(values.length - from);
      const at = this.#length & this.#mask;
      const some = values.subarray(from, from + block.length - at);
      block.set(some, at);
      from += some.length;
      this.#length += some.length;
    }
  }

  /** Those from one position up to another; valid until the next one is added. */
  values(from = 0, to = this.#length): Column {
    const first = from >>> this.#bits;
    if (to <= (first + 1) << this.#bits) {
      const start = first << this.#bits;
      return (this.#blocks[first] ?? this.#make(0)).subarray(from - start, Math.max(from, to) - start);
    }
    const all = this.#make(to - from);
    for (let at = from; at < to; ) {
      const end = Math.min(to, ((at >>> this.#bits) + 1) << this.#bits);
      all.set(this.values(at, end), at - from);
      at = end;
    }
    return all;
  }

  /** All of them, piece by piece; valid until the next one is added. */
  *blocks(): Generator<Column, void> {
    for (let from = 0; from < this.#length; from += this.#size) {
      yield this.values(from, Math.min(this.#length, from + this.#size));
    }
  }

  /** The block that the next number goes to, with room for as many as go into one. */
  #room(wanted = 1): Column {
    const at = this.#length >>> this.#bits;
    const block = this.#blocks[at] ?? this.#make(0);
    const filled = this.#length & this.#mask;
    if (filled < block.length) return block;
    // The first block grows from nothing; behind it there will be many.
    const length = at > 0 ? this.#size : Math.min(this.#size, Math.max(filled + wanted, 2 * filled, leastLength));
    const larger = this.#make(length);
    larger.set(block);
    this.#blocks[at] = larger;
    return larger;
  }
}

/** Numbers in a block of most columns: 2^14. */
const usualBits = 14;

/** Numbers that a column has room for once it has any. */
const leastLength = 16;
