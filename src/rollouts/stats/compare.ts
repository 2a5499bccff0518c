/** Compares the rewards, metrics and finish reasons of two datasets by key or prompt (metrics.md). */

import type { Dataset } from "../dataset/read-dataset.ts";
import { Breaks } from "../dataset/select/breaks.ts";
import { isSolved, rewardTolerance } from "../index/metrics.ts";
import { computeMean, meanOfFinite, meanOfSum } from "../index/sums.ts";
import { type Change, countTransitions, PairCauses } from "./compare-causes.ts";
import { compareDivisions, findSteps } from "./compare-divisions.ts";
import { choosePairing, openSide, type Pool, pairByKey, type Side } from "./compare-sides.ts";
import { findDetectable, GroupedValues } from "./intervals.ts";
import { estimateAll, estimatePass, type StatsOptions, withExceptions } from "./stats-slice.ts";

type Sides = Readonly<Record<"a" | "b", Side>>;
/** `name` is the prompt's digest, or the key as JSON. */
type Pair = Readonly<Record<"a" | "b", Pool> & { name: string }>;

/** The keys are those of the document of `rollcall compare`, and others. */
export type Comparison = Awaited<ReturnType<typeof compareDatasets>>;

type PairedMeans = Readonly<Record<"a" | "b" | "difference", number>>;

const noDifference = { a: null, b: null, difference: null, ci95: null };

interface CompareOptions extends StatsOptions {
  /** A measured key. Default: recorded keys of tasks, else prompts. */
  readonly pairBy: string | undefined;
  readonly signal: AbortSignal;
}

/** Expects datasets with the facts that `pairBy` names. @throws the signal's reason */
export const compareDatasets = async (a: Dataset, b: Dataset, { pairBy, signal, ...options }: CompareOptions) => {
  const breaks = new Breaks(signal);
  const { pairing, candidate } =
    pairBy === undefined ? await choosePairing(a, b, breaks) : { pairing: pairByKey(pairBy), candidate: undefined };
  const sides: Sides = { a: await openSide(a, pairing, breaks), b: await openSide(b, pairing, breaks) };
  const counts = countPools(sides, options);
  const rewardsOf = (side: keyof Sides, { rows, exceptions }: Pool) =>
    withExceptions(sides[side].facts.columns.reward.pick(rows), exceptions, options.exceptionsAs);
  const rewarded: (PairedMeans & { readonly pair: Pair })[] = [];
  const estimates = options.tries.map((k): { k: number; pairs: MaybePair[]; all: MaybePair[] } => ({
    k,
    pairs: [],
    all: [],
  }));
  const causes = new PairCauses(sides);
  for (const pair of counts.pairs) {
    if (breaks.isDue(1000 * (pair.a.rows.length + pair.b.rows.length))) await breaks.take();
    const rewards = { a: rewardsOf("a", pair.a), b: rewardsOf("b", pair.b) };
    const tries = { a: countTries(rewards.a, options.pass), b: countTries(rewards.b, options.pass) };
    for (const { k, pairs, all } of estimates) {
      if (tries.a.tries < k || tries.b.tries < k) continue;
      pairs.push({ a: estimatePass(tries.a, k), b: estimatePass(tries.b, k) });
      all.push({ a: estimateAll(tries.a, k), b: estimateAll(tries.b, k) });
    }
    const means = { a: meanOfFinite(rewards.a), b: meanOfFinite(rewards.b) };
    const hasMeans = means.a !== null && means.b !== null && Number.isFinite(means.b - means.a);
    causes.add(pair, rewards, hasMeans);
    if (means.a === null || means.b === null || !hasMeans) continue;
    rewarded.push({ a: means.a, b: means.b, difference: means.b - means.a, pair });
  }
  const size = ({ difference }: PairedMeans) => Math.abs(difference);
  const metrics = await compareMetrics(sides, counts.pairs, breaks);
  await breaks.take();
  return {
    a: sides.a.counts,
    b: sides.b.counts,
    exceptions: { a: sides.a.counts.exceptions, b: sides.b.counts.exceptions },
    paired: counts.pairs.length,
    only_a: counts.only_a,
    only_b: counts.only_b,
    failed_a: counts.failed_a,
    failed_b: counts.failed_b,
    without_prompt: sides.a.unknown + sides.b.unknown,
    reward: compareRewards(rewarded),
    pass: estimates.map(({ k, pairs, all }) => {
      const { pairs: count, ...difference } = compareMeans(pairs) ?? { pairs: 0, ...noDifference };
      const { a: allA, b: allB } = compareMeans(all) ?? noDifference;
      return { k, pairs: count, ...difference, all: { a: allA, b: allB } };
    }),
    ...causes.compute(),
    divisions: compareDivisions(sides, rewarded),
    steps: findSteps(sides),
    transitions: countTransitions(counts.common.flatMap((pair) => findChange(sides, pair, options))),
    metrics,
    finish_reasons: compareFinishes(sides.a, sides.b),
    pairing: { name: pairing.name, candidate },
    /** The means over all trajectories. */
    meansOfAll: { a: meanOfAll(sides.a), b: meanOfAll(sides.b) },
    /** The names of the metrics of one dataset only. */
    ownMetrics: { a: listOwnMetrics(sides.a, sides.b), b: listOwnMetrics(sides.b, sides.a) },
    /** All pairs with rewards, by the size of their difference. */
    changed: rewarded.filter((pair) => size(pair) > rewardTolerance).sort((x, y) => size(y) - size(x)),
  };
};

const meanOfAll = ({ rewards }: Side) => (rewards.count === 0 ? null : meanOfSum(rewards));

/** A pool whose rollouts all failed has a mean only if exceptions have a reward. */
const countPools = ({ a, b }: Sides, { exceptionsAs }: StatsOptions) => {
  const hasFailed = (pool: Pool | undefined) => pool !== undefined && pool.rows.length === 0;
  const isPaired = (pool: Pool) => pool.rows.length > 0 || exceptionsAs !== undefined;
  const common = [...a.pools].flatMap(([name, poolA]): Pair[] => {
    const poolB = b.pools.get(name);
    return poolB ? [{ name, a: poolA, b: poolB }] : [];
  });
  const pairs = common.filter((pair) => isPaired(pair.a) && isPaired(pair.b));
  const countOnly = (own: Side, other: Side) =>
    [...own.pools].filter(([name, pool]) => !hasFailed(pool) && !other.pools.has(name)).length;
  const countFailed = (own: Side) => [...own.pools.values()].filter(hasFailed).length;
  return {
    pairs,
    /** The pairs, and those whose rollouts all failed on a side. */
    common,
    only_a: countOnly(a, b),
    only_b: countOnly(b, a),
    failed_a: countFailed(a),
    failed_b: countFailed(b),
  };
};

const countTries = (rewards: readonly number[], pass: number) => {
  const finite = rewards.filter(Number.isFinite);
  return { tries: finite.length, solved: finite.filter((reward) => isSolved(reward, pass)).length };
};

/** Returns none if the rewards of a side are unknown. */
const findChange = (sides: Sides, pair: Pair, { pass, exceptionsAs }: StatsOptions): readonly Change[] => {
  const stateOf = (side: keyof Sides): Change["from"] | undefined => {
    const { rows, exceptions } = pair[side];
    const rewards = withExceptions(sides[side].facts.columns.reward.pick(rows), exceptions, exceptionsAs);
    const { tries, solved } = countTries(rewards, pass);
    if (tries === 0) return rows.length === 0 ? "failed" : undefined;
    return solved === 0 ? "never" : solved === tries ? "always" : "sometimes";
  };
  const [from, to] = [stateOf("a"), stateOf("b")];
  return from && to ? [{ from, to }] : [];
};

type MaybePair = Readonly<Record<"a" | "b", number | null>>;

/** Compares the pairs that have both values. The interval is the t interval over the pairs. */
const compareMeans = (pairs: readonly MaybePair[]) => {
  const [a, b]: [number[], number[]] = [[], []];
  const differences = new GroupedValues();
  for (const [at, pair] of pairs.entries()) {
    if (pair.a === null || pair.b === null) continue;
    a.push(pair.a);
    b.push(pair.b);
    differences.add(at, pair.b - pair.a);
  }
  if (differences.count === 0) return undefined;
  const { mean: difference, ci95 } = differences.describe();
  return { pairs: differences.count, a: computeMean(a), b: computeMean(b), difference, ci95 };
};

const compareRewards = (pairs: readonly PairedMeans[]) => {
  const compared = compareMeans(pairs);
  if (!compared) return null;
  const better = pairs.filter((pair) => pair.difference > rewardTolerance).length;
  const worse = pairs.filter((pair) => pair.difference < -rewardTolerance).length;
  const detectable = findDetectable(compared.pairs, { mean: compared.difference, ci95: compared.ci95 });
  return { ...compared, detectable, better, worse, equal: compared.pairs - better - worse };
};

const listOwnMetrics = ({ metrics }: Side, other: Side) => [...metrics].filter((name) => !other.metrics.has(name));

const compareMetrics = async ({ a, b }: Sides, pairs: readonly Pair[], breaks: Breaks) => {
  const pairsByName = new Map<string, MaybePair[]>();
  for (const pair of pairs) {
    const [valuesA, valuesB] = [listMetrics(a, pair.a), listMetrics(b, pair.b)];
    if (breaks.isDue(1000 * (valuesA.size + valuesB.size))) await breaks.take();
    for (const [name, values] of valuesA) {
      const others = valuesB.get(name);
      if (!others) continue;
      const own = pairsByName.get(name) ?? [];
      if (own.push({ a: meanOfFinite(values), b: meanOfFinite(others) }) === 1) pairsByName.set(name, own);
    }
  }
  const compared: (readonly [string, NonNullable<ReturnType<typeof compareMeans>>])[] = [];
  for (const name of [...pairsByName.keys()].sort()) {
    if (breaks.isDue()) await breaks.take();
    const difference = compareMeans(pairsByName.get(name) ?? []);
    if (difference) compared.push([name, difference]);
  }
  return compared.length === 0 ? null : Object.fromEntries(compared);
};

/** Returns the values of each metric. */
const listMetrics = ({ facts: { columns } }: Side, { rows }: Pool) => {
  const values = new Map<string, number[]>();
  for (const row of rows) {
    for (const [at, name] of columns.metricNamesOf(row).entries()) {
      const own = values.get(name) ?? [];
      if (own.push(columns.metricAt(row, at)) === 1) values.set(name, own);
    }
  }
  return values;
};

/** Returns the share of the trajectories with each finish reason. */
const compareFinishes = (a: Side, b: Side) => {
  const share = ({ finishes, counts }: Side, name: string | null) =>
    counts.trajectories === 0 ? 0 : (finishes.get(name) ?? 0) / counts.trajectories;
  const names = [...new Set([...a.finishes.keys(), ...b.finishes.keys()])];
  if (names.length === 0) return null;
  const rows = names.map((name) => ({ name, a: share(a, name), b: share(b, name) }));
  return rows.sort((x, y) => y.a + y.b - x.a - x.b || ((x.name ?? "") < (y.name ?? "") ? -1 : 1));
};
