/** Compares the rewards, metrics and finish reasons of two datasets by key or prompt (metrics.md). */

import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { appendTo } from "../../text/lists.ts";
import { compareTexts } from "../../text/sentences.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { isCutOff } from "../facts.ts";
import { meanOfFinite, rewardTolerance, Sum } from "../index/sums.ts";
import * as causes from "./compare-causes.ts";
import { type Both, choosePairing, openSide, type Pool, pairByKey, type Side, type Sides } from "./compare-sides.ts";
import { adjustChances, type Chance, NamedPairs, type PairedDifference, PairedValues } from "./intervals.ts";
import { addTimes, countTries, estimateAll, estimatePass, type StatsOptions, withExceptions } from "./stats-slice.ts";

/** The pools of both sides with a key: the digest of the prompt, or the key as JSON. */
type Pair = Both<Pool> & { readonly key: string | undefined };

/** `other_prompts` counts the pairs whose known prompts differ. */
type Count = "paired" | "only_a" | "only_b" | "failed_a" | "failed_b" | "without_prompt" | "other_prompts";

/** The keys are those of the document of `rollcall compare`. */
export interface Compared extends Both<Side["counts"]>, causes.CauseLists, Readonly<Record<Count, number>> {
  readonly exceptions: Both<number>;
  readonly reward: RewardDifference | null;
  readonly reward_of_all: Both<number | null>;
  readonly pass: readonly PassDifference[];
  readonly divisions: readonly (NamedDifference & { readonly value: string })[];
  readonly transitions: readonly (causes.Change & { readonly prompts: number })[];
  readonly metrics: readonly NamedDifference[] | null;
}

export interface Comparison {
  readonly compared: Compared;
  readonly steps: readonly Readonly<{ side: "a" | "b"; name: string; values: readonly string[] }>[];
  readonly changes: readonly Changed[];
  /** The pairs with other rewards, by the size of their difference. */
  readonly changed: readonly Changed[];
  /** The key that pairs the rollouts. Without a name, pairs are prompts. */
  readonly pairName: string | undefined;
}

type NamedDifference = PairedDifference & Chance & { readonly name: string };
type RewardDifference = PairedDifference &
  Readonly<Record<"better" | "worse" | "equal", number> & { detectable: number | null }>;
/** `all` is pass^k. */
type PassDifference = Readonly<Record<"k" | "pairs", number> & { all: Both<number | null> }> &
  (Omit<PairedDifference, "pairs"> | typeof noDifference);

type PairedMeans = Pick<PairedDifference, "a" | "b" | "difference">;

/** A pair whose rewards are known, or of which a side failed. */
type Changed = causes.Change & { readonly pair: Pair; readonly means: PairedMeans | undefined };

const noDifference = { a: null, b: null, difference: null, ci95: null };

interface ComparisonOptions extends StatsOptions {
  /** A measured key. Default: recorded keys of tasks, else prompts. */
  readonly pairBy: string | undefined;
  readonly signal: AbortSignal;
}

/** Expects datasets with the facts that `pairBy` names. @throws the signal's reason */
export const compareDatasets = async (a: Dataset, b: Dataset, given: ComparisonOptions): Promise<Comparison> => {
  const { pairBy, signal, ...options } = given;
  const breaks = new Breaks(signal);
  const pairing = pairBy === undefined ? await choosePairing(a, b, breaks) : pairByKey(pairBy);
  const sides: Sides = { a: await openSide(a, pairing, breaks), b: await openSide(b, pairing, breaks) };
  const counts = await countPools(sides, options, breaks);
  const rewards = new PairedValues();
  const changes: Changed[] = [];
  const estimates = options.tries.map((k) => ({ k, pairs: new PairedValues(), all: new PairedValues() }));
  const happened = new causes.PairCauses(sides);
  let [paired, otherPrompts] = [0, 0];
  for (const pair of counts.pairs) {
    if (breaks.isDue(1000 * (pair.a.rows.length + pair.b.rows.length))) await breaks.take();
    const [a, b] = [readRewards(sides.a, pair.a, options), readRewards(sides.b, pair.b, options)];
    const isPaired = counts.isPaired(pair);
    const means = isPaired ? subtractMeans(a.mean, b.mean) : undefined;
    if (a.state && b.state) changes.push({ from: a.state, to: b.state, pair, means });
    if (!isPaired) continue;
    paired++;
    if (haveOtherPrompts(sides, pair)) otherPrompts++;
    for (const { k, pairs, all } of estimates) {
      if (a.tries < k || b.tries < k) continue;
      pairs.add(estimatePass(a, k), estimatePass(b, k));
      all.add(estimateAll(a, k), estimateAll(b, k));
    }
    happened.add(pair, { a: a.rewards, b: b.rewards }, means !== undefined);
    rewards.add(a.mean, b.mean);
  }
  const size = ({ means }: Changed) => Math.abs(means?.difference ?? 0);
  const metrics = await compareMetrics(sides, counts, breaks);
  const changed = changes.filter((change) => size(change) > rewardTolerance);
  const reward = compareRewards(rewards, changes);
  const divisions = causes.compareDivisions(sides, changes);
  const happenings = happened.compute();
  adjustChances(listChances({ ...happenings, divisions, metrics }));
  return {
    compared: {
      a: sides.a.counts,
      b: sides.b.counts,
      exceptions: { a: sides.a.counts.exceptions, b: sides.b.counts.exceptions },
      paired,
      only_a: counts.only_a,
      only_b: counts.only_b,
      failed_a: counts.failed_a,
      failed_b: counts.failed_b,
      without_prompt: sides.a.unknown + sides.b.unknown,
      other_prompts: otherPrompts,
      reward,
      reward_of_all: { a: meanOfAll(a, options), b: meanOfAll(b, options) },
      pass: estimates.map(({ k, pairs, all }) => {
        const { pairs: count, ...difference } = pairs.describe()?.compared ?? { pairs: 0, ...noDifference };
        const { a: allA, b: allB } = all.describe()?.compared ?? noDifference;
        return { k, pairs: count, ...difference, all: { a: allA, b: allB } };
      }),
      ...happenings,
      divisions,
      transitions: await causes.countTransitions(changes, breaks),
      metrics,
    },
    steps: causes.findSteps(sides),
    changes,
    changed: await sortWithBreaks(changed, (x, y) => size(y) - size(x), breaks),
    pairName: pairing.name,
  };
};

/** Returns the sign of a difference that the data shows; 0 if the interval contains 0, or is unknown. */
export const findSign = (reward: Compared["reward"]) => {
  const [low = 0, high = 0] = reward?.ci95 ?? [];
  return low > rewardTolerance ? 1 : high < -rewardTolerance ? -1 : 0;
};

/** Lists what can be named as changed: no other rollouts, and nothing that a cause has. */
const listChances = ({
  causes: all,
  facts,
  tools,
  finish_reasons,
  divisions,
  metrics,
}: causes.CauseLists & Pick<Compared, "divisions" | "metrics">): readonly Chance[] => [
  ...(all ?? []).filter(({ name }) => name !== "other"),
  ...facts.filter(({ name }) => name !== "tool_errors"),
  ...(finish_reasons ?? []).filter(({ name }) => name !== "stop" && !isCutOff(name)),
  ...[...divisions, ...(metrics ?? [])],
  ...(tools ?? []).flatMap(({ of_calls, of_errors }) => [of_calls, of_errors]),
];

/** A simulated user may have written a part of a prompt after a greeting. */
const haveOtherPrompts = ({ a, b }: Sides, pools: Pair) => {
  const [inA, inB] = [[a, pools.a] as const, [b, pools.b] as const].map(([{ facts }, { rows }]) =>
    rows.flatMap((row) => (facts.isGreeted(row) ? [] : (facts.prompt.at(row) ?? []))),
  );
  return inA?.[0] !== undefined && inB?.[0] !== undefined && !inA.includes(inB[0]);
};

/** Returns the mean over all trajectories, and over the exceptions if they have a reward. */
const meanOfAll = ({ scan: { tally } }: Dataset, { exceptionsAs }: StatsOptions) => {
  const sum = new Sum();
  sum.merge(tally.reward);
  if (exceptionsAs !== undefined) addTimes(sum, exceptionsAs, tally.exceptions);
  return sum.count === 0 ? null : sum.mean;
};

const hasFailed = (pool: Pool) => pool.rows.length === 0;

/** Finds the keys of both sides, also those whose rollouts all failed on a side. */
const countPools = async ({ a, b }: Sides, { exceptionsAs }: StatsOptions, breaks: Breaks) => {
  const pairs: Pair[] = [];
  const counts = { only_a: 0, only_b: 0, failed_a: 0, failed_b: 0 };
  for (const [number, poolA] of a.pools) {
    if (breaks.isDue()) await breaks.take();
    const key = a.names.at(number);
    const poolB = b.pools.get(b.names.find(key ?? ""));
    if (poolB) pairs.push({ key, a: poolA, b: poolB });
    if (hasFailed(poolA)) counts.failed_a++;
    else if (!poolB) counts.only_a++;
  }
  const common = new Set(pairs.map((pair) => pair.b));
  for (const pool of b.pools.values()) {
    if (breaks.isDue()) await breaks.take();
    if (hasFailed(pool)) counts.failed_b++;
    else if (!common.has(pool)) counts.only_b++;
  }
  /** A pool whose rollouts all failed has a mean only if exceptions have a reward. */
  const isPaired = (pair: Pair) => exceptionsAs !== undefined || !(hasFailed(pair.a) || hasFailed(pair.b));
  return { pairs, isPaired, ...counts };
};

type Pairs = Awaited<ReturnType<typeof countPools>>;

/** Without a known reward, the mean is null, and `state` is undefined unless all rollouts failed. */
const readRewards = ({ facts }: Side, { rows, exceptions }: Pool, { pass, exceptionsAs }: StatsOptions) => {
  const rewards = withExceptions(facts.reward.pick(rows), exceptions, exceptionsAs);
  const { tries, solved } = countTries(rewards, pass);
  const known = solved === 0 ? "never" : solved === tries ? "always" : "sometimes";
  const state: causes.Change["from"] | undefined = tries > 0 ? known : rows.length === 0 ? "failed" : undefined;
  return { rewards, tries, solved, state, mean: meanOfFinite(rewards) };
};

/** Returns undefined unless both means are known. */
const subtractMeans = (a: number | null, b: number | null): PairedMeans | undefined =>
  a === null || b === null || !Number.isFinite(b - a) ? undefined : { a, b, difference: b - a };

const compareRewards = (values: PairedValues, changes: readonly Changed[]): RewardDifference | null => {
  const described = values.describe();
  if (!described) return null;
  const { compared, detectable } = described;
  const better = changes.filter(({ means }) => means && means.difference > rewardTolerance).length;
  const worse = changes.filter(({ means }) => means && means.difference < -rewardTolerance).length;
  return { ...compared, detectable, better, worse, equal: compared.pairs - better - worse };
};

const compareMetrics = async ({ a, b }: Sides, { pairs, isPaired }: Pairs, breaks: Breaks) => {
  const values = new NamedPairs<string>();
  for (const pair of pairs) {
    if (!isPaired(pair)) continue;
    const [inA, inB] = [readMetrics(a, pair.a), readMetrics(b, pair.b)];
    if (breaks.isDue(1000 * (inA.size * pair.a.rows.length + inB.size * pair.b.rows.length))) await breaks.take();
    for (const [name, mean] of inA) {
      const other = inB.get(name);
      if (other !== undefined) values.of(name).add(mean, other);
    }
  }
  const compared: NamedDifference[] = [];
  for (const difference of values.describe(await sortWithBreaks(values.names, compareTexts, breaks))) {
    if (breaks.isDue()) await breaks.take();
    compared.push(difference);
  }
  return compared.length === 0 ? null : compared;
};

const readMetrics = ({ facts }: Side, { rows }: Pool) => {
  const values = new Map<string, number[]>();
  for (const row of rows)
    for (const [at, name] of facts.metricNamesOf(row).entries()) appendTo(values, name, facts.metricAt(row, at));
  return new Map(Array.from(values, ([name, list]) => [name, meanOfFinite(list)]));
};
