/** Reads the columns that state the training step, or the version of the policy, of a row. */
import { stepPaths } from "../index/step-columns.ts";
import type { Value } from "../messages/value.ts";

/** Returns the JSON of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const path of stepPaths) {
    const value = row.get(...path);
    if (value?.isScalar) steps.set(path.join("."), value.raw);
  }
  return steps;
};

/** Returns the part of a group key that keeps rollouts of different policies apart. */
export const formatSteps = (steps: ReadonlyMap<string, string>) =>
  Array.from(steps, ([name, value]) => `${name} ${value}`).join();
