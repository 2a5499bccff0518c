/** The outcome of each group of a run's input, one byte per group. */
import { Column, type Groups } from "../groups/index.ts";

const names = ["not_sent", "logged", "already_logged", "rejected", "unknown"] as const;

/** What can become of a group. */
type GroupOutcome = (typeof names)[number];

/** How many groups or trajectories there are, by their outcome (output.md). */
export type Counts = Readonly<Record<GroupOutcome | "read", number>>;

/** Counts of nothing, in the order of the document. */
export const noCounts = () => ({ read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 });

/** The outcomes of all groups. Each is `not_sent` until something is known. */
export class GroupOutcomes {
  readonly #codes = new Column("u8");

  constructor(groups: number) {
    this.grow(groups);
  }

  /** Adds groups until there are so many. */
  grow(groups: number): void {
    this.#codes.length = Math.max(this.count, groups);
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
    const counts = { groups: noCounts(), trajectories: noCounts() };
    for (let group = 0; group < groups.count; group++) {
      const trajectories = groups.trajectoriesOf(group);
      for (const name of ["read", this.of(group)] as const) {
        counts.groups[name]++;
        counts.trajectories[name] += trajectories;
      }
    }
    return counts;
  }
}

/** The outcomes of groups of which those with errors are rejected. */
export const rejectInvalid = ({ groups }: { readonly groups: Groups }): GroupOutcomes => {
  const outcomes = new GroupOutcomes(groups.count);
  for (let group = 0; group < groups.count; group++) if (!groups.isValid(group)) outcomes.set(group, "rejected");
  return outcomes;
};
