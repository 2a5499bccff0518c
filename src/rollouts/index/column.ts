/** Stores numbers in growing columns. */

const arrays = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };
type NumberArray = Float64Array | Uint32Array | Uint8Array;

/** Blocks of 512 numbers would cost 40 MB of V8 objects per million groups. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** The first block grows in these steps, because many columns store few numbers. */
const lengths = [16, 512, blockLength];
const lengthFor = (position: number) => lengths.find((length) => position < length) ?? blockLength;

/** A block that contains only defaults takes no memory. */
export class NumberColumn {
  readonly #type: keyof typeof arrays;
  readonly #default: number;
  readonly #blocks: (NumberArray | undefined)[] = [];
  hasOnlyDefaults = true;
  /** Increasing the length adds defaults. */
  length = 0;

  constructor(type: keyof typeof arrays, byDefault = 0) {
    this.#type = type;
    this.#default = byDefault;
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
    const index = position >>> blockBits;
    const at = position & blockMask;
    let block = this.#blocks[index];
    if (!block || at >= block.length) {
      if (Object.is(value, this.#default)) return;
      const grown = new arrays[this.#type](lengthFor(position)).fill(this.#default);
      grown.set(block ?? []);
      block = grown;
      this.#blocks[index] = block;
      this.hasOnlyDefaults = false;
    }
    block[at] = value;
  }

  push(value: number) {
    this.set(this.length++, value);
  }

  append(values: NumberArray) {
    for (let at = 0; at < values.length; at++) this.push(values[at] ?? 0);
  }

  reset() {
    this.#blocks.fill(undefined);
    this.hasOnlyDefaults = true;
  }

  values(from = 0, to = this.length): NumberArray {
    const values = new arrays[this.#type](Math.max(0, to - from));
    if (this.#default !== 0) values.fill(this.#default);
    for (let at = from; at < to; ) {
      const end = Math.min(to, (at | blockMask) + 1);
      const block = this.#blocks[at >>> blockBits];
      if (block) values.set(block.subarray(at & blockMask, (at & blockMask) + end - at), at - from);
      at = end;
    }
    return values;
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
