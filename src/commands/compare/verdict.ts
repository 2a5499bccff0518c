/** Judges the difference of the mean rewards, for the page, the reports and the exit code. */

import { rewardTolerance } from "../../rollouts/index/metrics.ts";
import type { Compared } from "../../rollouts/stats/compare.ts";
import type { Interval } from "../../rollouts/stats/intervals.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatForDisplay } from "../../text/units.ts";
import { formatSigned } from "./compare-document.ts";

type Judged = Pick<Compared, "reward" | "transitions">;

/** With fewer pairs, the t interval depends much on the distribution of the differences. */
const fewPairs = 20;

/** Two equal differences have an interval without width, in 13 % of data without a true difference. */
export const minPairs = 3;

/** Returns the sign of a difference that the data shows; 0 if the interval contains 0, or is unknown. */
export const findSign = (reward: Judged["reward"]) => {
  const [low = 0, high = 0] = reward && reward.pairs >= minPairs && reward.ci95 ? reward.ci95 : [];
  return low > rewardTolerance ? 1 : high < -rewardTolerance ? -1 : 0;
};

/** Returns the distance of a difference from `expected`, in half widths of its interval. */
export const measureDistance = (ci95: Interval | null | undefined, expected = 0) => {
  const [low = expected, high = expected] = ci95 ?? [];
  const distance = Math.abs((low + high) / 2 - expected);
  return distance <= rewardTolerance ? 0 : distance / ((high - low) / 2);
};

/** Chance seldom gives a difference that is this many half widths of its interval from 0. */
const sureWidths = 1.5;

export const isSure = (ci95: Interval | null | undefined, expected?: number) =>
  measureDistance(ci95, expected) > sureWidths;

/** True if the whole interval is below -`minEffect`. */
export const isRegression = (reward: Judged["reward"], minEffect: number) => {
  const [, high = 0] = reward?.ci95 ?? [];
  return high < -Math.max(minEffect, rewardTolerance);
};

/** Returns undefined if the differences of all known rewards are finite. */
export const explainOverflow = ({ reward, transitions }: Judged) => {
  const known = transitions.filter(({ from, to }) => from !== "failed" && to !== "failed");
  const count = known.reduce((sum, { prompts }) => sum + prompts, 0) - (reward?.pairs ?? 0);
  if (count === 0) return undefined;
  return `the difference of the rewards of ${pluralize(count, "pair")} is outside of the range of 64-bit floats`;
};

export const judgeReward = (judged: Judged, minEffect = 0) => {
  const { reward } = judged;
  const pairs = reward?.pairs ?? 0;
  const caution =
    pairs < fewPairs && pairs >= minPairs ? ` ${pairs} pairs are few, so this can change with more data.` : "";
  const isByChance = findSign(reward) !== 0 && !isSure(reward?.ci95);
  const chance = isByChance ? " Without a true difference, 1 of 20 comparisons says this." : "";
  return `${describeReward(judged, minEffect)}${chance}${caution}`;
};

const describeReward = ({ reward, transitions }: Judged, minEffect: number) => {
  if (!reward)
    return `Nothing is compared, because ${explainOverflow({ reward, transitions }) ?? "no pair has rewards"}.`;
  if (reward.pairs < 2) return "One pair is too few to judge.";
  if (!reward.ci95) return "The interval is unknown, because the rewards are too large.";
  const sign = findSign(reward);
  const { pairs, a, b, difference, ci95, detectable } = reward;
  const interval = `${formatSigned(difference)}, between ${ci95.map(formatSigned).join(" and ")}`;
  const change = `${formatForDisplay(a)} → ${formatForDisplay(b)}, difference ${interval}`;
  if (pairs < minPairs) return `Two pairs are too few to judge: ${change}.`;
  if (sign === 0) {
    const known = `a difference of ${formatForDisplay(detectable ?? 0)} would show in four of five cases`;
    return `No difference that this data can show: ${interval}${detectable ? ` (${known})` : ""}.`;
  }
  if (sign > 0) return `The mean reward of b is higher: ${change}.`;
  const isProven = isRegression(reward, minEffect);
  return `The mean reward of b is lower${isProven ? "" : `, but the loss can be less than ${minEffect}`}: ${change}.`;
};
