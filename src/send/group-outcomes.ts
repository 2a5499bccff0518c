/** What became of each group of a run's input, one byte a group. */

import type { Groups } from "../groups/index.ts";
import { Column } from "../groups/index.ts";

/** What can become of a group. */
type GroupOutcome = "not_sent" | "logged" | "already_logged" | "rejected" | "unknown";

const names: readonly GroupOutcome[] = ["not_sent", "logged", "already_logged", "rejected", "unknown"];

/** How many of something there are, by what became of them (promises.md, "`log --json`"). */
export interface Counts {
  readonly read: number;
  readonly logged: number;
  readonly already_logged: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly not_sent: number;
}

/** The outcomes of all groups; each is `not_sent` until something is known. */
export class GroupOutcomes {
  readonly #codes = new Column("u8");

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

  of(group: number): GroupOutcome {
    return names[this.#codes.at(group)] ?? "not_sent";
  }

  set(group: number, outcome: GroupOutcome): void {
    this.#codes.set(group, names.indexOf(outcome));
  }

  setAll(groups: Uint32Array, outcome: GroupOutcome): void {
    const code = names.indexOf(outcome);
    for (let at = 0; at < groups.length; at++) this.#codes.set(groups[at] ?? 0, code);
  }

  /** Positions of the groups with an outcome, in the order of the input. */
  which(outcome: GroupOutcome): Uint32Array {
    const code = names.indexOf(outcome);
    const codes = this.#codes.values();
    const found = new Uint32Array(codes.length);
    let count = 0;
    for (let group = 0; group < codes.length; group++) if (codes[group] === code) found[count++] = group;
    return count === found.length ? found : found.slice(0, count);
  }

  /** How many groups have each outcome, and how many trajectories those have. */
  tally(groups: Pick<Groups, "count" | "trajectoriesOf">): {
    readonly groups: Counts;
    readonly trajectories: Counts;
  } {
    const counts = { groups: new Float64Array(names.length), trajectories: new Float64Array(names.length) };
    for (let group = 0; group < groups.count; group++) {
      const code = this.#codes.at(group);
      counts.groups[code] = (counts.groups[code] ?? 0) + 1;
      counts.trajectories[code] = (counts.trajectories[code] ?? 0) + groups.trajectoriesOf(group);
    }
    return { groups: countsOf(counts.groups), trajectories: countsOf(counts.trajectories) };
  }
}

const countsOf = ([not_sent = 0, logged = 0, already_logged = 0, rejected = 0, unknown = 0]: Float64Array): Counts => ({
  read: not_sent + logged + already_logged + rejected + unknown,
  logged,
  already_logged,
  rejected,
  unknown,
  not_sent,
});
