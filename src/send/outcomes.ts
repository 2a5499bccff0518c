/** The outcome of each group of a run's input, one byte per group. */

import { Column, type Groups } from "../groups/index.ts";

const names = ["not_sent", "logged", "already_logged", "rejected", "unknown"] as const;

/** What can become of a group. */
type GroupOutcome = (typeof names)[number];

/** How many groups or trajectories there are, by their outcome (cli.md, "`log --json`"). */
export type Counts = Readonly<Record<GroupOutcome | "read", number>>;

/** The outcomes of all groups. Each is `not_sent` until something is known. */
export class GroupOutcomes {
  readonly #codes = new Column("u8");

  constructor(groups: number) {
    this.grow(groups);
  }

  /** Adds groups until there are so many. */
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
    for (let at = 0; at < groups.length; at++) this.set(groups[at] ?? 0, outcome);
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

  /** Counts the groups with each outcome, and their trajectories. */
  tally(groups: Pick<Groups, "count" | "trajectoriesOf">): { readonly groups: Counts; readonly trajectories: Counts } {
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
