/** The metrics of trajectories (promises.md, "Metrics"): tallied group by group, merged part by part, exact until the end. */
import type { TrajectoryGroup } from "../../contract/log.ts";
import { rewardTolerance } from "./constants.ts";
import { type Doubles, deviation, ExactSum, type SumData } from "./sums.ts";

/** The fields of a trajectory that metrics are made of (interface 2.1). */
export type MeasuredTrajectory = Pick<TrajectoryGroup["trajectories"][number], "reward" | "metrics">;

/** Names that are calculated, so that a key of `metrics` can't have them. */
export const calculatedNames: ReadonlySet<string> = new Set(["reward", "reward_std_dev", "exception_rate"]);

/** True if a key of `metrics` has the name of something that is calculated; it is skipped. */
export const isCalculated = (key: string): boolean => calculatedNames.has(key);

/** A metric's value as a number: a boolean is 0 or 1; undefined for what is not a finite number. */
export const metricValue = (value: unknown): number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  return typeof value === "boolean" ? Number(value) : undefined;
};

interface Mean {
  readonly sum: ExactSum;
  count: number;
}

interface MeanData {
  readonly sum: SumData;
  readonly count: number;
}

/** A tally as data: another thread gets this of it. */
export interface TallyData extends Pick<Tally, "trajectories" | "groups" | "trainable" | "exceptions"> {
  readonly reward: MeanData;
  readonly deviations: MeanData;
  readonly byName: ReadonlyMap<string, MeanData>;
}

/** The facts about a group as a whole. */
interface ClosedGroup {
  readonly rewards: Doubles;
  /** Exceptions that took the place of trajectories. */
  readonly exceptions: number;
}

/** Metrics being counted. Nothing depends on the order in which groups are added or parts are merged. */
export class Tally {
  /** Trajectories, groups and trainable groups that were added, and exceptions that took the place of trajectories. */
  trajectories = 0;
  groups = 0;
  trainable = 0;
  exceptions = 0;
  readonly reward: Mean = { sum: new ExactSum(), count: 0 };
  readonly deviations: Mean = { sum: new ExactSum(), count: 0 };
  readonly byName = new Map<string, Mean>();

  /** Names of metrics that were counted. */
  get names(): number {
    return this.byName.size;
  }

  /** Adds a trajectory of a group that is closed later. */
  addTrajectory({ reward, metrics }: MeasuredTrajectory): void {
    this.trajectories++;
    if (Number.isFinite(reward)) addValue(this.reward, reward, 1);
    for (const key of Object.keys(metrics ?? {})) {
      const value = metricValue(metrics?.[key]);
      if (value !== undefined && !calculatedNames.has(key)) addValue(this.#mean(key), value, 1);
    }
  }

  /** Adds what is known of a group as a whole once all its trajectories were added, or takes it back. */
  closeGroup({ rewards, exceptions }: ClosedGroup, sign: 1 | -1 = 1): void {
    this.groups += sign;
    this.exceptions += sign * exceptions;
    const finite = areFinite(rewards) ? rewards : Array.from(rewards).filter(Number.isFinite);
    if (finite.length < 2) return;
    addValue(this.deviations, deviation(finite), sign);
    if (!areEqual(finite)) this.trainable += sign;
  }

  /** Adds another tally. */
  merge(other: TallyData): void {
    this.#add(other, 1);
  }

  /** Takes back a tally that was added. */
  subtract(other: TallyData): void {
    this.#add(other, -1);
  }

  #add(other: TallyData, sign: 1 | -1): void {
    this.trajectories += sign * other.trajectories;
    this.groups += sign * other.groups;
    this.trainable += sign * other.trainable;
    this.exceptions += sign * other.exceptions;
    addMean(this.reward, other.reward, sign);
    addMean(this.deviations, other.deviations, sign);
    for (const [key, mean] of other.byName) addMean(this.#mean(key), mean, sign);
  }

  /** The metrics by their names; without a split they have no prefix. A mean of nothing is left out. */
  metrics(split?: string): Record<string, number> {
    const prefix = split === undefined ? "" : `${split}/`;
    const own = new Map<string, number>();
    if (this.reward.count > 0) own.set("reward", meanOf(this.reward));
    own.set("reward_std_dev", this.deviations.count === 0 ? 0 : meanOf(this.deviations));
    const tried = this.trajectories + this.exceptions;
    if (tried > 0) own.set("exception_rate", this.exceptions / tried);
    for (const [key, mean] of [...this.byName].sort(byName)) if (mean.count > 0) own.set(key, meanOf(mean));
    const counts = {
      "data/step_num_scenarios": this.groups,
      "data/step_num_trajectories": this.trajectories,
      "data/step_num_groups_submitted": this.groups,
      ...(split === "train" ? { "data/step_num_groups_trainable": this.trainable } : {}),
    };
    return Object.fromEntries([...[...own].map(([key, value]) => [prefix + key, value]), ...Object.entries(counts)]);
  }

  #mean(key: string): Mean {
    let mean = this.byName.get(key);
    if (mean === undefined) {
      mean = { sum: new ExactSum(), count: 0 };
      this.byName.set(key, mean);
    }
    return mean;
  }
}

const addValue = (mean: Mean, value: number, sign: 1 | -1): void => {
  mean.sum.add(sign * value);
  mean.count += sign;
};

const addMean = (into: Mean, { sum, count }: MeanData, sign: 1 | -1): void => {
  into.sum.merge(sum, sign);
  into.count += sign * count;
};

const meanOf = ({ sum, count }: Mean): number => sum.mean(count);

const byName = ([a]: readonly [string, Mean], [b]: readonly [string, Mean]): number => (a < b ? -1 : a > b ? 1 : 0);

const areFinite = (values: Doubles): boolean => {
  for (let at = 0; at < values.length; at++) if (!Number.isFinite(values[at])) return false;
  return true;
};

/** True if rewards differ by no more than the tolerance. */
const areEqual = (rewards: Doubles): boolean => {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < rewards.length; at++) {
    const reward = rewards[at] ?? 0;
    if (reward < least) least = reward;
    if (reward > most) most = reward;
  }
  return most - least <= rewardTolerance;
};
