/** Computes the numbers and the data of the charts for selected groups, and for all groups. */
import { NumberColumn } from "../rollouts/index/column.ts";
import { findBounds, standardDeviation } from "../rollouts/index/sums.ts";
import { GroupedValues } from "../rollouts/stats/intervals.ts";
import { appendTo } from "../text/lists.ts";
import { compareSteps, listSteps } from "./answer-queries.ts";
import type { Charts, GroupFacts, Range, RewardBounds, SeriesKey, Slice, StepPart, Summary } from "./answers.ts";

const rangeBarCount = 24;
const maxValueBars = 16;
const maxValues = 1000;

type ChartKeys = Pick<Summary, "scale" | "series">;

/** The part of `Breaks` that browsers have, too. */
type Pauses = Readonly<{ isDue: (bytes?: number) => boolean; take: () => Promise<void> }>;

/** Returns a function that counts selected groups in the bars and values of all groups. Default: all groups. */
export const openCharts = async (groups: readonly GroupFacts[], { scale, series }: ChartKeys, breaks: Pauses) => {
  const ranges = findRanges(listRewards(groups), scale);
  await breaks.take();
  const all = await countRewards(groups, ranges, breaks);
  const describe = async (counted: readonly GroupFacts[]) => {
    const described = new Map<SeriesKey, Awaited<ReturnType<typeof describeValues>>>();
    for (const by of series) described.set(by, await describeValues(counted, by, breaks));
    return described;
  };
  const valuesOfAll = await describe(groups);
  return async (selected: readonly GroupFacts[] = groups): Promise<Charts> => {
    const isWhole = selected === groups;
    const own = isWhole ? all : await countRewards(selected, ranges, breaks);
    const ownValues = isWhole ? valuesOfAll : await describe(selected);
    return {
      selected: isWhole ? null : await describeParts(selected, breaks),
      rewards: ranges.map((range, at) => ({ range, count: own[at] ?? 0, of: all[at] ?? 0 })),
      series: Array.from(valuesOfAll, ([by, described]) => {
        const values = Array.from(described, ([value, all]) => {
          return { value, all, selected: ownValues.get(by)?.get(value) ?? null };
        });
        return { by, of: values.length, values: values.slice(0, maxValues) };
      }),
    };
  };
};

const countRewards = async (groups: readonly GroupFacts[], ranges: readonly Range[], breaks: Pauses) => {
  const bars = ranges.map(() => 0);
  for (const { rewards } of groups) {
    if (breaks.isDue(1000 * rewards.length)) await breaks.take();
    for (const reward of rewards) {
      const at = ranges.findLastIndex(([from]) => reward >= from);
      bars[at] = (bars[at] ?? 0) + 1;
    }
  }
  return bars;
};

/** The numbers are those of `rollcall stats`. */
export const describeParts = async (parts: readonly StepPart[], breaks: Pauses): Promise<Slice> => {
  const values = new GroupedValues();
  const counts = { groups: 0, trajectories: 0, failures: 0, trainable: 0, truncated: 0 };
  for (const [at, { size, failures, untrainable, truncated, rewards }] of parts.entries()) {
    if (breaks.isDue()) await breaks.take();
    if (untrainable === "invalid") continue;
    counts.groups++;
    counts.trajectories += size;
    counts.failures += failures;
    counts.trainable += untrainable === null ? 1 : 0;
    counts.truncated += truncated;
    for (const reward of rewards) values.add(at, reward);
  }
  if (values.count === 0) return { ...counts, mean: null, spread: null, ci95: null };
  if (breaks.isDue(100 * values.count)) await breaks.take();
  const described = values.describe();
  if (breaks.isDue(100 * values.count)) await breaks.take();
  return { ...counts, ...described, spread: standardDeviation(values.sorted()) };
};

/** Returns the keys of which the groups have several values. */
export const listSeries = async (groups: readonly GroupFacts[], breaks: Pauses): Promise<readonly SeriesKey[]> => {
  const steps = new Map<string | null, Set<string>>();
  const files = new Set<string>();
  for (const facts of groups) {
    if (breaks.isDue()) await breaks.take();
    files.add(facts.file);
    for (const step of listSteps(facts)) steps.set(step, (steps.get(step) ?? new Set()).add(facts.file));
  }
  const isFilePerStep = files.size === steps.size && [...steps.values()].every(({ size }) => size === 1);
  // If each file is one step, both charts would be equal.
  return [...(steps.size > 1 ? ["step" as const] : []), ...(files.size > 1 && !isFilePerStep ? ["file" as const] : [])];
};

/** In natural order. The parts without a value are last. */
const describeValues = async (groups: readonly GroupFacts[], by: SeriesKey, breaks: Pauses) => {
  const byValue = new Map<string | null, StepPart[]>();
  for (const group of groups) {
    if (breaks.isDue()) await breaks.take();
    for (const part of (by === "step" && group.parts) || [group]) {
      appendTo(byValue, by === "step" ? part.step : group.file, part);
    }
  }
  const described = new Map<string | null, Slice>();
  for (const [value, own] of [...byValue].sort(([a], [b]) => compareSteps(a, b)))
    described.set(value, await describeParts(own, breaks));
  return described;
};

/** The next call reuses the array. A list for each group would take ten times as long. */
export const listRewards = (groups: readonly GroupFacts[]) => {
  const list = new NumberColumn();
  for (const { rewards } of groups) for (const reward of rewards) list.push(reward);
  return list.viewDoubles();
};

/** Returns the range of each bar. The first and the last range include outliers. */
const findRanges = (rewards: Float64Array, scale: RewardBounds): readonly Range[] => {
  const values = new Set<number>();
  for (const reward of rewards) if (values.add(reward).size > maxValueBars) return divideRange(rewards, scale);
  return [...values].sort((a, b) => a - b).map((value) => [value, value]);
};

const divideRange = (rewards: Float64Array, scale: RewardBounds): readonly Range[] => {
  const { min, max } = findBounds(rewards);
  // Without the division by 64, a wide range times `rangeBarCount` could overflow a double.
  const [from, to] = [Math.max(min, scale[0]) / 64, Math.min(max, scale[1]) / 64];
  const edge = (at: number) => (at === 0 ? min : 64 * (from + ((to - from) * at) / rangeBarCount));
  return Array.from({ length: rangeBarCount }, (_, at) =>
    at === rangeBarCount - 1 ? [edge(at), max] : [edge(at), edge(at + 1), "below"],
  );
};
