/** The keys of the groups that trajectories belong to, by the positions of their parts. */

/** Keys as they go from one thread to another: as many as there are parts up to the last one that has a key. */
export type PackedKeys = readonly (string | undefined)[];

/** Keys of parts; what is a group by itself has none, and an input without any key takes no memory. */
export class GroupKeys {
  readonly #keys: (string | undefined)[] = [];
  #last: string | undefined;

  /** Whether no part has a key. */
  get areNone(): boolean {
    return this.#keys.length === 0;
  }

  /** The key of the part at a position; undefined where it has none. */
  at(position: number): string | undefined {
    return this.#keys[position];
  }

  /** Sets the key of a part that stands behind all that have one. */
  set(position: number, key: string): void {
    while (this.#keys.length < position) this.#keys.push(undefined);
    // Those of a group stand side by side mostly: all of them share one text.
    if (key !== this.#last) this.#last = key;
    this.#keys[position] = this.#last;
  }

  /** Forgets the key of a part. */
  forget(position: number): void {
    if (position < this.#keys.length) this.#keys[position] = undefined;
  }

  /** Adds the keys of later parts, the first of which has a position. */
  append(later: PackedKeys, first: number): void {
    for (const [at, key] of later.entries()) if (key !== undefined) this.set(first + at, key);
  }

  /** Those so far; valid until more are set. */
  pack(): PackedKeys {
    return this.#keys;
  }
}
