/** Compares the rewards, metrics and finish reasons of two datasets by prompt (metrics.md). */

import type { Dataset, TrajectoryPosition } from "../dataset/index.ts";
import { isSolved, rewardTolerance } from "../index/metrics.ts";
import { computeMean, meanOfFinite } from "../index/sums.ts";
import { getFacts } from "./facts.ts";
import { GroupedValues } from "./intervals.ts";
import { estimatePass, type StatsOptions } from "./stats-slice.ts";

/** The trajectories of a dataset with the same prompt, or the same key. */
interface Pool {
  /** The first such trajectory. */
  readonly first: TrajectoryPosition;
  readonly rows: number[];
}

/** The keys are those of the document of `rollcall compare`, except `ownMetrics` and `changed`. */
export type Comparison = ReturnType<typeof compareDatasets>;

type PairedMeans = Readonly<Record<"a" | "b" | "difference", number>>;

const noDifference = { a: null, b: null, difference: null, ci95: null };

/** Expects datasets with the facts that `pairBy` names. */
export const compareDatasets = (
  a: Dataset,
  b: Dataset,
  { pairBy, ...options }: StatsOptions & { readonly pairBy: "prompt" | "key" },
) => {
  const sides = { a: openSide(a, pairBy), b: openSide(b, pairBy) };
  const names = [...sides.a.pools.keys()].filter((name) => sides.b.pools.has(name));
  const pairs = names.flatMap((name) => {
    const [poolA, poolB] = [sides.a.pools.get(name), sides.b.pools.get(name)];
    return poolA && poolB ? { a: poolA, b: poolB } : [];
  });
  const rewardsOf = (side: keyof typeof sides, pool: Pool) => sides[side].facts.columns.reward.pick(pool.rows);
  const rewarded = pairs.flatMap((pair) => {
    const means = { a: meanOfFinite(rewardsOf("a", pair.a)), b: meanOfFinite(rewardsOf("b", pair.b)) };
    if (means.a === null || means.b === null || !Number.isFinite(means.b - means.a)) return [];
    const first = { a: pair.a.first, b: pair.b.first };
    return { a: means.a, b: means.b, difference: means.b - means.a, first };
  });
  const size = ({ difference }: PairedMeans) => Math.abs(difference);
  return {
    a: sides.a.counts,
    b: sides.b.counts,
    paired: pairs.length,
    only_a: sides.a.pools.size - pairs.length,
    only_b: sides.b.pools.size - pairs.length,
    without_prompt: sides.a.unknown + sides.b.unknown,
    reward: compareRewards(rewarded),
    pass: options.tries.map((k) => {
      const estimates = pairs.map((pair) => ({
        a: estimateOf(rewardsOf("a", pair.a), k, options.pass),
        b: estimateOf(rewardsOf("b", pair.b), k, options.pass),
      }));
      const { pairs: count, ...difference } = compareMeans(estimates) ?? { pairs: 0, ...noDifference };
      return { k, pairs: count, ...difference };
    }),
    metrics: compareMetrics(sides.a, sides.b, pairs),
    finish_reasons: compareFinishes(sides.a, sides.b),
    /** The names of the metrics of one dataset only. */
    ownMetrics: { a: listOwnMetrics(sides.a, sides.b), b: listOwnMetrics(sides.b, sides.a) },
    /** All pairs with rewards, by the size of their difference. */
    changed: rewarded.filter((pair) => size(pair) > rewardTolerance).sort((x, y) => size(y) - size(x)),
  };
};

type Side = ReturnType<typeof openSide>;

const openSide = (dataset: Dataset, pairBy: "prompt" | "key") => {
  const facts = getFacts(dataset);
  const { columns, walked } = facts;
  const [numbers, names] = pairBy === "prompt" ? [walked.prompt, walked.prompts] : [walked.key, walked.keys];
  const { groups } = dataset;
  /** By the number of the name. */
  const poolsByNumber: Pool[] = [];
  const finishes = new Map<string | null, number>();
  const counts = { groups: 0, trajectories: 0 };
  let unknown = 0;
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    counts.groups++;
    for (const part of groups.partsOf(group)) {
      for (const [trajectory, row] of columns.rowsOf([part]).entries()) {
        counts.trajectories++;
        const reason = walked.finishReasons.at(walked.finishReasonOf(row)) ?? null;
        finishes.set(reason, (finishes.get(reason) ?? 0) + 1);
        const number = numbers.at(row);
        const pool = poolsByNumber[number];
        if (number === 0) unknown++;
        else if (pool) pool.rows.push(row);
        else poolsByNumber[number] = { first: { part, trajectory }, rows: [row] };
      }
    }
  }
  const pools = new Map(poolsByNumber.flatMap((pool, number) => [[names.at(number) ?? "", pool] as const]));
  /** The sorted names of the metrics. */
  const metrics = new Set(columns.listMetricNames().sort());
  return { facts, metrics, pools, finishes, counts, unknown };
};

const estimateOf = (rewards: readonly number[], k: number, pass: number) => {
  const finite = rewards.filter(Number.isFinite);
  const solved = finite.filter((reward) => isSolved(reward, pass)).length;
  return finite.length < k ? null : estimatePass({ tries: finite.length, solved }, k);
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
  return { ...compared, better, worse, equal: compared.pairs - better - worse };
};

const listOwnMetrics = ({ metrics }: Side, other: Side) => [...metrics].filter((name) => !other.metrics.has(name));

const compareMetrics = (a: Side, b: Side, pairs: readonly Readonly<Record<"a" | "b", Pool>>[]) => {
  const names = [...a.metrics].filter((name) => b.metrics.has(name));
  const compared = names.flatMap((name) => {
    const meanIn = ({ facts: { columns } }: Side, { rows }: Pool) =>
      meanOfFinite(rows.map((row) => columns.metricOf(row, name)));
    const difference = compareMeans(pairs.map((pair) => ({ a: meanIn(a, pair.a), b: meanIn(b, pair.b) })));
    return difference ? [[name, difference] as const] : [];
  });
  return compared.length === 0 ? null : Object.fromEntries(compared);
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
