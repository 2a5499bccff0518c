/** Stores the outcome of each group in one byte. */

import { NumberColumn } from "../../rollouts/index/column.ts";
import type { Groups } from "../../rollouts/index/groups.ts";
import { type GroupOutcome, groupOutcomes, type Outcome } from "./outcome.ts";

export class OutcomeColumn<Name extends Outcome> {
  readonly #codes = new NumberColumn();
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
}

export type GroupOutcomes = OutcomeColumn<GroupOutcome>;
export type OutcomeCounts = Record<GroupOutcome | "read", number>;

export const openGroupOutcomes = (groups: number): GroupOutcomes =>
  new OutcomeColumn(["not_sent", ...groupOutcomes], groups);

const zeroCounts = (): OutcomeCounts => {
  return { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
};

export const countByOutcome = (outcomes: GroupOutcomes, groups: Groups) => {
  const counts = { groups: zeroCounts(), trajectories: zeroCounts() };
  for (let group = 0; group < groups.count; group++) {
    const outcome = outcomes.outcomeOf(group);
    const trajectories = groups.trajectoriesOf(group);
    counts.groups.read++;
    counts.groups[outcome]++;
    counts.trajectories.read += trajectories;
    counts.trajectories[outcome] += trajectories;
  }
  return counts;
};
