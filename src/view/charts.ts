/** Computes the data of the charts. */
import { findBounds, meanOfFinite } from "../rollouts/index/sums.ts";
import { compareNaturally, relativePosition } from "./answer-queries.ts";
import type { Charts, GroupFacts, RewardBounds } from "./answers.ts";

const rangeBarCount = 24;
const maxValueBars = 16;
const cellsPerAxis = { mean: 36, spread: 16 };
const maxFiles = 1000;

export const computeCharts = (groups: readonly GroupFacts[], scale: RewardBounds): Charts => {
  const rewards = groups.flatMap((group) => group.rewards);
  return { files: summarizeFiles(groups), rewards: countRewards(rewards, scale), dots: computeDots(groups, scale) };
};

const countRewards = (rewards: readonly number[], scale: RewardBounds): Charts["rewards"] => {
  const values = new Map<number, number>();
  for (const reward of rewards) {
    values.set(reward, (values.get(reward) ?? 0) + 1);
    if (values.size > maxValueBars) return countInRanges(rewards, scale);
  }
  const sorted = [...values].sort(([a], [b]) => a - b);
  return sorted.map(([value, count]) => ({ range: [value, value], count }));
};

/** The first and the last range include outliers. */
const countInRanges = (rewards: readonly number[], scale: RewardBounds): Charts["rewards"] => {
  const { min, max } = findBounds(rewards);
  // Without the division by 64, a wide range times `rangeBarCount` could overflow a double.
  const [from, to] = [Math.max(min, scale[0]) / 64, Math.min(max, scale[1]) / 64];
  const edge = (at: number) => (at === 0 ? min : 64 * (from + ((to - from) * at) / rangeBarCount));
  const edges = Array.from({ length: rangeBarCount }, (_, at) => edge(at));
  const counts = edges.map(() => 0);
  for (const reward of rewards) {
    const at = edges.findLastIndex((start) => reward >= start);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts.map((count, at) => ({
    range: at === rangeBarCount - 1 ? [edge(at), max] : [edge(at), edge(at + 1), "below"],
    count,
  }));
};

const computeDots = (groups: readonly GroupFacts[], [from, to]: RewardBounds): Charts["dots"] => {
  const means = findBounds(groups.flatMap(({ mean }) => mean ?? []));
  const spreads = findBounds(groups.flatMap(({ spread }) => spread ?? []));
  const axes = {
    mean: [Math.max(means.min, from), Math.min(means.max, to)],
    spread: [spreads.min, Math.min(spreads.max, to / 2 - from / 2)],
  } as const;
  const cellOf = (value: number, axis: keyof typeof cellsPerAxis) =>
    Math.min(cellsPerAxis[axis] - 1, Math.floor(relativePosition(value, ...axes[axis]) * cellsPerAxis[axis]));
  const dots = new Map<string, Charts["dots"][number]>();
  for (const { mean: x, spread: y } of groups) {
    if (x === null || y === null) continue;
    // Zero-variance groups have separate dots, because these dots are hollow.
    const key = `${cellOf(x, "mean")} ${cellOf(y, "spread")} ${y === 0}`;
    const { mean, spread, groups: count } = dots.get(key) ?? { mean: [x, x], spread: [y, y], groups: 0 };
    dots.set(key, {
      mean: [Math.min(mean[0], x), Math.max(mean[1], x)],
      spread: [Math.min(spread[0], y), Math.max(spread[1], y)],
      groups: count + 1,
    });
  }
  return [...dots.values()];
};

const summarizeFiles = (groups: readonly GroupFacts[]): Charts["files"] => {
  const groupsByFile = new Map<string, GroupFacts[]>();
  for (const facts of groups) {
    const inFile = groupsByFile.get(facts.file) ?? [];
    inFile.push(facts);
    groupsByFile.set(facts.file, inFile);
  }
  if (groupsByFile.size < 2) return [];
  const sorted = [...groupsByFile].sort(([a], [b]) => compareNaturally(a, b)).slice(0, maxFiles);
  return sorted.map(([file, inFile]) => {
    const means = inFile.flatMap(({ mean }) => mean ?? []);
    const trainable = inFile.filter(({ untrainable }) => untrainable === null).length;
    return { file, groups: inFile.length, trainable, mean: meanOfFinite(means) };
  });
};
