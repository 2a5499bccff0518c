/** Columns of numbers that grow, and can be changed where they stand. */

/** Numbers side by side, as they go from one thread to another. */
export type Column = Float64Array | Uint32Array | Uint8Array;

/** Numbers of a block, as a power of two: blocks of one size fit where another was. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** A column in blocks: as it grows nothing is copied. A block of nothing but the usual number takes no memory. */
export class Numbers {
  readonly #make: (length: number) => Column;
  readonly #usual: number;
  readonly #blocks: (Column | undefined)[] = [];
  #length = 0;

  private constructor(make: (length: number) => Column, usual: number) {
    this.#make = make;
    this.#usual = usual;
  }

  /** Any doubles. */
  static doubles(usual = 0): Numbers {
    return new Numbers((length) => new Float64Array(length), usual);
  }

  /** Whole numbers below 2^32. */
  static words(usual = 0): Numbers {
    return new Numbers((length) => new Uint32Array(length), usual);
  }

  /** Whole numbers below 256. */
  static bytes(usual = 0): Numbers {
    return new Numbers((length) => new Uint8Array(length), usual);
  }

  get length(): number {
    return this.#length;
  }

  /** Whether nothing but the usual number was ever set. */
  get areUsual(): boolean {
    return this.#blocks.every((block) => block === undefined);
  }

  /** Whether a number is among them. */
  includes(value: number): boolean {
    for (const block of this.blocks()) if (block.includes(value)) return true;
    return false;
  }

  /** The number at a position; the usual one behind the end. */
  at(position: number): number {
    const block = this.#blocks[position >>> blockBits];
    return block === undefined ? this.#usual : (block[position & blockMask] ?? this.#usual);
  }

  /** Changes the number at a position that there is. */
  set(position: number, value: number): void {
    const index = position >>> blockBits;
    const at = position & blockMask;
    const block = this.#blocks[index];
    if (block !== undefined && at < block.length) block[at] = value;
    else if (block !== undefined || !Object.is(value, this.#usual)) this.#room(index, at + 1)[at] = value;
  }

  push(value: number): void {
    this.set(this.#length++, value);
  }

  /** Adds many, piece by piece. */
  append(...pieces: readonly Column[]): void {
    for (const values of pieces) {
      for (let from = 0; from < values.length; ) {
        const index = this.#length >>> blockBits;
        const at = this.#length & blockMask;
        const some = values.subarray(from, from + blockLength - at);
        if (this.#blocks[index] !== undefined || !isAll(some, this.#usual)) {
          this.#room(index, at + some.length).set(some, at);
        }
        from += some.length;
        this.#length += some.length;
      }
    }
  }

  /** Adds one number many times. */
  fill(value: number, times: number): void {
    for (let time = 0; time < times; time++) this.push(value);
  }

  /** Those from one position up to another; valid until the next one is added. */
  values(from = 0, to = this.#length): Column {
    const index = from >>> blockBits;
    const block = this.#blocks[index];
    const start = index * blockLength;
    if (block !== undefined && to <= start + blockLength) {
      // A block may be shorter than the column: what was added to it before it was made is the usual number.
      return this.#room(index, to - start).subarray(from - start, to - start);
    }
    const all = this.#make(Math.max(0, to - from)).fill(this.#usual);
    for (let at = from; at < to; ) {
      const end = Math.min(to, ((at >>> blockBits) + 1) * blockLength);
      if (this.#blocks[at >>> blockBits] !== undefined) all.set(this.values(at, end), at - from);
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

  /** A block with room for as many numbers. The first one grows; behind it there will be many. */
  #room(index: number, wanted: number): Column {
    const block = this.#blocks[index];
    if (block !== undefined && block.length >= wanted) return block;
    const larger = this.#make(index > 0 || wanted > fewLength ? blockLength : Math.max(leastLength, 2 * wanted));
    if (this.#usual !== 0) larger.fill(this.#usual);
    if (block !== undefined) larger.set(block);
    this.#blocks[index] = larger;
    return larger;
  }
}

/** Numbers that a column has room for once it has any, and up to which it grows little by little. */
const leastLength = 16;
const fewLength = 512;

const isAll = (values: Column, usual: number): boolean => {
  for (let at = 0; at < values.length; at++) if (!Object.is(values[at], usual)) return false;
  return true;
};
