/** Measures groups in the background, for the table and for the bars, dots and files of the charts. */
import {
  computeMoments,
  type Dataset,
  hasNoSampledTurn,
  hasZeroVariance,
  type IndexedGroups,
  readRewards,
} from "../groups/index.ts";
import { relativePosition } from "./answer-queries.ts";
import type { Dot, FileSummary, RewardCount, UntrainableReason } from "./answers.ts";

/** Columns with a number for each group; NaN if it is not measured yet or has no value. */
type Measures = ReturnType<typeof createMeasures>;

export const createMeasures = (read: IndexedGroups) => {
  const { groups } = read;
  const { count } = groups;
  const [mean, spread] = [new Float64Array(count).fill(Number.NaN), new Float64Array(count).fill(Number.NaN)];
  const firstTrajectories = new Float64Array(count + 1);
  for (let group = 0; group < count; group++) {
    firstTrajectories[group + 1] = (firstTrajectories[group] ?? 0) + groups.trajectoriesOf(group);
  }
  const rewards = new Float64Array(firstTrajectories[count] ?? 0).fill(Number.NaN);
  const rewardsOf = (group: number) => rewards.subarray(firstTrajectories[group] ?? 0, firstTrajectories[group + 1]);
  let done = 0;
  return {
    count,
    mean,
    spread,
    rewards,
    rewardsOf,
    done: (): number => done,
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      for await (const { group, rewards: found } of readRewards(read, signal)) {
        done = group + 1;
        const own = rewardsOf(group);
        own.set(found.slice(0, own.length));
        if (!found.every(Number.isFinite) || found.length === 0) continue;
        const moments = computeMoments(found);
        mean[group] = moments.mean;
        spread[group] = moments.deviation;
      }
      done = count;
    },
  };
};

export const findUntrainableReason = (read: IndexedGroups, group: number): UntrainableReason | null => {
  if (!read.groups.isValid(group)) return "invalid";
  const trajectories = read.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "one trajectory";
  if (hasZeroVariance(read, group)) return "equal rewards";
  return hasNoSampledTurn(read, group) ? "no sampled turn" : null;
};

/** Bars of a histogram, maximum distinct values with their own bar, and cells of the plot in each direction. */
const barCount = 24;
const maxValues = 16;
const cells = { mean: 36, spread: 16 };

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
  const { least, most } = findBounds(rewards);
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

export const computeDots = ({ mean, spread, count }: Measures): readonly Dot[] => {
  const axes = { mean: findBounds(mean), spread: findBounds(spread) };
  const cellOf = (value: number, axis: "mean" | "spread"): number =>
    Math.min(cells[axis] - 1, Math.floor(relativePosition(value, axes[axis].least, axes[axis].most) * cells[axis]));
  const dots = new Map<number, Dot>();
  for (let group = 0; group < count; group++) {
    const [x, y] = [mean[group] ?? Number.NaN, spread[group] ?? Number.NaN];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const key = cellOf(x, "mean") * cells.spread + cellOf(y, "spread");
    const { mean: means, spread: spreads, groups } = dots.get(key) ?? { mean: [x, x], spread: [y, y], groups: 0 };
    dots.set(key, {
      mean: [Math.min(means[0], x), Math.max(means[1], x)],
      spread: [Math.min(spreads[0], y), Math.max(spreads[1], y)],
      groups: groups + 1,
    });
  }
  return [...dots.values()];
};

const findBounds = (values: Float64Array) => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return { least, most };
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
