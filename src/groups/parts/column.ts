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

/** Numbers that the first block has room for at first, and up to which it doubles. */
const minLength = 16;
const maxGrowing = 512;

/** A column as data: another thread gets this of it. */
export type ColumnData = Pick<Column, "blocks" | "length">;

/** A column in blocks: growing copies nothing. A block that contains nothing but the default takes no memory. */
export class Column {
  readonly #type: ColumnType;
  readonly #default: number;
  /** A block may be shorter than its part of the column: what it lacks is the default. */
  readonly blocks: (Values | undefined)[] = [];
  /** May be increased: the new numbers are the default. */
  length = 0;

  constructor(type: ColumnType, byDefault = 0) {
    this.#type = type;
    this.#default = byDefault;
  }

  /** True if no number but the default was ever set. */
  get isDefault(): boolean {
    return this.blocks.every((block) => block === undefined);
  }

  includes(value: number): boolean {
    if (this.isDefault) return this.length > 0 && Object.is(value, this.#default);
    for (let at = 0; at < this.length; at++) if (this.at(at) === value) return true;
    return false;
  }

  /** The number at a position; the default after the end. */
  at(position: number): number {
    const block = this.blocks[position >>> blockBits];
    return block === undefined ? this.#default : (block[position & blockMask] ?? this.#default);
  }

  /** Changes the number at a position before the end. */
  set(position: number, value: number): void {
    const index = position >>> blockBits;
    const at = position & blockMask;
    const block = this.blocks[index];
    if (block !== undefined && at < block.length) block[at] = value;
    else if (block !== undefined || !Object.is(value, this.#default)) this.#grow(index, at + 1)[at] = value;
  }

  push(value: number): void {
    this.set(this.length++, value);
  }

  append(values: Values): void {
    for (let at = 0; at < values.length; at++) this.push(values[at] ?? 0);
  }

  /** Adds the numbers of another column with the same default. */
  appendColumn({ blocks, length }: ColumnData): void {
    for (let from = 0; from < length; from += blockLength) {
      const end = this.length + Math.min(blockLength, length - from);
      const block = blocks[from >>> blockBits];
      if (block !== undefined) this.append(block.subarray(0, end - this.length));
      this.length = end;
    }
  }

  /** Makes all numbers the default. */
  reset(): void {
    this.blocks.fill(undefined);
  }

  /** A copy of the numbers from one position up to another. */
  values(from = 0, to = this.length): Values {
    const values = new arrays[this.#type](Math.max(0, to - from));
    for (let at = from; at < to; at++) values[at - from] = this.at(at);
    return values;
  }

  #grow(index: number, wanted: number): Values {
    const length = index > 0 || wanted > maxGrowing ? blockLength : Math.max(minLength, 2 * wanted);
    const larger = new arrays[this.#type](length).fill(this.#default);
    larger.set(this.blocks[index] ?? []);
    this.blocks[index] = larger;
    return larger;
  }
}
