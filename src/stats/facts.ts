/** Finds the facts of a dataset. */
import type { Dataset } from "../dataset/index.ts";
import type { RolloutFacts } from "../index/rollout-facts.ts";

/** Expects a dataset that was read with `measures`. */
export const getFacts = ({ scan }: Dataset): RolloutFacts => {
  const { rollouts } = scan.parts;
  if (!rollouts) throw new Error("the trajectories were not measured");
  return rollouts;
};
