/** What is known of groups by their marks, before anybody knows which groups there will be. */

import { MarkTable } from "../follow/growing-marks.ts";
import { markBytes } from "../read/parts/marks.ts";
import { groupState, stateThatCounts } from "./earlier-runs.ts";
import type { Entry } from "./ledger.ts";

/** Marks a group as logged from an input of another name. */
const otherBit = 4;

/** Marks that were sent before, and what became of them. */
export class KnownMarks {
  readonly #table = new MarkTable();
  #empty = true;
  /** When a group was last logged from an input of another name. */
  #otherAt = 0;

  get isEmpty(): boolean {
    return this.#empty;
  }

  get otherAt(): number {
    return this.#otherAt;
  }

  /** One of `groupState`. */
  stateOf(mark: Uint8Array): number {
    return (this.#table.get(mark) ?? groupState.free) % otherBit;
  }

  /** Whether a group was logged from an input of another name. */
  isOther(mark: Uint8Array): boolean {
    return (this.#table.get(mark) ?? 0) >= otherBit;
  }

  /** What was logged once stays logged, whatever a later try of the same group came to. */
  add(mark: Uint8Array, state: number, other = false): void {
    const before = this.#table.get(mark) ?? groupState.free;
    const own = before % otherBit === groupState.logged ? groupState.logged : state;
    this.#table.set(mark, own + (other || before >= otherBit ? otherBit : 0));
    this.#empty = false;
  }

  /** Adds what a ledger has; gives the requests whose outcome is unknown. */
  addEntries(
    entries: Iterable<Entry>,
    { input, unknownOnly }: { readonly input: string; readonly unknownOnly: boolean },
  ): readonly Entry[] {
    const unknown: Entry[] = [];
    for (const entry of entries) {
      const state = stateThatCounts(entry.state);
      if (state === groupState.free || (unknownOnly && state !== groupState.unknown)) continue;
      const other = state === groupState.logged && entry.input !== input;
      for (let at = 0; at < entry.marks.length; at += markBytes) {
        this.add(entry.marks.subarray(at, at + markBytes), state, other);
      }
      if (other) this.#otherAt = Math.max(this.#otherAt, entry.lastTried);
      if (state === groupState.unknown) unknown.push(entry);
    }
    return unknown;
  }
}
