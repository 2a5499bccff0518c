/** Digests side by side, kept once: a million of them take 16 MB. */

/** Bytes of a digest: half a SHA-256, which no two of a million parts share by chance. */
export const digestBytes = 16;

/** Bytes of a block, a multiple of a digest's: so large that the system takes it back as it gave it. */
const blockBits = 22;
const blockBytes = 2 ** blockBits;
const blockMask = blockBytes - 1;

/** Words of a digest, and digests of a block as a power of two. */
export const digestWords = digestBytes / 4;
export const digestsABlock = blockBits - 4;

/** Bytes that there is room for once there are any. */
const leastBytes = 256;

/** Digests in blocks: as they grow nothing is copied but the first block, which begins small. */
export class Digests {
  readonly #blocks: Uint8Array[] = [];
  #bytes = 0;

  /** Those that stand side by side in bytes. */
  static of(bytes: Uint8Array): Digests {
    const digests = new Digests();
    digests.append(bytes);
    return digests;
  }

  get count(): number {
    return this.#bytes / digestBytes;
  }

  /** Adds digests that stand side by side. */
  append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const at = this.#bytes & blockMask;
      const some = bytes.subarray(from, from + Math.min(bytes.length - from, blockBytes - at));
      this.#room(some.length).set(some, at);
      this.#bytes += some.length;
      from += some.length;
    }
  }

  /** Their words, as this machine reads them, in blocks; valid until a digest is added. */
  words(): readonly Int32Array[] {
    return this.#blocks.map(({ buffer, byteLength }) => new Int32Array(buffer, 0, byteLength / 4));
  }

  /** The digest at a position; valid until one is added. */
  at(position: number): Uint8Array {
    return this.slice(position, 1);
  }

  /** As many as are asked for from a position on, side by side; valid until one is added. */
  slice(first: number, count: number): Uint8Array {
    const [from, to] = [first * digestBytes, Math.min(this.#bytes, (first + count) * digestBytes)];
    const block = this.#blocks[from >>> blockBits] ?? new Uint8Array(0);
    const start = from & blockMask;
    if (start + to - from <= blockBytes) return block.subarray(start, start + Math.max(0, to - from));
    const all = new Uint8Array(to - from);
    for (let at = from; at < to; ) {
      const end = Math.min(to, at - (at & blockMask) + blockBytes);
      all.set(this.slice(at / digestBytes, (end - at) / digestBytes), at - from);
      at = end;
    }
    return all;
  }

  /** Changes the digest at a position that there is. */
  set(position: number, digest: Uint8Array): void {
    const at = position * digestBytes;
    this.#blocks[at >>> blockBits]?.set(digest, at & blockMask);
  }

  copy(): Digests {
    const copy = new Digests();
    for (const block of this.#blocks) copy.append(block.subarray(0, Math.min(block.length, this.#bytes - copy.#bytes)));
    return copy;
  }

  /** The last block, with room for as many bytes. */
  #room(wanted: number): Uint8Array {
    const index = this.#bytes >>> blockBits;
    const filled = this.#bytes & blockMask;
    const block = this.#blocks[index];
    if (block !== undefined && filled + wanted <= block.length) return block;
    const length = Math.max(filled + wanted, 2 * filled, leastBytes);
    const larger = new Uint8Array(index > 0 ? blockBytes : Math.min(blockBytes, length));
    if (block !== undefined) larger.set(block);
    this.#blocks[index] = larger;
    return larger;
  }
}
