/** Finds the facts of a dataset. */
import type { Dataset } from "../dataset/read-dataset.ts";
import type { TrajectoryColumns } from "../index/trajectory-columns.ts";
import type { WalkedColumns } from "../index/walked-columns.ts";

/** Rows of trajectories. */
export interface Facts {
  readonly columns: TrajectoryColumns;
  readonly walked: WalkedColumns;
}

/** Expects a dataset that was read with `measures`. */
export const getFacts = ({ scan: { parts } }: Dataset): Facts => {
  const { facts: columns } = parts;
  if (!columns.walked) throw new Error("the trajectories were not measured");
  return { columns, walked: columns.walked };
};

export type RolloutFact = ReturnType<typeof readFact>;

export const readFact = ({ columns, walked }: Facts, row: number) => ({
  reward: columns.reward.at(row),
  ...walked.at(row),
});
