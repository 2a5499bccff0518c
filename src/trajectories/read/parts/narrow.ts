/** Numbers in columns that grow and never change, each block as narrow as its numbers allow. */
import type { Column } from "./numbers.ts";

/** Numbers in a block: each block of a million finds its own width. */
const blockBits = 12;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** Numbers that a column has room for once it has any. */
const leastLength = 16;

/** Numbers that rise by equal steps, and what each is more than that: nothing where it never is, doubles where they are the numbers. */
export interface Block {
  readonly count: number;
  readonly base: number;
  readonly step: number;
  readonly more: Column | undefined;
}

/** A column as it goes from one thread to another. */
export type PackedNumbers = readonly Block[];

/**
 * A column of doubles. Numbers that are the same throughout a block take no memory, nor do numbers that rise by the same
 * step; whole numbers that stay near such a line take one, two or four bytes; others eight.
 */
export class NarrowNumbers {
  readonly #blocks: Block[] = [];
  /** The numbers behind the last whole block. */
  #open = new Float64Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The number at a position; 0 behind the end. */
  at(position: number): number {
    const block = this.#blocks[position >>> blockBits];
    const at = position & blockMask;
    if (block !== undefined) return numberOf(block, at);
    return position < this.#length ? (this.#open[at] ?? 0) : 0;
  }

  /** Fills `into` with the numbers from a position on: one after the other they would take ten times as long. */
  read(from: number, into: Float64Array): void {
    for (let at = 0; at < into.length; ) {
      const block = this.#blocks[(from + at) >>> blockBits];
      const first = (from + at) & blockMask;
      const some = into.subarray(at, at + blockLength - first);
      if (block === undefined) some.set(this.#open.subarray(first, first + some.length));
      else readBlock(block, first, some);
      at += some.length;
    }
  }

  /** The sum of the numbers from one position up to another, where they are whole and it is below 2^53. */
  sum(from: number, end: number): number {
    let sum = 0;
    for (let at = from; at < end; ) {
      const block = this.#blocks[at >>> blockBits];
      const first = at & blockMask;
      const last = Math.min(blockLength, first + end - at);
      sum += block === undefined ? sumOf(this.#open, first, last) : sumOfBlock(block, first, last);
      at += last - first;
    }
    return sum;
  }

  push(value: number): void {
    const at = this.#length & blockMask;
    if (at === this.#open.length) this.#grow(at + 1);
    this.#open[at] = value;
    this.#length++;
    if (at === blockMask) this.#blocks.push(narrowed(this.#open));
  }

  /** Adds many. */
  pushMany(values: Float64Array): void {
    for (let from = 0; from < values.length; ) {
      const at = this.#length & blockMask;
      const count = Math.min(values.length - from, blockLength - at);
      if (at + count > this.#open.length) this.#grow(at + count);
      this.#open.set(values.subarray(from, from + count), at);
      this.#length += count;
      from += count;
      if (at + count === blockLength) this.#blocks.push(narrowed(this.#open));
    }
  }

  /** Adds those of another column, each that much larger. */
  append(later: PackedNumbers, larger = 0): void {
    for (const block of later) this.pushMany(numbersOf(block, larger));
  }

  /** Positions of the numbers that pass a test, in their order; of equal numbers side by side mostly one is tried. */
  positionsOf(passes: (value: number) => boolean): readonly number[] {
    const positions: number[] = [];
    for (const [index, block] of this.#all().entries()) {
      if (isEven(block) && !passes(block.base)) continue;
      const first = index * blockLength;
      for (let at = 0; at < block.count; at++) if (passes(numberOf(block, at))) positions.push(first + at);
    }
    return positions;
  }

  /** Whether a number passes a test; of equal numbers side by side mostly one is tried. */
  some(passes: (value: number) => boolean): boolean {
    return this.#all().some((block) => {
      if (isEven(block)) return passes(block.base);
      for (let at = 0; at < block.count; at++) if (passes(numberOf(block, at))) return true;
      return false;
    });
  }

  /** Whether all are the same. */
  get areAlike(): boolean {
    const all = this.#all();
    const [first] = all;
    return all.every((block) => isEven(block) && Object.is(block.base, first?.base));
  }

  /** All of them; those behind the last whole block take eight bytes each. */
  pack(): PackedNumbers {
    const open = this.#open.subarray(0, this.#length & blockMask);
    return open.length === 0 ? this.#blocks : [...this.#blocks, wide(open)];
  }

  #all(): readonly Block[] {
    const open = this.#open.subarray(0, this.#length & blockMask);
    return open.length === 0 ? this.#blocks : [...this.#blocks, narrowed(open)];
  }

  #grow(wanted: number): void {
    const larger = new Float64Array(Math.min(blockLength, Math.max(wanted, 2 * this.#open.length, leastLength)));
    larger.set(this.#open);
    this.#open = larger;
  }
}

/** Whether all numbers of a block are its base. */
const isEven = ({ step, more }: Block): boolean => step === 0 && more === undefined;

const numberOf = ({ base, step, more }: Block, at: number): number => {
  // Adding nought would take the sign of a negative zero away.
  if (step === 0 && more === undefined) return base;
  if (more instanceof Float64Array) return more[at] ?? 0;
  return base + step * at + (more === undefined ? 0 : (more[at] ?? 0));
};

const sumOfBlock = ({ base, step, more }: Block, from: number, end: number): number => {
  const sum = more === undefined ? 0 : sumOf(more, from, end);
  if (more instanceof Float64Array) return sum;
  return sum + base * (end - from) + (step * (from + end - 1) * (end - from)) / 2;
};

const sumOf = (numbers: Column, from: number, end: number): number => {
  let sum = 0;
  for (let at = from; at < end; at++) sum += numbers[at] ?? 0;
  return sum;
};

/** Fills `into` with the numbers of a block from a place on. */
const readBlock = ({ base, step, more }: Block, first: number, into: Float64Array): void => {
  if (more === undefined) into.fill(base);
  else into.set(more.subarray(first, first + into.length));
  if (more instanceof Float64Array || (more === undefined && step === 0)) return;
  const least = more === undefined ? 0 : base;
  for (let at = 0; at < into.length; at++) into[at] = (into[at] ?? 0) + least + step * (first + at);
};

/** All numbers of a block, each that much larger. */
const numbersOf = (block: Block, larger: number): Float64Array => {
  if (larger === 0 && block.more instanceof Float64Array) return block.more;
  const numbers = new Float64Array(block.count);
  for (let at = 0; at < numbers.length; at++) numbers[at] = numberOf(block, at);
  // Adding nought would take the sign of a negative zero away.
  if (larger !== 0) for (let at = 0; at < numbers.length; at++) numbers[at] = (numbers[at] ?? 0) + larger;
  return numbers;
};

/** A block of numbers, which stay as they are, as narrow as it can be. */
const narrowed = (values: Float64Array): Block => {
  const [first = 0] = values;
  const count = values.length;
  if (areAlike(values)) return { count, base: first, step: 0, more: undefined };
  if (!areWhole(values)) return wide(values);
  const step = Math.trunc(((values[count - 1] ?? 0) - first) / (count - 1));
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < count; at++) {
    const value = (values[at] ?? 0) - step * at;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (most === least) return { count, base: least, step, more: undefined };
  const more = columnFor(most - least, count);
  if (more === undefined) return wide(values);
  for (let at = 0; at < count; at++) more[at] = (values[at] ?? 0) - step * at - least;
  return { count, base: least, step, more };
};

const areAlike = (values: Float64Array): boolean => {
  const [first] = values;
  for (let at = 1; at < values.length; at++) if (!Object.is(values[at], first)) return false;
  return true;
};

/** Whether numbers are whole, and so small that what two of them differ by is exact too. */
const areWhole = (values: Float64Array): boolean => {
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (!Number.isInteger(value) || Math.abs(value) > 2 ** 51 || Object.is(value, -0)) return false;
  }
  return true;
};

const wide = (values: Float64Array): Block => ({ count: values.length, base: 0, step: 0, more: values.slice() });

/** What holds so many numbers up to a largest; undefined where nothing narrower than a double does. */
const columnFor = (largest: number, count: number): Column | undefined => {
  if (largest < 2 ** 8) return new Uint8Array(count);
  if (largest < 2 ** 16) return new Uint16Array(count);
  return largest < 2 ** 32 ? new Uint32Array(count) : undefined;
};
