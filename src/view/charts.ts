/** The bars and files of the charts. */
import { computeMoments, type Dataset } from "../groups/index.ts";
import type { FileSummary, RewardCount } from "./answers.ts";
import { findUntrainableReason, type Measures } from "./measures.ts";

/** Bars of a histogram, and maximum distinct values with their own bar. */
const barCount = 24;
const maxValues = 16;

/** Maximum number of files in the chart. */
const maxFiles = 1000;

/** Counts finite rewards, by value or in ranges of equal width, in ascending order. */
export const countRewards = (all: Float64Array): readonly RewardCount[] => {
  const rewards = all.filter(Number.isFinite);
  const values = new Map<number, number>();
  for (const reward of rewards) {
    values.set(reward, (values.get(reward) ?? 0) + 1);
    if (values.size > maxValues) return countInRanges(rewards);
  }
  const sorted = [...values].sort(([a], [b]) => a - b);
  return sorted.map(([value, count]) => ({ range: [value, value], count }));
};

const countInRanges = (rewards: Float64Array): readonly RewardCount[] => {
  const least = rewards.reduce((a, b) => Math.min(a, b));
  const most = rewards.reduce((a, b) => Math.max(a, b));
  // Smaller numbers, because the multiple of a wide range exceeds a double.
  const [from, to] = [least / 64, most / 64];
  const edge = (at: number) => (at === barCount ? most : 64 * (from + ((to - from) * at) / barCount));
  const edges = Array.from({ length: barCount }, (_, at) => edge(at));
  const counts = new Float64Array(barCount);
  for (const reward of rewards) {
    const at = edges.findLastIndex((start) => reward >= start);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return Array.from(counts, (count, at) => ({
    range: at === barCount - 1 ? [edge(at), most] : [edge(at), edge(at + 1), "below"],
    count,
  }));
};

/** Summarizes several files with groups in the order of their names, `step-9` before `step-10`. */
export const summarizeFiles = (
  dataset: Dataset,
  files: readonly string[],
  { mean }: Measures,
): readonly FileSummary[] => {
  const groupsByFile = new Map<string, number[]>();
  for (const [group, file] of files.entries()) {
    const own = groupsByFile.get(file);
    if (own === undefined) groupsByFile.set(file, [group]);
    else own.push(group);
  }
  if (groupsByFile.size < 2) return [];
  const { compare } = new Intl.Collator("en", { numeric: true });
  const sorted = [...groupsByFile].sort(([a], [b]) => compare(a, b)).slice(0, maxFiles);
  return sorted.map(([file, groups]) => {
    const means = groups.map((group) => mean[group] ?? Number.NaN).filter(Number.isFinite);
    return {
      file,
      groups: groups.length,
      trainable: groups.filter((group) => findUntrainableReason(dataset, group) === null).length,
      mean: means.length === 0 ? null : computeMoments(means).mean,
    };
  });
};
