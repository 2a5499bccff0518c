/** Columns of numbers that grow, and can be changed in place. */

const arrays = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };

/** Any double, a whole number below 2^32, a whole number below 256. */
type ColumnType = keyof typeof arrays;

/** Adjacent numbers. */
type Values = Float64Array | Uint32Array | Uint8Array;

/** Numbers per block, as a power of two: blocks of one size fit where another was. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** A column as data: another thread gets this of it. */
export type ColumnData = Pick<Column, "blocks" | "length">;

/** A column in blocks: growing copies nothing. A block that holds nothing but the default takes no memory. */
export class Column {
  readonly #type: ColumnType;
  readonly #fallback: number;
  readonly blocks: (Values | undefined)[] = [];
  length = 0;

  constructor(type: ColumnType, fallback = 0) {
    this.#type = type;
    this.#fallback = fallback;
  }

  /** True if no number but the default was ever set. */
  get isDefault(): boolean {
    return this.blocks.every((block) => block === undefined);
  }

  includes(value: number): boolean {
    for (const block of this.pieces()) if (block.includes(value)) return true;
    return false;
  }

  /** The number at a position; the default behind the end. */
  at(position: number): number {
    const block = this.blocks[position >>> blockBits];
    return block === undefined ? this.#fallback : (block[position & blockMask] ?? this.#fallback);
  }

  /** Changes the number at a position before the end. */
  set(position: number, value: number): void {
    const index = position >>> blockBits;
    const at = position & blockMask;
    const block = this.blocks[index];
    if (block !== undefined && at < block.length) block[at] = value;
    else if (block !== undefined || !Object.is(value, this.#fallback)) this.#grow(index, at + 1)[at] = value;
  }

  push(value: number): void {
    this.set(this.length++, value);
  }

  append(values: Values): void {
    for (let from = 0; from < values.length; ) {
      const index = this.length >>> blockBits;
      const at = this.length & blockMask;
      const some = values.subarray(from, from + blockLength - at);
      if (this.blocks[index] !== undefined || !some.every((value) => Object.is(value, this.#fallback))) {
        this.#grow(index, at + some.length).set(some, at);
      }
      from += some.length;
      this.length += some.length;
    }
  }

  /** Adds the numbers of another column with the same default. */
  appendColumn({ blocks, length }: ColumnData): void {
    for (let from = 0; from < length; from += blockLength) {
      const end = Math.min(blockLength, length - from);
      const own = blocks[from >>> blockBits]?.subarray(0, end);
      if (own !== undefined) this.append(own);
      this.length += end - (own?.length ?? 0);
    }
  }

  clear(): void {
    this.blocks.length = 0;
    this.length = 0;
  }

  /** The numbers from one position up to another; valid until the next one is added. */
  values(from = 0, to = this.length): Values {
    const index = from >>> blockBits;
    const start = index * blockLength;
    if (this.blocks[index] !== undefined && to <= start + blockLength) {
      // A block may be shorter than its part of the column: what it lacks is the default.
      return this.#grow(index, to - start).subarray(from - start, to - start);
    }
    const all = new arrays[this.#type](Math.max(0, to - from)).fill(this.#fallback);
    for (let at = from; at < to; ) {
      const end = Math.min(to, ((at >>> blockBits) + 1) * blockLength);
      if (this.blocks[at >>> blockBits] !== undefined) all.set(this.values(at, end), at - from);
      at = end;
    }
    return all;
  }

  /** All numbers, block by block; valid until the next one is added. */
  *pieces(): Generator<Values, void> {
    for (let from = 0; from < this.length; from += blockLength) {
      yield this.values(from, Math.min(this.length, from + blockLength));
    }
  }

  /** A block with room for as many numbers. The first one grows; behind it there will be many. */
  #grow(index: number, wanted: number): Values {
    const block = this.blocks[index];
    if (block !== undefined && block.length >= wanted) return block;
    const length = index > 0 || wanted > maxGrowing ? blockLength : Math.max(minLength, 2 * wanted);
    const larger = new arrays[this.#type](length).fill(this.#fallback);
    if (block !== undefined) larger.set(block);
    this.blocks[index] = larger;
    return larger;
  }
}

/** Numbers that the first block has room for at first, and up to which it doubles. */
const minLength = 16;
const maxGrowing = 512;
