/** Stores digests in growing columns, and finds digests. */
import { hash } from "../../system/hashes.ts";
import { NumberColumn } from "./column.ts";

/** Half of a SHA-256 digest is enough to make collisions improbable. */
export const digestBytes = 16;
const digestWords = digestBytes / 4;

/** Memory that all hashes share, because allocating memory takes as long as hashing 1 kB. */
const hashed = Buffer.alloc(digestBytes);

export class Digests {
  readonly #words = new NumberColumn();

  get count(): number {
    return this.#words.length / digestWords;
  }

  /** Sets the first half of the SHA-256 digest. */
  setHash(position: number, bytes: Uint8Array) {
    hashed.write(hash("sha256", bytes, "hex"), "hex");
    this.set(position, hashed);
  }

  set(position: number, digest: Uint8Array) {
    this.#words.length = Math.max(this.#words.length, (position + 1) * digestWords);
    for (let word = 0; word < digestWords; word++)
      this.#words.set(position * digestWords + word, readWord(digest, word));
  }

  copy(position: number, from: Digests, at: number) {
    this.#words.length = Math.max(this.#words.length, (position + 1) * digestWords);
    for (let word = 0; word < digestWords; word++)
      this.#words.set(position * digestWords + word, from.wordOf(at, word));
  }

  at(position: number): Buffer {
    const digest = Buffer.allocUnsafe(digestBytes);
    for (let word = 0; word < digestWords; word++) digest.writeUInt32LE(this.wordOf(position, word), 4 * word);
    return digest;
  }

  pick(positions: ArrayLike<number>): Uint8Array {
    const words = new Uint32Array(positions.length * digestWords);
    for (let at = 0; at < words.length; at++)
      words[at] = this.wordOf(positions[Math.floor(at / digestWords)] ?? 0, at % digestWords);
    return new Uint8Array(words.buffer);
  }

  wordOf(position: number, word: number) {
    return this.#words.at(position * digestWords + word);
  }
}

/** Reads a little-endian word. A view of words would take memory outside the heap of V8, which is slow. */
const readWord = (bytes: Uint8Array, word: number) => {
  let value = 0;
  for (let at = 4 * word + 3; at >= 4 * word; at--) value = (value << 8) | (bytes[at] ?? 0);
  return value >>> 0;
};

export class DigestTable {
  readonly #digests: Digests;
  #slots = new Int32Array(2);
  #count = 0;

  constructor(digests: Digests) {
    this.#digests = digests;
  }

  get count() {
    return this.#count;
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

  /** Returns the position of an equal digest, or appends the digest. */
  findOrAppend(digest: Uint8Array) {
    const found = this.find(digest);
    if (found !== undefined) return found;
    this.#digests.set(this.#digests.count, digest);
    return this.add(this.#digests.count - 1);
  }

  find(digest: Uint8Array) {
    const found = this.#slots[this.#slotOf((word) => readWord(digest, word))] ?? 0;
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
