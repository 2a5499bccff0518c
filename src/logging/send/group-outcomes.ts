/** Stores the outcome of each group in one byte. */

import { NumberColumn } from "../../rollouts/index/column.ts";
import type { Groups } from "../../rollouts/index/groups.ts";
import { type GroupOutcome, groupOutcomes, type Outcome } from "./outcome.ts";

export class OutcomeColumn<Name extends Outcome> {
  readonly #codes = new NumberColumn("u8");
  readonly #names: readonly [Name, ...Name[]];

  /** @param names the possible outcomes. The first name is the outcome of a group until `set`. */
  constructor(names: readonly [Name, ...Name[]], groups: number) {
    this.#names = names;
    this.#codes.length = groups;
  }

  outcomeOf(group: number): Name {
    return this.#names[this.#codes.at(group)] ?? this.#names[0];
  }

  set(group: number, outcome: Name) {
    this.#codes.set(group, this.#names.indexOf(outcome));
  }

  setAll(groups: Uint32Array, outcome: Name) {
    for (const group of groups) this.set(group, outcome);
  }

  extendTo(groups: number) {
    this.#codes.length = Math.max(this.#codes.length, groups);
  }

  groupsWith(outcome: Name) {
    const code = this.#names.indexOf(outcome);
    const groups = new Uint32Array(this.#codes.length);
    let count = 0;
    for (let group = 0; group < groups.length; group++) if (this.#codes.at(group) === code) groups[count++] = group;
    return groups.subarray(0, count);
  }

  /** Returns the sum of the groups' numbers for each outcome. */
  sums(groups: number, numberOf: (group: number) => number) {
    const sums = new Float64Array(this.#names.length);
    for (let group = 0; group < groups; group++) {
      const code = this.#codes.at(group);
      sums[code] = (sums[code] ?? 0) + numberOf(group);
    }
    return this.#names.map((name, code): [Name, number] => [name, sums[code] ?? 0]);
  }
}

export type GroupOutcomes = OutcomeColumn<GroupOutcome>;
export type OutcomeCounts = Record<GroupOutcome | "read", number>;

export const openGroupOutcomes = (groups: number): GroupOutcomes =>
  new OutcomeColumn(["not_sent", ...groupOutcomes], groups);

export const zeroCounts = (): OutcomeCounts => {
  return { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
};

export const countByOutcome = (outcomes: GroupOutcomes, groups: Groups) => {
  const toCounts = (numberOf: (group: number) => number) => {
    const counts = zeroCounts();
    for (const [outcome, sum] of outcomes.sums(groups.count, numberOf)) {
      counts.read += sum;
      counts[outcome] += sum;
    }
    return counts;
  };
  return { groups: toCounts(() => 1), trajectories: toCounts((group) => groups.trajectoriesOf(group)) };
};

export const rejectInvalid = ({ groups }: { groups: Groups }) => {
  const outcomes = openGroupOutcomes(groups.count);
  const count = groups.areValidParts ? 0 : groups.count;
  for (let group = 0; group < count; group++) if (!groups.isValid(group)) outcomes.set(group, "rejected");
  return outcomes;
};
