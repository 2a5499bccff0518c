/** Finds rewards that are far outside the others of their file, by the median and the usual distance from it. */
import type { Extremes } from "./metrics/extremes.ts";
import { quantileOf, weightsOf } from "./metrics/sketch.ts";
import type { Found } from "./parts/found.ts";
import { type GroupsRead, spotOf } from "./whole.ts";

/** Rewards that a file must have before one of them can be far outside the others. */
const fewestRewards = 20;

/** How many times the usual distance from the median is far outside. */
const farOutside = 30;

/** Share of the rewards that can be far outside: more of them are no exception. */
const mostOutside = 0.01;

/** Where rewards of a source are far outside the others, and its rewards at both ends. */
export interface Outside {
  readonly median: number;
  /** Distance from the median that is far. */
  readonly distance: number;
  readonly extremes: Extremes;
  /** Position of the source's first part. */
  readonly firstPart: number;
}

/** What is far outside in a source; nothing where too few rewards say what is usual. */
export const outsideOf = ({ picture: { rewards }, extremes }: Found, firstPart: number): readonly Outside[] => {
  if (rewards.count < fewestRewards) return [];
  const weights = weightsOf(rewards);
  const median = quantileOf(weights, 0.5);
  const distances = weights
    .map(({ value, count }) => ({ value: Math.abs(value - median), count }))
    .sort((a, b) => a.value - b.value);
  // Where most rewards are the same, the usual distance is that of the others.
  const others = distances.filter(({ value }) => value > 0);
  const distance = (quantileOf(distances, 0.5) || quantileOf(others, 0.5)) * farOutside;
  const outside = others.reduce((sum, { value, count }) => sum + (value > distance ? count : 0), 0);
  return outside === 0 || outside > rewards.count * mostOutside + 1 ? [] : [{ median, distance, extremes, firstPart }];
};

/** Reports rewards that are far outside. */
export const reportOutliers = async (
  whole: GroupsRead,
  { median, distance, extremes, firstPart }: Outside,
): Promise<void> => {
  const { found, groups } = whole;
  const { smallest, largest } = extremes;
  for (const { reward, part: own, trajectory } of [...smallest, ...largest]) {
    const part = firstPart + own;
    const group = groups.groupOf(part);
    if (Math.abs(reward - median) <= distance || !groups.isValid(group)) continue;
    const path = found.parts.kindOf(part) === "group" ? ["trajectories", trajectory, "reward"] : ["reward"];
    const spot = await spotOf(whole, part, path);
    if (found.problems.report("reward-outlier", { reward, median }, () => spot) === "error") groups.reject(group);
  }
};
