/** Stores numbers and digests in growing columns, and finds digests. */
import { hash } from "node:crypto";

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
  readonly blocks: (NumberArray | undefined)[] = [];
  hasOnlyDefaults = true;
  /** Increasing the length adds defaults. */
  length = 0;

  constructor(type: keyof typeof arrays, byDefault = 0) {
    this.#type = type;
    this.#default = byDefault;
  }

  /** Uses V8's own loops, because compiling a loop takes longer than one search. */
  includes(value: number) {
    for (let from = 0; from < this.length; from += blockLength) {
      const block = this.blocks[from >>> blockBits];
      const end = Math.min(blockLength, this.length - from);
      if (block ? block.subarray(0, end).includes(value) : Object.is(value, this.#default)) return true;
      if (block && block.length < end && Object.is(value, this.#default)) return true;
    }
    return false;
  }

  at(position: number): number {
    return this.blocks[position >>> blockBits]?.[position & blockMask] ?? this.#default;
  }

  pick(positions: ArrayLike<number>): readonly number[] {
    const values: number[] = [];
    for (let at = 0; at < positions.length; at++) values.push(this.at(positions[at] ?? 0));
    return values;
  }

  set(position: number, value: number) {
    const index = position >>> blockBits;
    const at = position & blockMask;
    let block = this.blocks[index];
    if (!block || at >= block.length) {
      if (Object.is(value, this.#default)) return;
      const grown = new arrays[this.#type](lengthFor(position)).fill(this.#default);
      grown.set(block ?? []);
      block = grown;
      this.blocks[index] = block;
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

  /** Both columns must have the same default. */
  appendColumn({ blocks, length }: NumberColumn) {
    for (let from = 0; from < length; from += blockLength) {
      const end = this.length + Math.min(blockLength, length - from);
      const block = blocks[from >>> blockBits];
      if (block) this.append(block.subarray(0, end - this.length));
      this.length = end;
    }
  }

  reset() {
    this.blocks.fill(undefined);
    this.hasOnlyDefaults = true;
  }

  values(from = 0, to = this.length): NumberArray {
    const values = new arrays[this.#type](Math.max(0, to - from));
    if (this.#default !== 0) values.fill(this.#default);
    for (let at = from; at < to; ) {
      const end = Math.min(to, (at | blockMask) + 1);
      const block = this.blocks[at >>> blockBits];
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
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Half of a SHA-256 digest is enough to make collisions improbable. */
export const digestBytes = 16;
const digestWords = digestBytes / 4;

/** Memory that all hashes share, because allocating memory takes as long as hashing 1 kB. */
const hashed = Buffer.alloc(digestBytes);
const hashedWords = new Uint32Array(hashed.buffer, hashed.byteOffset, digestWords);

export class Digests {
  readonly #words: NumberColumn;

  constructor(words = new NumberColumn("u32")) {
    this.#words = words;
  }

  get count(): number {
    return this.#words.length / digestWords;
  }

  copy(): Digests {
    const words = new NumberColumn("u32");
    words.appendColumn(this.#words);
    return new Digests(words);
  }

  append(digests: Uint8Array) {
    this.#words.append(toWords(digests));
  }

  /** Appends the first half of the SHA-256 digest. */
  appendHash(bytes: Uint8Array) {
    hashed.write(hash("sha256", bytes, "hex"), "hex");
    this.#words.append(hashedWords);
  }

  set(position: number, digest: Uint8Array) {
    this.#words.length = Math.max(this.#words.length, (position + 1) * digestWords);
    for (const [word, value] of toWords(digest).entries()) this.#words.set(position * digestWords + word, value);
  }

  at(position: number): Uint8Array {
    const words = new Uint32Array(digestWords);
    for (let word = 0; word < digestWords; word++) words[word] = this.wordOf(position, word);
    return new Uint8Array(words.buffer);
  }

  slice(first: number, count: number): Uint8Array {
    const end = Math.min(this.count, first + count);
    return new Uint8Array(this.#words.values(first * digestWords, end * digestWords).buffer);
  }

  wordOf(position: number, word: number) {
    return this.#words.at(position * digestWords + word);
  }
}

const toWords = (bytes: Uint8Array) => {
  const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(buffer, byteOffset, length / 4);
};

export class DigestTable {
  readonly #digests: Digests;
  #slots: Int32Array;
  #count = 0;

  constructor(digests: Digests, expected = 0) {
    this.#digests = digests;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, expected * 2))));
  }

  /** If the table contains an equal digest, returns the position of that digest. */
  add(position: number) {
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    const slot = this.#slotOf((word) => this.#digests.wordOf(position, word));
    const found = this.#slots[slot] ?? 0;
    if (found > 0) return found - 1;
    this.#slots[slot] = position + 1;
    this.#count++;
    return position;
  }

  find(digest: Uint8Array) {
    const words = toWords(digest);
    return this.findByWords((word) => words[word] ?? 0);
  }

  findByWords(wordAt: (word: number) => number) {
    const found = this.#slots[this.#slotOf(wordAt)] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  #grow() {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#count = 0;
    for (const slot of before) if (slot > 0) this.add(slot - 1);
  }

  #slotOf(wordAt: (word: number) => number) {
    const last = this.#slots.length - 1;
    for (let slot = wordAt(0) & last; ; slot = (slot + 1) & last) {
      const found = this.#slots[slot] ?? 0;
      let word = 0;
      while (found > 0 && word < digestWords && this.#digests.wordOf(found - 1, word) === wordAt(word)) word++;
      if (found === 0 || word === digestWords) return slot;
    }
  }
}
