/** Finds what divides the rollouts of two runs: environments, steps and settings. */

import { divisionNames } from "../index/ambiguous-groups.ts";
import { formatKeyText } from "../index/group-key.ts";
import { comparedStepNames } from "../index/step-columns.ts";
import type { Pool, Sides } from "./compare-sides.ts";
import { PairedValues } from "./intervals.ts";

type RewardedPair = Readonly<Record<"a" | "b", number>> & { readonly pair: Readonly<Record<"a" | "b", Pool>> };

/** A key with more values names prompts. */
const maxDivisions = 20;

/** Returns the mean rewards by the values of each key with few values. A pair has the value of its first trajectory. */
export const compareDivisions = ({ a }: Sides, pairs: readonly RewardedPair[]) =>
  divisionNames.flatMap((name) => {
    const column = a.facts.walked.tasks.get(name);
    if (!column || column.names.list.length < 2 || column.names.list.length > maxDivisions) return [];
    const byValue = new Map<string, PairedValues>();
    for (const rewarded of pairs) {
      const [row = -1] = rewarded.pair.a.rows;
      const value = formatKeyText(column.at(row)) ?? "";
      const own = byValue.get(value) ?? new PairedValues();
      byValue.set(value, own);
      own.add(rewarded.a, rewarded.b);
    }
    return Array.from(byValue).flatMap(([value, own]) => {
      const compared = own.describe();
      return compared ? { name, value, ...compared } : [];
    });
  });

/** Returns the metadata with one value in all trajectories of each side, if these values differ. */
export const findSettings = ({ a, b }: Sides) =>
  Array.from(a.facts.walked.settings).flatMap(([name, inA]) => {
    const inB = b.facts.walked.settings.get(name) ?? inA;
    return inA === inB ? [] : { name, a: formatKeyText(inA) ?? "", b: formatKeyText(inB) ?? "" };
  });

/** Returns the sides with several values of a step column. */
export const findSteps = (sides: Sides) =>
  (["a", "b"] as const).flatMap((side) =>
    comparedStepNames.flatMap((name) => {
      const values = sides[side].facts.walked.tasks.get(name)?.names.list ?? [];
      return values.length < 2 ? [] : { side, name, values: values.map((value) => formatKeyText(value) ?? "") };
    }),
  );
