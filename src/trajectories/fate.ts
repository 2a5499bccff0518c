/** What became of each group of a run's input, one byte a group. */

/** What can become of a group. */
export type Fate = "not_sent" | "logged" | "already_logged" | "rejected" | "unknown";

const fates: readonly Fate[] = ["not_sent", "logged", "already_logged", "rejected", "unknown"];

/** The fates of all groups; each is `not_sent` until something is known. */
export class Fates {
  readonly #codes: Uint8Array;

  constructor(groups: number) {
    this.#codes = new Uint8Array(groups);
  }

  get count(): number {
    return this.#codes.length;
  }

  of(group: number): Fate {
    return fates[this.#codes[group] ?? 0] ?? "not_sent";
  }

  set(group: number, fate: Fate): void {
    this.#codes[group] = fates.indexOf(fate);
  }

  setAll(groups: Uint32Array, fate: Fate): void {
    for (const group of groups) this.set(group, fate);
  }

  /** Positions of the groups with a fate, in the order of the input. */
  which(fate: Fate): Uint32Array {
    const code = fates.indexOf(fate);
    const found = new Uint32Array(this.#codes.reduce((count, own) => count + (own === code ? 1 : 0), 0));
    let at = 0;
    for (const [group, own] of this.#codes.entries()) if (own === code) found[at++] = group;
    return found;
  }
}
