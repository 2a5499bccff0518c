/** What became of each group of a run's input, one byte a group. */
import { Numbers } from "../parts/numbers.ts";

/** What can become of a group. */
export type Fate = "not_sent" | "logged" | "already_logged" | "rejected" | "unknown";

const fates: readonly Fate[] = ["not_sent", "logged", "already_logged", "rejected", "unknown"];

/** The fates of all groups; each is `not_sent` until something is known. */
export class Fates {
  readonly #codes = Numbers.bytes();

  constructor(groups: number) {
    this.grow(groups);
  }

  /** Knows of as many groups at least; the new ones are `not_sent`. */
  grow(groups: number): void {
    if (groups > this.count) this.#codes.append(new Uint8Array(groups - this.count));
  }

  get count(): number {
    return this.#codes.length;
  }

  of(group: number): Fate {
    return fates[this.#codes.at(group)] ?? "not_sent";
  }

  set(group: number, fate: Fate): void {
    this.#codes.set(group, fates.indexOf(fate));
  }

  setAll(groups: Uint32Array, fate: Fate): void {
    for (const group of groups) this.set(group, fate);
  }

  /** Positions of the groups with a fate, in the order of the input. */
  which(fate: Fate): Uint32Array {
    const code = fates.indexOf(fate);
    const codes = this.#codes.values();
    let count = 0;
    for (let group = 0; group < codes.length; group++) if (codes[group] === code) count++;
    const found = new Uint32Array(count);
    let at = 0;
    for (let group = 0; group < codes.length; group++) if (codes[group] === code) found[at++] = group;
    return found;
  }
}
