/** The outcome of each group of a run, one byte per group. */
import { Column, type Groups } from "../groups/index.ts";

const outcomeNames = ["not_sent", "logged", "already_logged", "rejected", "unknown"] as const;
type GroupOutcome = (typeof outcomeNames)[number];
export type OutcomeCounts = Readonly<Record<GroupOutcome | "read", number>>;

export const zeroCounts = () => ({ read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 });

export class GroupOutcomes {
  readonly #codes = new Column("u8");

  constructor(groups: number) {
    this.extendTo(groups);
  }

  get count(): number {
    return this.#codes.length;
  }

  extendTo(groups: number): void {
    this.#codes.length = Math.max(this.count, groups);
  }

  outcomeOf(group: number): GroupOutcome {
    return outcomeNames[this.#codes.at(group)] ?? "not_sent";
  }

  set(group: number, outcome: GroupOutcome): void {
    this.#codes.set(group, outcomeNames.indexOf(outcome));
  }

  setAll(groups: Uint32Array, outcome: GroupOutcome): void {
    for (let at = 0; at < groups.length; at++) this.set(groups[at] ?? 0, outcome);
  }

  groupsWith(outcome: GroupOutcome): Uint32Array {
    const code = outcomeNames.indexOf(outcome);
    const codes = this.#codes.values();
    const groups = new Uint32Array(codes.length);
    let count = 0;
    for (let group = 0; group < codes.length; group++) if (codes[group] === code) groups[count++] = group;
    return groups.subarray(0, count);
  }

  countByOutcome(groups: Pick<Groups, "count" | "trajectoriesOf">) {
    const counts = { groups: zeroCounts(), trajectories: zeroCounts() };
    for (let group = 0; group < groups.count; group++) {
      const trajectories = groups.trajectoriesOf(group);
      for (const name of ["read", this.outcomeOf(group)] as const) {
        counts.groups[name]++;
        counts.trajectories[name] += trajectories;
      }
    }
    return counts;
  }
}

export const rejectInvalid = ({ groups }: { readonly groups: Groups }): GroupOutcomes => {
  const outcomes = new GroupOutcomes(groups.count);
  for (let group = 0; group < groups.count; group++) if (!groups.isValid(group)) outcomes.set(group, "rejected");
  return outcomes;
};
