/** Digests side by side, kept once: a million of them take 16 MB. */
import { Numbers } from "./numbers.ts";

/** Bytes of a digest: half a SHA-256, which no two of a million parts share by chance. */
export const digestBytes = 16;
export const digestWords = digestBytes / 4;

/** Digests that grow in number. */
export class Digests {
  readonly #words = Numbers.words();

  /** Those that stand side by side in bytes. */
  static of(bytes: Uint8Array): Digests {
    const digests = new Digests();
    digests.append(bytes);
    return digests;
  }

  get count(): number {
    return this.#words.length / digestWords;
  }

  /** Adds digests that stand side by side. */
  append(...pieces: readonly Uint8Array[]): void {
    this.#words.append(...pieces.map(wordsOf));
  }

  /** One of the words of the digest at a position, as this machine reads it. */
  wordOf(position: number, word: number): number {
    return this.#words.at(position * digestWords + word);
  }

  /** The digest at a position; valid until one is added. */
  at(position: number): Uint8Array {
    return this.slice(position, 1);
  }

  /** As many as are asked for from a position on, side by side; valid until one is added. */
  slice(first: number, count: number): Uint8Array {
    const end = Math.min(this.count, first + count);
    const { buffer, byteOffset, byteLength } = this.#words.values(first * digestWords, end * digestWords);
    return new Uint8Array(buffer, byteOffset, byteLength);
  }

  /** All of them, piece by piece; valid until one is added. */
  *blocks(): Generator<Uint8Array, void> {
    for (const { buffer, byteOffset, byteLength } of this.#words.blocks()) {
      yield new Uint8Array(buffer, byteOffset, byteLength);
    }
  }

  /** Changes the digest at a position that there is. */
  set(position: number, digest: Uint8Array): void {
    for (const [word, value] of wordsOf(digest).entries()) this.#words.set(position * digestWords + word, value);
  }

  copy(): Digests {
    const copy = new Digests();
    copy.append(...this.blocks());
    return copy;
  }
}

/** The words of bytes, wherever these begin in memory. */
const wordsOf = (bytes: Uint8Array): Uint32Array => {
  const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(buffer, byteOffset, length / 4);
};
