/** Stores numbers in growing columns. */

const arrays = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };
type NumberArray = Float64Array | Uint32Array | Uint8Array;

/** All empty columns share these arrays, because small results have many columns. */
const empty = { f64: new Float64Array(), u32: new Uint32Array(), u8: new Uint8Array() };

const minCapacity = 16;
const growth = 1.5;

/** A column that contains only defaults takes no memory. */
export class NumberColumn {
  readonly #type: keyof typeof arrays;
  readonly #default: number;
  /** All later numbers are defaults. */
  #stored: NumberArray;
  /** Increasing the length adds defaults. */
  length = 0;

  constructor(type: keyof typeof arrays, byDefault = 0) {
    this.#type = type;
    this.#default = byDefault;
    this.#stored = empty[type];
  }

  /** Large arrays of zeros take no memory before they are written. */
  #allocate(length: number): NumberArray {
    const values = new arrays[this.#type](length);
    return this.#default === 0 ? values : values.fill(this.#default);
  }

  get hasOnlyDefaults() {
    return this.#stored.length === 0;
  }

  includes(value: number) {
    const hasDefault = this.length > this.#stored.length && Object.is(value, this.#default);
    return hasDefault || this.#stored.subarray(0, this.length).includes(value);
  }

  at(position: number): number {
    return this.#stored[position] ?? this.#default;
  }

  /** Always the same type of array, because V8 would compile each sum for each type. */
  pick(positions: ArrayLike<number>) {
    const values = new Float64Array(positions.length);
    for (let at = 0; at < positions.length; at++) values[at] = this.at(positions[at] ?? 0);
    return values;
  }

  set(position: number, value: number) {
    if (position >= this.#stored.length) {
      if (Object.is(value, this.#default)) return;
      const grown = this.#allocate(Math.max(minCapacity, Math.ceil(growth * position)));
      grown.set(this.#stored);
      this.#stored = grown;
    }
    this.#stored[position] = value;
  }

  push(value: number) {
    this.set(this.length++, value);
  }

  append(values: NumberArray) {
    for (let at = 0; at < values.length; at++) this.push(values[at] ?? 0);
  }

  reset() {
    this.#stored = empty[this.#type];
  }

  values(from = 0, to = this.length): NumberArray {
    const values = this.#allocate(Math.max(0, to - from));
    values.set(this.#stored.subarray(from, to));
    return values;
  }
}

/** Counts the leading positions for which `holds` is true. At all later positions, `holds` must be false. */
export const countWhile = (count: number, holds: (position: number) => boolean) => {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
