/** Reads the facts of a dataset. */
import { rewardsOf } from "../dataset/group-metrics.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import type { FactRow } from "../facts/facts.ts";
import type { FactColumns } from "../index/fact-columns.ts";
import { isSolved } from "../index/metrics.ts";
import { meanOfFinite } from "../index/sums.ts";
import type { TrajectoryColumns } from "../index/trajectory-columns.ts";

export type Facts = TrajectoryColumns & { readonly walked: FactColumns };

const hasFacts = (columns: TrajectoryColumns): columns is Facts => columns.walked !== undefined;

/** Expects a dataset that was read with `measures`. */
export const getFacts = ({ scan: { parts } }: Dataset): Facts => {
  if (!hasFacts(parts.facts)) throw new Error("the trajectories were not measured");
  return parts.facts;
};

export interface RolloutFact extends FactRow {
  /** The value of `--by` as JSON. */
  readonly by: string | undefined;
}

/** Returns a function that reads the facts of a trajectory of the group. @param pass default: 1 */
export const openFactReader = (dataset: Dataset, group: number, pass?: number) => {
  const facts = getFacts(dataset);
  const mean = meanOfFinite(rewardsOf(dataset, group));
  return (row: number): RolloutFact => {
    const reward = facts.reward.at(row);
    return { reward, mean, isSolved: isSolved(reward, pass), by: facts.walked.by.at(row), ...facts.walked.at(row) };
  };
};

/** Returns the facts of a group's trajectories; none if the group is invalid. @param pass default: 1 */
export const readGroupFacts = (dataset: Dataset, group: number, pass?: number): readonly RolloutFact[] =>
  dataset.groups.isValid(group) ? dataset.groups.rowsOf(group).map(openFactReader(dataset, group, pass)) : [];
