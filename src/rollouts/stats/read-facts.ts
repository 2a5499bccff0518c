/** Reads the facts of a dataset. */
import type { Dataset } from "../dataset/read-dataset.ts";
import type { FactRow } from "../facts.ts";
import type { FactColumns } from "../index/fact-columns.ts";
import { isSolved } from "../index/metrics.ts";
import { meanOfFinite } from "../index/sums.ts";

/** Expects a dataset that was read with `measures`. */
export const getFacts = ({ scan: { parts } }: Dataset): FactColumns => {
  if (!parts.facts) throw new Error("the trajectories were not measured");
  return parts.facts;
};

export interface RolloutFact extends FactRow {
  /** The value of `--by` as JSON. */
  readonly by: string | undefined;
}

/** Returns the rewards of a group's trajectories. Expects a valid group. */
export const readGroupRewards = (dataset: Dataset, group: number) =>
  getFacts(dataset).reward.pick(dataset.groups.rowsOf(group));

/** Returns a function that reads the facts of a trajectory of the group. @param pass default: 1 */
export const openFactReader = (dataset: Dataset, group: number, pass?: number) => {
  const facts = getFacts(dataset);
  const mean = meanOfFinite(readGroupRewards(dataset, group));
  return (row: number): RolloutFact => {
    const reward = facts.reward.at(row);
    return { reward, mean, isSolved: isSolved(reward, pass), by: facts.by.at(row), ...facts.at(row) };
  };
};

/** Returns the facts of a group's trajectories; none if the group is invalid. @param pass default: 1 */
export const readGroupFacts = (dataset: Dataset, group: number, pass?: number): readonly RolloutFact[] =>
  dataset.groups.isValid(group) ? dataset.groups.rowsOf(group).map(openFactReader(dataset, group, pass)) : [];
