/** Digests side by side, and where each of them is: a million take 16 MB, and some 10 MB to be found. */
import { Column } from "./column.ts";

/** Bytes of a digest: half a SHA-256, which no two of a million parts share by chance. */
export const digestBytes = 16;
const digestWords = digestBytes / 4;

/** A list of digests. */
export class Digests {
  #words: Column;
  #isBorrowed: boolean;

  constructor(words = new Column("u32"), { isBorrowed = false } = {}) {
    this.#words = words;
    this.#isBorrowed = isBorrowed;
  }

  get count(): number {
    return this.#words.length / digestWords;
  }

  /** The same digests, to be changed without changing these: copied with the first change. */
  borrowed(): Digests {
    return new Digests(this.#words, { isBorrowed: true });
  }

  /** Adds adjacent digests. */
  append(digests: Uint8Array): void {
    this.#words.append(wordsOf(digests));
  }

  /** Changes the digest at a position; those between the last one and this are zeros. */
  set(position: number, digest: Uint8Array): void {
    if (this.#isBorrowed) {
      const words = new Column("u32");
      words.appendColumn(this.#words);
      this.#words = words;
      this.#isBorrowed = false;
    }
    this.#words.length = Math.max(this.#words.length, (position + 1) * digestWords);
    for (const [word, value] of wordsOf(digest).entries()) this.#words.set(position * digestWords + word, value);
  }

  /** The digest at a position; valid until one is added. */
  at(position: number): Uint8Array {
    return this.slice(position, 1);
  }

  /** Adjacent digests from a position on; valid until one is added. */
  slice(first: number, count: number): Uint8Array {
    const end = Math.min(this.count, first + count);
    const { buffer, byteOffset, byteLength } = this.#words.values(first * digestWords, end * digestWords);
    return new Uint8Array(buffer, byteOffset, byteLength);
  }

  /** A word of the digest at a position, in the byte order of this machine. */
  wordOf(position: number, word: number): number {
    return this.#words.at(position * digestWords + word);
  }
}

/** The words of bytes, wherever these begin in memory. */
const wordsOf = (bytes: Uint8Array): Uint32Array => {
  const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(buffer, byteOffset, length / 4);
};

/** Finds the positions of digests in a list: an open-addressed table, keyed by the first word of each. It grows. */
export class DigestTable {
  readonly #digests: Digests;
  /** Positions, from 1; 0 is a free slot. */
  #slots: Int32Array;
  #count = 0;
  /** The digest that is looked for. */
  readonly #wanted = new Uint32Array(digestWords);
  readonly #wantedBytes = new Uint8Array(this.#wanted.buffer);

  /** @param expected digests that it has room for at first */
  constructor(digests: Digests, expected = 0) {
    this.#digests = digests;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, expected * 2))));
  }

  /** Adds the digest at a position; gives the position that has it: its own, or one that was added before. */
  add(position: number): number {
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    for (let word = 0; word < digestWords; word++) this.#wanted[word] = this.#digests.wordOf(position, word);
    const slot = this.#slotOfWanted();
    const found = this.#slots[slot] ?? 0;
    if (found > 0) return found - 1;
    this.#slots[slot] = position + 1;
    this.#count++;
    return position;
  }

  /** The position of a digest; undefined if it is not in the table. */
  find(digest: Uint8Array): number | undefined {
    this.#wantedBytes.set(digest);
    const found = this.#slots[this.#slotOfWanted()] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#count = 0;
    for (const slot of before) if (slot > 0) this.add(slot - 1);
  }

  /** The slot of the digest, or the free slot where it belongs. */
  #slotOfWanted(): number {
    const last = this.#slots.length - 1;
    for (let slot = (this.#wanted[0] ?? 0) & last; ; slot = (slot + 1) & last) {
      const found = this.#slots[slot] ?? 0;
      if (found === 0 || this.#isWanted(found - 1)) return slot;
    }
  }

  #isWanted(position: number): boolean {
    for (let word = 0; word < digestWords; word++) {
      if (this.#digests.wordOf(position, word) !== this.#wanted[word]) return false;
    }
    return true;
  }
}
