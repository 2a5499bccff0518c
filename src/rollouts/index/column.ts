/** Stores numbers in growing columns. */

const arrays = [Uint8Array, Uint16Array, Uint32Array, Float64Array] as const;
type NumberArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Returns the index of the smallest of `arrays` that can have a number. */
const findWidth = (value: number) => {
  if (value !== value >>> 0 || Object.is(value, -0)) return 3;
  return value < 2 ** 8 ? 0 : value < 2 ** 16 ? 1 : 2;
};

/** Blocks of 512 numbers would cost 40 MB of V8 objects per million groups. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** The first block starts with few numbers, because many columns store few. */
const minBlockLength = 16;

/** Always the same type of array, because V8 would compile each sum for each type. */
let doubles = new Float64Array();

/** A block that contains only defaults takes no memory, and small whole numbers take 1 or 2 bytes. */
export class NumberColumn {
  readonly #default: number;
  /** The index in `arrays` of the type of new blocks. */
  #width: number;
  readonly #blocks: (NumberArray | undefined)[] = [];
  hasOnlyDefaults = true;
  /** Increasing the length adds defaults. */
  length = 0;

  constructor(byDefault = 0) {
    this.#default = byDefault;
    this.#width = findWidth(byDefault);
  }

  at(position: number): number {
    return this.#blocks[position >>> blockBits]?.[position & blockMask] ?? this.#default;
  }

  /** Always the same type of array, because V8 would compile each sum for each type. */
  pick(positions: ArrayLike<number>) {
    const values = new Float64Array(positions.length);
    for (let at = 0; at < positions.length; at++) values[at] = this.at(positions[at] ?? 0);
    return values;
  }

  set(position: number, value: number) {
    const block = this.#blocks[position >>> blockBits];
    const at = position & blockMask;
    if (block && at < block.length) {
      block[at] = value;
      // For most numbers, the first comparison is enough, and faster.
      if ((block[at] === value && value !== 0) || Object.is(block[at], value)) return;
    } else if (Object.is(value, this.#default)) return;
    this.#width = Math.max(this.#width, findWidth(value));
    this.#growBlock(position)[at] = value;
  }

  #growBlock(position: number) {
    const index = position >>> blockBits;
    const block = this.#blocks[index];
    let length = block?.length ?? minBlockLength;
    while (length <= Math.min(position, blockMask)) length *= 2;
    const grown = this.#allocate(length);
    if (block) grown.set(block);
    this.#blocks[index] = grown;
    this.hasOnlyDefaults = false;
    return grown;
  }

  #allocate(length: number): NumberArray {
    const values = new (arrays[this.#width] ?? Float64Array)(length);
    return this.#default === 0 ? values : values.fill(this.#default);
  }

  push(value: number) {
    this.set(this.length++, value);
  }

  /** Sets the numbers from a position on to the default. */
  clear(from = 0) {
    this.#blocks[from >>> blockBits]?.fill(this.#default, from & blockMask);
    this.#blocks.fill(undefined, (from >>> blockBits) + 1);
  }

  values(from = 0, to = this.length) {
    const values = this.#allocate(Math.max(0, to - from));
    this.#copyBlocks(values, from, to);
    return values;
  }

  /** Like `values`, in memory that the next call reuses, because new memory takes longer than adding the numbers. */
  viewDoubles() {
    if (doubles.length < this.length) doubles = new Float64Array(2 * this.length);
    const values = doubles.subarray(0, this.length).fill(this.#default);
    this.#copyBlocks(values, 0, this.length);
    return values;
  }

  #copyBlocks(values: NumberArray, from: number, to: number) {
    for (let at = from; at < to; ) {
      const end = Math.min(to, (at | blockMask) + 1);
      const block = this.#blocks[at >>> blockBits];
      if (block) values.set(block.subarray(at & blockMask, (at & blockMask) + end - at), at - from);
      at = end;
    }
  }
}

/** Counts the leading positions for which `holds` is true. At all later positions, `holds` must be false. */
export const countWhile = (count: number, holds: (position: number) => boolean) => {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
