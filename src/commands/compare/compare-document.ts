/** Defines the document of `rollcall compare`, lists its means by name, and judges the rewards. */
import type { ProblemDocument } from "../../failure.ts";
import type { KeyColumn } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/sums.ts";
import { type Compared, findSign } from "../../rollouts/stats/compare.ts";
import { formatForDisplay, roundForDisplay } from "../../text/units.ts";

export interface CompareDocument extends Compared {
  readonly verdict: string;
  /** The pairs whose reward changed most. */
  readonly changed: readonly ChangedPair[];
  readonly warnings: readonly ProblemDocument[];
  readonly notes: readonly string[];
}

/** `at_a` and `at_b` are positions, such as `a.jsonl:3`. */
export type ChangedPair = Readonly<
  Record<"prompt" | "at_a" | "at_b", string> & Record<"a" | "b" | "difference", number> & { key: string | null }
>;

export const documentKeys: readonly string[] =
  `verdict a b exceptions paired only_a only_b failed_a failed_b without_prompt other_prompts reward reward_of_all pass
  causes facts tools transitions divisions metrics finish_reasons changed warnings notes`.split(/\s+/);

/** A row without a mean is the verdict. */
type Row = Omit<Compared["pass"][number], "k" | "pairs" | "all"> &
  Readonly<{ name: string; pairs: number | null; verdict?: string }>;

/** Metrics are never named `reward`, but can be named like another row. */
const nameMetric = (name: string) => (/^(?:verdict|exceptions|pass@\d+)$/.test(name) ? `metrics.${name}` : name);

/** The last row has the exceptions of all groups, paired or not. */
export const listRows = ({ verdict, exceptions, reward, pass, metrics }: CompareDocument): readonly Row[] => {
  const { a, b } = exceptions;
  const noMeans = { pairs: null, a: null, b: null, difference: null, ci95: null };
  return [
    { name: "verdict", ...noMeans, verdict },
    ...(reward ? [{ name: "reward", ...reward }] : []),
    ...pass.map(({ k, all: _, ...compared }) => ({ name: `pass@${k}`, ...compared })),
    ...(metrics ?? []).map((metric) => ({ ...metric, name: nameMetric(metric.name) })),
    { name: "exceptions", ...noMeans, a, b, difference: b - a },
  ];
};

export const formatSigned = (value: number) => {
  if (Math.abs(value) <= rewardTolerance) return "0";
  return value > 0 ? `+${formatForDisplay(value)}` : formatForDisplay(value);
};

/** JSON has all digits. */
const rounded = (name: string, read: (row: Row) => number | null | undefined): KeyColumn<Row> => {
  const value = (row: Row) => {
    const number = read(row);
    return typeof number === "number" ? roundForDisplay(number) : undefined;
  };
  return { name, rank: 0, value };
};

export const rowColumns: readonly KeyColumn<Row>[] = [
  { name: "name", rank: 0 },
  { name: "pairs", rank: 1 },
  rounded("a", ({ a }) => a),
  rounded("b", ({ b }) => b),
  rounded("difference", ({ difference }) => difference),
  rounded("ci95_low", ({ ci95 }) => ci95?.[0]),
  rounded("ci95_high", ({ ci95 }) => ci95?.[1]),
  { name: "verdict", rank: 0, value: ({ verdict }) => verdict },
];

type Reward = Compared["reward"];

/** Fewer pairs have no interval. */
export const minPairs = 3;

/** With fewer pairs, the t interval depends much on the distribution of the differences. */
const fewPairs = 20;

/** True if the whole interval is below -`minEffect`. */
export const isRegression = (reward: Reward, minEffect: number) => {
  const [, high = 0] = reward?.ci95 ?? [];
  return high < -Math.max(minEffect, rewardTolerance);
};

/** True if chance hardly ever makes such a difference. */
export const isSure = (reward: Reward) =>
  findSign(reward) !== 0 && Math.abs(reward?.difference ?? 0) > (reward?.detectable ?? 0);

export const judgeReward = (reward: Reward, minEffect = 0) => {
  const pairs = reward?.pairs ?? 0;
  const caution =
    pairs < fewPairs && pairs >= minPairs ? ` ${pairs} pairs are few, so this can change with more data.` : "";
  const chance =
    findSign(reward) !== 0 && !isSure(reward) ? " Without a true difference, 1 of 20 comparisons says this." : "";
  return `${describeReward(reward, minEffect)}${chance}${caution}`;
};

const describeReward = (reward: Reward, minEffect: number) => {
  if (!reward) return "Nothing is compared, because no pair has comparable rewards.";
  const sign = findSign(reward);
  const { pairs, a, b, difference, ci95, detectable } = reward;
  const change = `${formatForDisplay(a)} → ${formatForDisplay(b)}, difference ${formatSigned(difference)}`;
  if (pairs < minPairs) return `${pairs === 1 ? "One pair is" : "Two pairs are"} too few to judge: ${change}.`;
  if (!ci95) return "The interval is unknown, because the rewards are too large.";
  const interval = `between ${ci95.map(formatSigned).join(" and ")}`;
  if (sign === 0) {
    const known = `a difference of ${formatForDisplay(detectable ?? 0)} would show in four of five cases`;
    const detail = detectable ? ` (${known})` : "";
    return `No difference that this data can show: ${formatSigned(difference)}, ${interval}${detail}.`;
  }
  if (sign > 0) return `The mean reward of b is higher: ${change}, ${interval}.`;
  const isProven = isRegression(reward, minEffect);
  const caveat = isProven ? "" : `, but the loss can be less than ${minEffect}`;
  return `The mean reward of b is lower${caveat}: ${change}, ${interval}.`;
};
