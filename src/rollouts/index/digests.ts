/** Stores digests in growing columns, and finds digests. */
import { hash } from "node:crypto";
import { NumberColumn } from "./column.ts";

/** Half of a SHA-256 digest is enough to make collisions improbable. */
export const digestBytes = 16;
const digestWords = digestBytes / 4;

/** Memory that all hashes share, because allocating memory takes as long as hashing 1 kB. */
const hashed = Buffer.alloc(digestBytes);
const hashedWords = new Uint32Array(hashed.buffer, hashed.byteOffset, digestWords);

export class Digests {
  readonly #words: NumberColumn;

  constructor(words = new NumberColumn()) {
    this.#words = words;
  }

  get count(): number {
    return this.#words.length / digestWords;
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
    return new Uint8Array(new Uint32Array(this.#words.values(first * digestWords, end * digestWords)).buffer);
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
  #slots = new Int32Array(2);
  #count = 0;

  constructor(digests: Digests) {
    this.#digests = digests;
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
    const known = this.find(digest);
    if (known !== undefined) return known;
    this.#digests.append(digest);
    return this.add(this.#digests.count - 1);
  }

  find(digest: Uint8Array) {
    const words = toWords(digest);
    const found = this.#slots[this.#slotOf((word) => words[word] ?? 0)] ?? 0;
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
