/** Compares the rewards, metrics and finish reasons of two datasets by key or prompt (metrics.md). */

import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import type { Dataset } from "../dataset/read-dataset.ts";
import { isSolved, rewardTolerance } from "../index/metrics.ts";
import { meanOfFinite, meanOfSum } from "../index/sums.ts";
import { type Change, countTransitions, PairCauses } from "./compare-causes.ts";
import { compareDivisions, findSettings, findSteps } from "./compare-divisions.ts";
import { choosePairing, openSide, type Pool, pairByKey, type Side, type Sides } from "./compare-sides.ts";
import { findDetectable, PairedValues } from "./intervals.ts";
import { estimateAll, estimatePass, type StatsOptions, withExceptions } from "./stats-slice.ts";

/** `name` is the prompt's digest, or the key as JSON. */
type Pair = Readonly<Record<"a" | "b", Pool> & { name: string; isPaired: boolean }>;

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
  const counts = await countPools(sides, options, breaks);
  const rewarded: (PairedMeans & { readonly pair: Pair })[] = [];
  /** The pairs whose rewards are known, or of which a side failed. */
  const changes: (Change & { readonly pair: Pair; readonly means: PairedMeans | undefined })[] = [];
  const estimates = options.tries.map((k) => ({ k, pairs: new PairedValues(), all: new PairedValues() }));
  const causes = new PairCauses(sides);
  for (const pair of counts.common) {
    if (breaks.isDue(1000 * (pair.a.rows.length + pair.b.rows.length))) await breaks.take();
    const [a, b] = [readRewards(sides.a, pair.a, options), readRewards(sides.b, pair.b, options)];
    const means = pair.isPaired ? subtractMeans(a.mean, b.mean) : undefined;
    if (a.state && b.state) changes.push({ from: a.state, to: b.state, pair, means });
    if (!pair.isPaired) continue;
    for (const { k, pairs, all } of estimates) {
      if (a.tries < k || b.tries < k) continue;
      pairs.add(estimatePass(a, k), estimatePass(b, k));
      all.add(estimateAll(a, k), estimateAll(b, k));
    }
    causes.add(pair, { a: a.rewards, b: b.rewards }, means !== undefined);
    if (means) rewarded.push({ ...means, pair });
  }
  const size = ({ difference }: PairedMeans) => Math.abs(difference);
  const metrics = await compareMetrics(sides, counts.pairs, breaks);
  const changed = rewarded.filter((pair) => size(pair) > rewardTolerance);
  const sorted = await sortWithBreaks(changed, (x, y) => size(y) - size(x), breaks);
  const transitions = await countTransitions(changes, breaks);
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
    reward: await compareRewards(rewarded, breaks),
    reward_of_all: { a: meanOfAll(a), b: meanOfAll(b) },
    pass: estimates.map(({ k, pairs, all }) => {
      const { pairs: count, ...difference } = pairs.describe() ?? { pairs: 0, ...noDifference };
      const { a: allA, b: allB } = all.describe() ?? noDifference;
      return { k, pairs: count, ...difference, all: { a: allA, b: allB } };
    }),
    ...causes.compute(),
    divisions: compareDivisions(sides, rewarded),
    settings: findSettings(sides),
    steps: findSteps(sides),
    transitions,
    changes,
    metrics,
    pairing: { name: pairing.name, candidate },
    /** The names of the metrics of one dataset only. */
    ownMetrics: {
      a: await listOwnMetrics(sides.a, sides.b, breaks),
      b: await listOwnMetrics(sides.b, sides.a, breaks),
    },
    /** All pairs with rewards, by the size of their difference. */
    changed: sorted,
  };
};

/** Returns the mean over all trajectories. */
const meanOfAll = ({ scan: { tally } }: Dataset) => (tally.reward.count === 0 ? null : meanOfSum(tally.reward));

/** A pool whose rollouts all failed has a mean only if exceptions have a reward. */
const countPools = async ({ a, b }: Sides, { exceptionsAs }: StatsOptions, breaks: Breaks) => {
  const hasFailed = (pool: Pool) => pool.rows.length === 0;
  const canPair = (pool: Pool) => !hasFailed(pool) || exceptionsAs !== undefined;
  const common: Pair[] = [];
  const counts = { only_a: 0, only_b: 0, failed_a: 0, failed_b: 0 };
  /** For each pool of b, 1 if a has its key. */
  const isCommon = new Uint8Array(b.pools.length);
  for (const [number, poolA] of a.pools.entries()) {
    if (breaks.isDue()) await breaks.take();
    if (!poolA) continue;
    const name = a.names.at(number) ?? "";
    const inB = b.names.find(name);
    const poolB = b.pools[inB];
    if (hasFailed(poolA)) counts.failed_a++;
    else if (!poolB) counts.only_a++;
    if (!poolB) continue;
    isCommon[inB] = 1;
    common.push({ name, a: poolA, b: poolB, isPaired: canPair(poolA) && canPair(poolB) });
  }
  for (const [number, poolB] of b.pools.entries()) {
    if (breaks.isDue()) await breaks.take();
    if (poolB && hasFailed(poolB)) counts.failed_b++;
    else if (poolB && isCommon[number] === 0) counts.only_b++;
  }
  return {
    /** The keys of both sides, also those whose rollouts all failed on a side. */
    common,
    pairs: common.filter(({ isPaired }) => isPaired),
    ...counts,
  };
};

/** Without a known reward, the mean is null, and `state` is undefined unless all rollouts failed. */
const readRewards = ({ facts }: Side, { rows, exceptions }: Pool, { pass, exceptionsAs }: StatsOptions) => {
  const rewards = withExceptions(facts.columns.reward.pick(rows), exceptions, exceptionsAs);
  let [tries, solved] = [0, 0];
  for (let at = 0; at < rewards.length; at++) {
    const reward = rewards[at] ?? 0;
    if (!Number.isFinite(reward)) continue;
    tries++;
    if (isSolved(reward, pass)) solved++;
  }
  const known = solved === 0 ? "never" : solved === tries ? "always" : "sometimes";
  const state: Change["from"] | undefined = tries > 0 ? known : rows.length === 0 ? "failed" : undefined;
  return { rewards, tries, solved, state, mean: meanOfFinite(rewards) };
};

/** Returns undefined unless both means are known. */
const subtractMeans = (a: number | null, b: number | null): PairedMeans | undefined =>
  a === null || b === null || !Number.isFinite(b - a) ? undefined : { a, b, difference: b - a };

const compareRewards = async (pairs: readonly PairedMeans[], breaks: Breaks) => {
  const values = new PairedValues();
  let [better, worse] = [0, 0];
  for (const pair of pairs) {
    if (breaks.isDue()) await breaks.take();
    values.add(pair.a, pair.b);
    if (pair.difference > rewardTolerance) better++;
    else if (pair.difference < -rewardTolerance) worse++;
  }
  const compared = values.describe();
  if (!compared) return null;
  const detectable = findDetectable(compared.pairs, { mean: compared.difference, ci95: compared.ci95 });
  return { ...compared, detectable, better, worse, equal: compared.pairs - better - worse };
};

const listOwnMetrics = async ({ metrics }: Side, other: Side, breaks: Breaks) => {
  const own: string[] = [];
  for (const name of metrics) {
    if (breaks.isDue()) await breaks.take();
    if (!other.metrics.has(name)) own.push(name);
  }
  return own;
};

const compareMetrics = async ({ a, b }: Sides, pairs: readonly Pair[], breaks: Breaks) => {
  const valuesByName = new Map<string, PairedValues>();
  let matched: MatchedNames = { a: [], b: [], list: [] };
  for (const pair of pairs) {
    const [inA, inB] = [readMetrics(a, pair.a), readMetrics(b, pair.b)];
    if (breaks.isDue()) await breaks.take();
    // Most trajectories share a list of names.
    if (matched.a !== inA.names || matched.b !== inB.names)
      matched = await matchNames(inA.names, inB.names, valuesByName, breaks);
    for (const { inList, inOther, values } of matched.list) {
      if (breaks.isDue(1000 * pair.a.rows.length)) await breaks.take();
      values.add(inA.meanOf(inList), inB.meanOf(inOther));
    }
  }
  const compared: ({ readonly name: string } & NonNullable<ReturnType<PairedValues["describe"]>>)[] = [];
  for (const name of await sortWithBreaks([...valuesByName.keys()], (x, y) => (x < y ? -1 : 1), breaks)) {
    if (breaks.isDue()) await breaks.take();
    const difference = valuesByName.get(name)?.describe();
    if (difference) compared.push({ name, ...difference });
  }
  return compared.length === 0 ? null : compared;
};

interface MatchedNames {
  readonly a: readonly string[];
  readonly b: readonly string[];
  /** The positions of the names in both lists. */
  readonly list: readonly { readonly inList: number; readonly inOther: number; readonly values: PairedValues }[];
}

const matchNames = async (
  a: readonly string[],
  b: readonly string[],
  valuesByName: Map<string, PairedValues>,
  breaks: Breaks,
): Promise<MatchedNames> => {
  const positions = new Map<string, number>();
  for (const [at, name] of b.entries()) {
    if (breaks.isDue()) await breaks.take();
    positions.set(name, at);
  }
  const list: MatchedNames["list"][number][] = [];
  for (const [inList, name] of a.entries()) {
    if (breaks.isDue()) await breaks.take();
    const inOther = positions.get(name);
    if (inOther === undefined) continue;
    const values = valuesByName.get(name) ?? new PairedValues();
    valuesByName.set(name, values);
    list.push({ inList, inOther, values });
  }
  return { a, b, list };
};

/** Returns the names of the metrics of a pool, and a function that returns the mean of one. */
const readMetrics = ({ facts: { columns } }: Side, { rows }: Pool) => {
  const names = columns.metricNamesOf(rows[0] ?? 0);
  if (rows.length > 0 && rows.every((row) => columns.metricNamesOf(row) === names))
    return { names, meanOf: (at: number) => meanOfFinite(rows.map((row) => columns.metricAt(row, at))) };
  const values = new Map<string, number[]>();
  for (const row of rows) {
    for (const [at, name] of columns.metricNamesOf(row).entries()) {
      const own = values.get(name) ?? [];
      if (own.push(columns.metricAt(row, at)) === 1) values.set(name, own);
    }
  }
  const lists = [...values.values()];
  return { names: [...values.keys()], meanOf: (at: number) => meanOfFinite(lists[at] ?? []) };
};
