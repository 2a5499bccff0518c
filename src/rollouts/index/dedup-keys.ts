/** Assigns dedup keys to groups. */
import { createHash } from "node:crypto";
import { Breaks } from "../../system/breaks.ts";
import { Digests, DigestTable, digestBytes } from "./digests.ts";
import type { Groups } from "./groups.ts";

export const dedupKeyBytes = digestBytes;

export class DedupKeys {
  readonly #keys: Digests;
  readonly #inputs: InputKeys[] = [];

  /** @param digests become the keys of the groups that the caller adds */
  constructor(digests = new Digests()) {
    this.#keys = digests;
  }

  get count(): number {
    return this.#keys.count;
  }

  /** Returns a copy of the keys of groups. Zeros represent a missing key. */
  pick(groups: ArrayLike<number>): Uint8Array {
    return this.#keys.pick(groups);
  }

  /** Prefers the last input. Returns -1 if no group has the key at byte `offset`. */
  readonly find = (keys: Uint8Array, offset: number) => {
    const key = keys.subarray(offset, offset + dedupKeyBytes);
    for (const { table } of this.#inputs) {
      const group = table.find(key);
      if (group !== undefined) return group;
    }
    return -1;
  };

  /** Each input counts its equal groups separately. */
  addInput(): InputKeys {
    const input = openInputKeys(this.#keys);
    this.#inputs.unshift(input);
    return input;
  }
}

export interface InputKeys {
  readonly table: DigestTable;
  /** Returns the key of the next group with the digest. */
  readonly next: (digest: Uint8Array) => Uint8Array;
  /** @param digest default: the digest of the group is set */
  readonly add: (group: number, digest?: Uint8Array) => void;
}

const openInputKeys = (keys: Digests): InputKeys => {
  const table = new DigestTable(keys);
  const repeats = new Map<number, number>();
  return {
    table,
    next(digest) {
      const first = table.find(digest);
      return first === undefined ? digest : nthDedupKey(digest, (repeats.get(first) ?? 0) + 1);
    },
    add(group, digest) {
      if (digest) keys.set(group, digest);
      for (let first = table.add(group); first !== group; first = table.add(group)) {
        const occurrence = (repeats.get(first) ?? 0) + 1;
        repeats.set(first, occurrence);
        keys.set(group, nthDedupKey(keys.at(first), occurrence));
      }
    },
  };
};

const nthDedupKey = (digest: Uint8Array, occurrence: number) =>
  createHash("sha256").update(digest).update(`#${occurrence}`).digest().subarray(0, dedupKeyBytes);

/** @throws the signal's reason */
export const assignDedupKeys = async (groups: Groups, signal?: AbortSignal) => {
  const breaks = new Breaks(signal);
  const ofParts = groups.digestsOfParts;
  const digests = ofParts ?? new Digests();
  const keys = new DedupKeys(digests);
  const input = keys.addInput();
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue()) await breaks.take();
    if (!ofParts) groups.copyDigest(group, digests);
    input.add(group);
  }
  return keys;
};
