/** Stores digests in growing columns, and finds digests. */
import { hash } from "node:crypto";
import { NumberColumn } from "./column.ts";

/** Half of a SHA-256 digest is enough to make collisions improbable. */
export const digestBytes = 16;

/** Memory that all hashes share, because allocating memory takes as long as hashing 1 kB. */
const hashed = Buffer.alloc(digestBytes);

export class Digests {
  readonly #bytes: NumberColumn;

  constructor(bytes = new NumberColumn("u8")) {
    this.#bytes = bytes;
  }

  get count(): number {
    return this.#bytes.length / digestBytes;
  }

  append(digests: Uint8Array) {
    this.#bytes.append(digests);
  }

  /** Appends the first half of the SHA-256 digest. */
  appendHash(bytes: Uint8Array) {
    hashed.write(hash("sha256", bytes, "hex"), "hex");
    this.#bytes.append(hashed);
  }

  set(position: number, digest: Uint8Array) {
    this.#bytes.length = Math.max(this.#bytes.length, (position + 1) * digestBytes);
    for (const [at, byte] of digest.entries()) this.#bytes.set(position * digestBytes + at, byte);
  }

  at(position: number): Uint8Array {
    return this.slice(position, 1);
  }

  slice(first: number, count: number): Uint8Array {
    const end = Math.min(this.count, first + count);
    return new Uint8Array(this.#bytes.values(first * digestBytes, end * digestBytes).buffer);
  }

  byteOf(position: number, at: number) {
    return this.#bytes.at(position * digestBytes + at);
  }
}

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
    const slot = this.#slotOf((at) => this.#digests.byteOf(position, at));
    const found = this.#slots[slot] ?? 0;
    if (found > 0) return found - 1;
    this.#slots[slot] = position + 1;
    this.#count++;
    return position;
  }

  find(digest: Uint8Array) {
    const found = this.#slots[this.#slotOf((at) => digest[at] ?? 0)] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  #grow() {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#count = 0;
    for (const slot of before) if (slot > 0) this.add(slot - 1);
  }

  #slotOf(byteAt: (at: number) => number) {
    const last = this.#slots.length - 1;
    const start = byteAt(0) | (byteAt(1) << 8) | (byteAt(2) << 16) | (byteAt(3) << 24);
    for (let slot = start & last; ; slot = (slot + 1) & last) {
      const found = this.#slots[slot] ?? 0;
      let at = 0;
      while (found > 0 && at < digestBytes && this.#digests.byteOf(found - 1, at) === byteAt(at)) at++;
      if (found === 0 || at === digestBytes) return slot;
    }
  }
}
