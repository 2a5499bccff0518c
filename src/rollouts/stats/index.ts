/** Aggregates the facts of the trajectories of a dataset. */

export { isSolved } from "../index/metrics.ts";
export { meanOfFinite } from "../index/sums.ts";
export { sumUses } from "../index/walked-columns.ts";
export { type Comparison, compareDatasets } from "./compare.ts";
export {
  listGroupRows,
  listTrajectoryRows,
  meanOfGroup,
  type RowOptions,
  readGroupFacts,
  toFactValues,
} from "./fact-rows.ts";
export type { RolloutFact } from "./facts.ts";
export { chooseReading } from "./reading-list.ts";
export type { Stats, StatsOptions } from "./stats-slice.ts";
export { computeStats, type DatasetStats } from "./stats-slices.ts";
