/** Aggregates the facts of the trajectories of a dataset. */

import { type Dataset, getPart, locateGroup } from "../dataset/index.ts";
import { parseKeyText } from "../index/group-key.ts";
import { getFacts } from "./facts.ts";
import { type StatsOptions, StatsSlice } from "./stats-slice.ts";

export { isSolved } from "../index/metrics.ts";
export { meanOfFinite } from "../index/sums.ts";
export { sumUses } from "../index/walked-columns.ts";
export { type Comparison, compareDatasets } from "./compare.ts";
export { listGroupRows, listTrajectoryRows, readGroupFacts, toFactValues } from "./fact-rows.ts";
export type { RolloutFact } from "./facts.ts";
export { chooseReading } from "./reading-list.ts";
export type { Stats, StatsOptions } from "./stats-slice.ts";

export type DatasetStats = ReturnType<typeof computeStats>;

/**
 * Expects a dataset with facts. `byValue` is in natural order. Its value for trajectories without the key is undefined.
 * @param by `key` splits by the measured key
 */
export const computeStats = (dataset: Dataset, options: StatsOptions & { readonly by: "file" | "key" | undefined }) => {
  const facts = getFacts(dataset);
  const { groups } = dataset;
  const whole = new StatsSlice(facts, options, dataset.scan.tally);
  const slices = new Map<string | undefined, StatsSlice>();
  const sliceOf = (value: string | undefined) => {
    const slice = slices.get(value) ?? new StatsSlice(facts, options);
    slices.set(value, slice);
    return slice;
  };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const [rows, exceptions] = [groups.rowsOf(group), groups.exceptionsOf(group)];
    whole.addGroup(rows, exceptions);
    if (options.by === "file") sliceOf(JSON.stringify(findFile(dataset, group))).addGroup(rows, exceptions);
    else if (options.by === "key") {
      const numbers = rows.length === 0 ? [0] : [...new Set(rows.map((row) => facts.walked.by.at(row)))];
      for (const [at, number] of numbers.entries()) {
        const some = rows.filter((row) => facts.walked.by.at(row) === number);
        // The exceptions of a group count where its first trajectory does.
        sliceOf(facts.walked.byValues.at(number)).addGroup(some, at === 0 ? exceptions : 0);
      }
    }
  }
  const byValue = Array.from(slices, ([value, slice]) => ({ value, stats: slice.compute() }));
  return { whole: whole.compute(), byValue: byValue.sort((a, b) => compareNaturally(a.value, b.value)) };
};

/** A row of a Parquet file, or a member of an archive, belongs to its file. */
const findFile = (dataset: Dataset, group: number) => {
  const { source } = getPart(dataset, dataset.groups.firstOf(group));
  const [file, ...others] = source.originals?.files ?? [];
  return file !== undefined && others.length === 0 ? file : locateGroup(dataset, group).file;
};

const natural = new Intl.Collator("en", { numeric: true });

/** Numbers come first, then texts, in which numbers are compared as numbers. The missing value is last. */
const compareNaturally = (a: string | undefined, b: string | undefined) => {
  const [one, two] = [parseKeyText(a), parseKeyText(b)];
  if (typeof one === "number" && typeof two === "number") return one - two;
  const rank = (value: unknown) => (typeof value === "number" ? 0 : value === null ? 2 : 1);
  return rank(one) - rank(two) || natural.compare(String(one), String(two));
};
