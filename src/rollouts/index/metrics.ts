/** Computes metrics (metrics.md). */

import type { TrajectoryFacts } from "./fact-columns.ts";
import { findBounds, pickFinite, rewardTolerance, Sum, standardDeviation } from "./sums.ts";

/** @param pass a trajectory is solved if its reward is at least this */
export const isSolved = (reward: number, pass = 1) => reward >= pass - rewardTolerance;

/** A bit means that a part has the data, the next higher bit that a trajectory lacks it. */
export const trainingBits = { choice: 1, logprobs: 4, tools: 16, offset: 64 };
/** A choice, or another assistant turn. */
export const turnBits = trainingBits.choice | (trainingBits.choice << 1);

const calculatedNames: ReadonlySet<string> = new Set(["reward", "reward_std_dev", "exception_rate"]);

export const isCalculated = (key: string) => calculatedNames.has(key);

export class Tally {
  trajectories = 0;
  groups = 0;
  trainable = 0;
  exceptions = 0;
  readonly reward = new Sum();
  /** The rewards of trajectories whose last turn says nothing. */
  readonly silent = new Sum();
  readonly deviations = new Sum();
  readonly byName = new Map<string, Sum>();
  /** The sums of lists of names. Trajectories of a shape share a list. */
  #sumsByNames = new WeakMap<readonly string[], readonly Sum[]>();
  #lastNames: readonly string[] = [];
  #lastSums: readonly Sum[] = [];

  addTrajectory({ reward, metricNames, metrics, isSilent }: TrajectoryFacts) {
    this.trajectories++;
    if (isSilent && Number.isFinite(reward)) this.silent.add(reward);
    if (Number.isFinite(reward)) this.reward.add(reward);
    if (metricNames !== this.#lastNames) this.#lastSums = this.#sumsOf(metricNames);
    for (let at = 0; at < this.#lastSums.length; at++) {
      this.#lastSums[at]?.add(metrics[at] ?? 0);
    }
  }

  /** Counts the group, but not its trajectories. */
  addGroup({ rewards, exceptions }: { rewards: ArrayLike<number>; exceptions: number }) {
    this.groups++;
    this.exceptions += exceptions;
    const finite = pickFinite(rewards);
    if (finite.length < 2) return;
    this.deviations.add(standardDeviation(finite));
    const { min, max } = findBounds(finite);
    if (max - min > rewardTolerance) this.trainable++;
  }

  merge(other: Tally, sign: 1 | -1 = 1) {
    for (const count of ["trajectories", "groups", "trainable", "exceptions"] as const)
      this[count] += sign * other[count];
    this.reward.merge(other.reward, sign);
    this.silent.merge(other.silent, sign);
    this.deviations.merge(other.deviations, sign);
    for (const [key, sum] of other.byName) this.#sumOf(key).merge(sum, sign);
  }

  /** @param names the names of the metrics, sorted */
  *listMetrics(split?: string, names: Iterable<string> = [...this.byName.keys()].sort()): Iterable<[string, number]> {
    const prefix = split === undefined ? "" : `${split}/`;
    const rollouts = this.trajectories + this.exceptions;
    if (this.reward.count > 0) yield [`${prefix}reward`, this.reward.mean];
    yield [`${prefix}reward_std_dev`, this.deviations.count === 0 ? 0 : this.deviations.mean];
    if (rollouts > 0) yield [`${prefix}exception_rate`, this.exceptions / rollouts];
    for (const name of names) {
      const sum = this.byName.get(name);
      if (sum && sum.count > 0) yield [prefix + name, sum.mean];
    }
    yield ["data/step_num_scenarios", this.groups];
    yield ["data/step_num_trajectories", this.trajectories];
    yield ["data/step_num_groups_submitted", this.groups];
    if (split === "train") yield ["data/step_num_groups_trainable", this.trainable];
  }

  metrics(split?: string): Record<string, number> {
    return Object.fromEntries(this.listMetrics(split));
  }

  #sumsOf(names: readonly string[]) {
    const sums = this.#sumsByNames.get(names) ?? names.map((name) => this.#sumOf(name));
    this.#sumsByNames.set(names, sums);
    this.#lastNames = names;
    return sums;
  }

  #sumOf(key: string) {
    const sum = this.byName.get(key) ?? new Sum();
    if (sum.count === 0) this.byName.set(key, sum);
    return sum;
  }
}
