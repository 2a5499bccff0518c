/** Checks one record: types, messages and rules. */
import type { MeasuredKeys, RolloutMeasurer } from "./rollout-facts.ts";

export { type Block, Checker, emptyBlock, keyUses, type ScanOptions } from "./checker.ts";
export { openStepComparison } from "./policy-steps.ts";
export type { MeasuredKeys } from "./rollout-facts.ts";
export { inspectTrajectory, isTrajectory, listCustomKeys } from "./trajectory.ts";
export * from "./trajectory-prompt.ts";

/** Loads the facts only for commands that use them. */
export const loadRolloutMeasurer = async (keys: MeasuredKeys): Promise<RolloutMeasurer> =>
  (await import("./rollout-facts.ts")).openRolloutMeasurer(keys);

export const loadTrajectoryMeasurer = async () => (await import("./rollout-facts.ts")).measureTrajectory;
