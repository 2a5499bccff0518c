/** Stores rows of whole numbers. */

/** V8 reads blocks of one type faster than those of `NumberColumn`, which have three types. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;
const firstLength = 16;

/** Numbers that no caller has set are 0. A block of them takes no memory. */
export class NumberTable {
  readonly #width: number;
  readonly #blocks: (Uint32Array | undefined)[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  at(row: number, column: number): number {
    return this.#blocks[row >>> blockBits]?.[(row & blockMask) * this.#width + column] ?? 0;
  }

  set(row: number, column: number, value: number) {
    const block = this.#blocks[row >>> blockBits];
    const at = (row & blockMask) * this.#width + column;
    if (block && at < block.length) block[at] = value;
    else if (value !== 0) this.#grow(row)[at] = value;
  }

  /** Most tables are small, so the first block starts with few rows. */
  #grow(row: number) {
    const index = row >>> blockBits;
    const grown = new Uint32Array((row < firstLength ? firstLength : blockLength) * this.#width);
    grown.set(this.#blocks[index] ?? []);
    this.#blocks[index] = grown;
    return grown;
  }
}
