/** The keys of the groups that trajectories belong to, by the positions of their parts, until the parts are grouped. */

/** Keys as data: another thread gets this of them. */
export type PartKeysData = Pick<PartKeys, "starts" | "keys" | "end">;

/** Keys in runs of equal ones: adjacent parts mostly have the same. What is a group alone has none. */
export class PartKeys {
  /** Positions from which on parts have another key than those before. */
  readonly starts: number[] = [];
  /** The keys from there on; undefined for none. */
  readonly keys: (string | undefined)[] = [];
  /** Position behind the last part that has a key. */
  end = 0;
  /** The run of the key that was asked for last. */
  #run = 0;

  /** Sets the key of a part, or of all up to `end`, behind all that have one. */
  set(position: number, key: string, end = position + 1): void {
    if (position > this.end) this.#begin(this.end, undefined);
    if (position > this.end || this.keys.length === 0 || this.keys.at(-1) !== key) this.#begin(position, key);
    this.end = end;
  }

  /** The key of a part; undefined if it has none. Fast for one part after the other. */
  at(position: number): string | undefined {
    if (position >= this.end) return undefined;
    if (position < (this.starts[this.#run] ?? 0)) this.#run = 0;
    while ((this.starts[this.#run + 1] ?? this.end) <= position) this.#run++;
    return this.keys[this.#run];
  }

  /** Adds the keys of later parts, the first of which has a position. */
  append({ starts, keys, end }: PartKeysData, first: number): void {
    for (const [run, key] of keys.entries()) {
      if (key !== undefined) this.set(first + (starts[run] ?? 0), key, first + (starts[run + 1] ?? end));
    }
  }

  /** Forgets all keys: their parts are grouped. */
  clear(): void {
    this.starts.length = 0;
    this.keys.length = 0;
    this.#run = 0;
  }

  #begin(start: number, key: string | undefined): void {
    this.starts.push(start);
    this.keys.push(key);
  }
}
