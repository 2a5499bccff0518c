/** Selects trajectories to read. A list says by what it selects, and judges nothing. */

import type { Dataset } from "../dataset/index.ts";
import { isSolved, rewardTolerance } from "../index/metrics.ts";
import { sumUses } from "../index/rollout-facts.ts";
import { findBounds, standardDeviation } from "../index/sums.ts";
import { type Facts, getFacts } from "./facts.ts";
import { percentile } from "./intervals.ts";

/** A trajectory by the index of its group, and by its index in the group. */
export interface ReadTrajectory {
  readonly group: number;
  readonly trajectory: number;
  readonly reward: number;
  readonly why: string;
}

export interface ReadingList {
  readonly reason: string;
  readonly selectedBy: string;
  readonly trajectories: readonly ReadTrajectory[];
}

const maxListed = 4;

/** The trajectories of a valid group that have a finite reward. */
interface RewardedGroup {
  readonly group: number;
  /** Indexes in the group. */
  readonly trajectories: readonly number[];
  readonly rows: readonly number[];
  readonly rewards: readonly number[];
}

/** Keeps the candidates with the lowest ranks. Of equal ranks, the first candidate stays. */
class Shortlist {
  readonly #best: { readonly rank: readonly number[]; readonly trajectories: readonly ReadTrajectory[] }[] = [];

  add(rank: readonly number[], ...trajectories: readonly ReadTrajectory[]) {
    const at = this.#best.findIndex((other) => compareRanks(rank, other.rank) < 0);
    this.#best.splice(at < 0 ? this.#best.length : at, 0, { rank, trajectories });
    if (this.#best.length > maxListed) this.#best.pop();
  }

  get trajectories() {
    return this.#best.flatMap(({ trajectories }) => trajectories).slice(0, maxListed);
  }
}

const compareRanks = (a: readonly number[], b: readonly number[]) => {
  const at = a.findIndex((value, position) => value !== b[position]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
};

/** Expects a dataset with facts. A trajectory is solved if its reward is at least `pass`. Leaves out empty lists. */
export const chooseReading = (dataset: Dataset, pass: number): readonly ReadingList[] => {
  const facts = getFacts(dataset);
  const groups = listRewardedGroups(dataset, facts);
  const lists = [...listByFacts(facts, groups), listSometimesSolved(groups, pass), listSingleMetrics(facts, groups)];
  return lists.filter(({ trajectories }) => trajectories.length > 0);
};

const listRewardedGroups = ({ groups }: Dataset, { columns }: Facts) => {
  const rewarded: RewardedGroup[] = [];
  for (let group = 0; group < groups.count; group++) {
    const all = groups.isValid(group) ? columns.rowsOf(groups.partsOf(group)) : [];
    const trajectories = [...all.keys()].filter((at) => Number.isFinite(columns.reward.at(all[at] ?? 0)));
    const rows = trajectories.map((at) => all[at] ?? 0);
    rewarded.push({ group, trajectories, rows, rewards: columns.reward.pick(rows) });
  }
  return rewarded;
};

const listByFacts = ({ walked }: Facts, groups: readonly RewardedGroup[]): readonly ReadingList[] => {
  const rewards = Float64Array.from(groups.flatMap((group) => group.rewards)).sort();
  const rows = groups.flatMap((group) => group.rows).filter((row) => walked.turnsOf(row) > 0);
  const lengths = Float64Array.from(rows, (row) => walked.charactersOf(row)).sort();
  const [high, few] = [percentile(rewards, 0.9), percentile(lengths, 0.1)];
  const lowest = rewards[0] ?? 0;
  const [failed, short, cut] = [new Shortlist(), new Shortlist(), new Shortlist()];
  for (const { group, trajectories, rows: own, rewards: ownRewards } of groups)
    for (const [at, row] of own.entries()) {
      const [reward, trajectory = 0] = [ownRewards[at] ?? 0, trajectories[at]];
      const { characters, tools, turns, finishReason } = walked.at(row);
      const { errors } = sumUses(tools.values());
      const isHigh = reward >= high && reward > lowest;
      const add = (list: Shortlist, rank: readonly number[], why: string) =>
        list.add(rank, { group, trajectory, reward, why });
      if (errors > 0) add(failed, [-reward, -errors], `tool errors: ${errors}`);
      if (isHigh && turns > 0 && characters <= few) add(short, [characters, -reward], `characters: ${characters}`);
      if (isHigh && finishReason === "length") add(cut, [-reward, -characters], "finish reason: length");
    }
  const highReward = `reward ≥ ${format(high)} (p90) and above the lowest`;
  return [
    {
      reason: "the highest rewards with a tool error",
      selectedBy: "tool errors ≥ 1; by reward, then by tool errors, from the highest",
      trajectories: failed.trajectories,
    },
    {
      reason: "high rewards in few characters",
      selectedBy: `${highReward}, and characters ≤ ${format(few)} (p10); by characters from the lowest`,
      trajectories: short.trajectories,
    },
    {
      reason: "truncated, with a high reward",
      selectedBy: `finish reason length, and ${highReward}; by reward, then by characters, from the highest`,
      trajectories: cut.trajectories,
    },
  ];
};

const format = (value: number) => String(Number(value.toPrecision(6)));

const listSometimesSolved = (groups: readonly RewardedGroup[], pass: number): ReadingList => {
  const list = new Shortlist();
  for (const { group, trajectories, rewards } of groups) {
    const solved = rewards.filter((reward) => isSolved(reward, pass)).length;
    if (solved === 0 || solved === rewards.length) continue;
    const { min, max } = findBounds(rewards);
    const read = (reward: number, name: string) => {
      const trajectory = trajectories[rewards.indexOf(reward)] ?? 0;
      return { group, trajectory, reward, why: `${name} of ${rewards.length}, ${solved} solved` };
    };
    list.add([-standardDeviation(rewards)], read(max, "best"), read(min, "worst"));
  }
  return {
    reason: "the best and the worst of a group that is sometimes solved",
    selectedBy: `some rewards ≥ ${format(pass)}, some below; by the standard deviation in the group, from the highest`,
    trajectories: list.trajectories,
  };
};

/** The text of a metric and of its weight in a group. */
interface DecidingMetric {
  readonly name: string;
  readonly weighted: string;
}

/** A weight of a single group can be chance, and a metric that decides all groups is a copy of the reward. */
const listSingleMetrics = ({ columns }: Facts, groups: readonly RewardedGroup[]): ReadingList => {
  const decided = groups.flatMap((group) => {
    const { min, max } = findBounds(group.rewards);
    return max - min > rewardTolerance ? { ...group, metrics: findDecidingMetrics(columns, group) } : [];
  });
  const counts = new Map<string, number>();
  for (const { name, weighted } of decided.flatMap(({ metrics }) => metrics))
    for (const text of [name, weighted]) counts.set(text, (counts.get(text) ?? 0) + 1);
  const countOf = (text: string) => counts.get(text) ?? 0;
  const list = new Shortlist();
  for (const { group, trajectories, rewards, metrics } of decided) {
    const [only, ...others] = metrics.filter(({ name }) => countOf(name) < decided.length);
    if (!only || others.length > 0 || countOf(only.weighted) < 2) continue;
    const reward = findBounds(rewards).max;
    const trajectory = trajectories[rewards.indexOf(reward)] ?? 0;
    const rank = [countOf(only.weighted), -standardDeviation(rewards)];
    list.add(rank, { group, trajectory, reward, why: `only ${only.name} decides` });
  }
  return {
    reason: "one part of the reward decides alone",
    selectedBy:
      "in the group, reward = constant + weight × one metric alone, with the same weight in another group, but not in all groups; the rarest first",
    trajectories: list.trajectories,
  };
};

/** A metric decides a group if each reward is a constant plus a weight times the metric. */
const findDecidingMetrics = (
  columns: Facts["columns"],
  { rows, rewards }: RewardedGroup,
): readonly DecidingMetric[] => {
  const { min, max } = findBounds(rewards);
  return [...new Set(columns.metricNamesOf(rows[0] ?? 0))].flatMap((name) => {
    const values = rows.map((row) => columns.metricOf(row, name));
    const low = values[rewards.indexOf(min)] ?? Number.NaN;
    const rise = (values[rewards.indexOf(max)] ?? Number.NaN) - low;
    const isOnLine = (value: number, at: number) =>
      Math.abs(value - low - (rise * ((rewards[at] ?? 0) - min)) / (max - min)) <= Math.abs(rise) * 1e-9;
    if (rise === 0 || !values.every(isOnLine)) return [];
    return { name, weighted: `${format((max - min) / rise)} × ${name}` };
  });
};
