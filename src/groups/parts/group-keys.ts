/** The keys of the groups that trajectories belong to, by the positions of their parts. */
import { type Column, Numbers } from "./numbers.ts";

/** Keys as they go from one thread to another. */
export interface PackedKeys {
  /** Positions from which on parts have another key than those before. */
  readonly starts: Column;
  /** The keys from there on; undefined where there is none. */
  readonly keys: readonly (string | undefined)[];
  /** Position behind the last part that has a key. */
  readonly end: number;
}

/**
 * Keys of parts. What is a group by itself has none, and an input without any key takes no memory; parts of the same key
 * stand side by side mostly, and share it.
 */
export class GroupKeys {
  readonly #starts = Numbers.words();
  readonly #keys: (string | undefined)[] = [];
  #end = 0;
  /** Where the last key was found: the next one asked for is that, or the one behind it. */
  #found = 0;

  /** Whether no part has a key. */
  get areNone(): boolean {
    return this.#keys.length === 0;
  }

  /** The key of the part at a position; undefined where it has none. */
  at(position: number): string | undefined {
    return position < this.#end ? this.#keys[this.#stretchOf(position)] : undefined;
  }

  /** Sets the key of a part that stands behind all that have one. */
  set(position: number, key: string): void {
    this.#setMany(position, position + 1, key);
  }

  /** Forgets the key of a part, where those behind it have another. */
  forget(position: number): void {
    if (position >= this.#end) return;
    const stretch = this.#stretchOf(position);
    if (this.#endOf(stretch) === position + 1) this.#keys[stretch] = undefined;
  }

  /** Adds the keys of later parts, the first of which has a position. */
  append({ starts, keys, end }: PackedKeys, first: number): void {
    for (const [stretch, key] of keys.entries()) {
      if (key !== undefined) this.#setMany(first + (starts[stretch] ?? 0), first + (starts[stretch + 1] ?? end), key);
    }
  }

  /** Those so far; valid until more are set. */
  pack(): PackedKeys {
    return { starts: this.#starts.values(), keys: this.#keys, end: this.#end };
  }

  #setMany(from: number, to: number, key: string): void {
    if (from > this.#end) this.#begin(this.#end, undefined);
    if (from > this.#end || this.areNone || this.#keys.at(-1) !== key) this.#begin(from, key);
    this.#end = to;
  }

  #begin(start: number, key: string | undefined): void {
    this.#starts.push(start);
    this.#keys.push(key);
  }

  #endOf(stretch: number): number {
    return stretch + 1 < this.#keys.length ? this.#starts.at(stretch + 1) : this.#end;
  }

  /** The stretch of equal keys that a position is in. */
  #stretchOf(position: number): number {
    for (let near = this.#found; near < Math.min(this.#found + 2, this.#keys.length); near++) {
      if (position >= this.#starts.at(near) && position < this.#endOf(near)) {
        this.#found = near;
        return near;
      }
    }
    let low = 0;
    let high = this.#keys.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#starts.at(middle) <= position) low = middle;
      else high = middle - 1;
    }
    this.#found = low;
    return low;
  }
}
