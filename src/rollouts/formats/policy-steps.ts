/** Reads the columns that state the training step, or the version of the policy, of a row. */
import { isComparedStep, isStep, stepHolders } from "../index/step-columns.ts";
import { unwrap } from "../messages/chat.ts";
import type { Members, Value } from "../messages/value.ts";

/** Returns the JSON of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const holder of ["", ...stepHolders]) {
    const object = holder === "" ? row : unwrap(row.get(holder));
    for (const [name, value] of object?.members() ?? [])
      if (isStep(name) && value.isScalar) steps.set(holder === "" ? name : `${holder}.${name}`, value.raw);
  }
  return steps;
};

/** Returns the step columns in objects of the row, which become metadata. */
export const listInnerSteps = (row: Value): Members =>
  stepHolders.flatMap((holder) =>
    (unwrap(row.get(holder))?.members() ?? []).filter(([key, { isScalar }]) => isScalar && isComparedStep(key)),
  );

/** Returns the part of a group key that keeps rollouts of different policies apart. */
export const formatSteps = (steps: ReadonlyMap<string, string>) =>
  Array.from(steps, ([name, value]) => `${name} ${value}`).join();
