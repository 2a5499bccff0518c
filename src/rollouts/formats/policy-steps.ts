/** Reads the columns that state the training step, or the version of the policy, of a row. */
import { isComparedStep, isStep, stepHolders } from "../index/step-columns.ts";
import { unwrap } from "../messages/chat.ts";
import { type Members, openKeyFacts, type Value } from "../messages/value.ts";

const stepKeys = openKeyFacts((keys) => keys.filter(isStep));

/** The keys of the objects in a row that can have columns of the row. */
export const holderKeys = openKeyFacts((keys) => stepHolders.filter((name) => keys.includes(name)));

const listHolders = (row: Value) =>
  row.facts(holderKeys).map((name) => [`${name}.`, unwrap(row.require(name))] as const);

/** Returns the JSON of each step column by its path. */
export const readSteps = (row: Value): ReadonlyMap<string, string> => {
  const steps = new Map<string, string>();
  for (const [prefix, holder] of [["", row] as const, ...listHolders(row)])
    for (const key of holder.facts(stepKeys)) {
      const value = holder.require(key);
      if (value.isScalar) steps.set(`${prefix}${key}`, value.raw);
    }
  return steps;
};

/** Returns the step columns in objects of the row, which become metadata. */
export const listInnerSteps = (row: Value): Members =>
  listHolders(row).flatMap(([, holder]) =>
    holder.facts(stepKeys).flatMap((key) => {
      const value = holder.require(key);
      return value.isScalar && isComparedStep(key) ? [[key, value] as const] : [];
    }),
  );

/** Returns the part of a group key that keeps rollouts of different policies apart. */
export const formatSteps = (steps: ReadonlyMap<string, string>) =>
  steps.size === 0 ? "" : Array.from(steps, ([name, value]) => `${name} ${value}`).join();
