/** The metrics of trajectories (metrics.md): tallied by group, merged, exact until the end. */
import type { TrajectoryGroup } from "../../contract/log.ts";
import { addToSketch, mergeSketch, newSketch, type Sketch } from "./sketch.ts";
import { addToSum, type ExactSum, findBounds, meanOfSum, mergeSum, newSum, standardDeviation } from "./sums.ts";

/** Rewards that differ by no more are equal (metrics.md). */
export const rewardTolerance = 1e-12;

/** What trajectories have to train on, and what they lack, in bits: a choice, its logprobs, tools that are called. */
export const withChoice = 1;
export const withoutChoice = 2;
export const withLogprobs = 4;
export const withoutLogprobs = 8;
export const withTools = 16;
export const withoutTools = 32;

/** The fields of a trajectory that metrics are made of (interface 2.1). */
export type MeasuredTrajectory = Pick<TrajectoryGroup["trajectories"][number], "reward" | "metrics">;

/** A trajectory that was read: its metrics, and what is counted for people in addition. */
interface TrajectoryMeasures {
  readonly reward: number;
  /** Metrics that have a mean, and in that order their finite values. Names are compared by identity. */
  readonly names: readonly string[];
  readonly metrics: readonly number[];
  /** Messages and choices, and characters of their content. */
  readonly turns: number;
  readonly characters: number;
  /** Choices, and those that have logprobs. */
  readonly choices: number;
  readonly scored: number;
}

/** Names that are calculated, so that a key of `metrics` can't have them. */
const calculatedNames: ReadonlySet<string> = new Set(["reward", "reward_std_dev", "exception_rate"]);

/** True if a key of `metrics` has the name of something that is calculated; it is skipped. */
export const isCalculated = (key: string): boolean => calculatedNames.has(key);

/** Metrics whose distribution is kept; of more, only the means are. */
const maxDistributions = 200;

/** Values of one kind: their exact sum, and their distribution unless there are too many kinds. */
interface Series {
  readonly sum: ExactSum;
  count: number;
  readonly sketch: Sketch | undefined;
}

const newSeries = (sketch?: Sketch): Series => ({ sum: newSum(), count: 0, sketch });

const addValue = (series: Series, value: number): void => {
  addToSum(series.sum, value);
  series.count++;
};

const addToDistribution = (series: Series, value: number): void => {
  addValue(series, value);
  if (series.sketch !== undefined) addToSketch(series.sketch, value);
};

const mergeSeries = (into: Series, { sum, count, sketch }: Series, sign: 1 | -1): void => {
  mergeSum(into.sum, sum, sign);
  into.count += sign * count;
  if (sign === 1 && into.sketch !== undefined && sketch !== undefined) mergeSketch(into.sketch, sketch);
};

const meanOf = ({ sum, count }: Series): number => meanOfSum(sum, count);

const counts = ["trajectories", "groups", "trainable", "exceptions"] as const;

/** A tally as data: another thread gets this of it. */
export type TallyData = Pick<
  Tally,
  (typeof counts)[number] | "reward" | "deviations" | "byName" | "turns" | "characters" | "sampled"
>;

/** Metrics being counted. Nothing depends on the order in which groups are added or parts are merged. */
export class Tally {
  trajectories = 0;
  groups = 0;
  trainable = 0;
  /** Exceptions that took the place of trajectories. */
  exceptions = 0;
  readonly reward = newSeries(newSketch());
  readonly deviations = newSeries();
  readonly byName = new Map<string, Series>();
  /** Distributions of lengths. */
  readonly turns = newSketch();
  readonly characters = newSketch();
  /** Choices, those with logprobs, and trajectories that have a choice: trainers learn from them. */
  readonly sampled = { choices: 0, scored: 0, trajectories: 0 };

  /** Names that were given last, and their metrics. */
  #names: readonly string[] = [];
  #named: readonly Series[] = [];

  /** Number of metrics that were counted. */
  get names(): number {
    return this.byName.size;
  }

  /** Adds a trajectory of a group that is closed later, but not to the distributions. */
  addTrajectory({ reward, metrics }: MeasuredTrajectory): void {
    this.trajectories++;
    if (Number.isFinite(reward)) addValue(this.reward, reward);
    for (const [key, given] of Object.entries(metrics ?? {})) {
      const value: unknown = typeof given === "boolean" ? Number(given) : given;
      if (typeof value !== "number" || !Number.isFinite(value) || isCalculated(key)) continue;
      addValue(this.#series(key), value);
    }
  }

  /** Adds a trajectory of a group that is closed later, to the distributions too. */
  addMeasured({ reward, names, metrics, turns, characters, choices, scored }: TrajectoryMeasures): void {
    this.trajectories++;
    if (Number.isFinite(reward)) addToDistribution(this.reward, reward);
    if (names !== this.#names) {
      this.#names = names;
      this.#named = names.map((name) => this.#series(name));
    }
    for (let at = 0; at < this.#named.length; at++) {
      const series = this.#named[at];
      if (series !== undefined) addToDistribution(series, metrics[at] ?? 0);
    }
    addToSketch(this.turns, turns);
    addToSketch(this.characters, characters);
    this.#addSampled({ choices, scored, trajectories: Math.min(1, choices) });
  }

  /** Adds what is known of a group as a whole once all its trajectories were added, or takes it back. */
  addGroup(
    { rewards, exceptions }: { readonly rewards: readonly number[]; readonly exceptions: number },
    sign: 1 | -1 = 1,
  ): void {
    this.groups += sign;
    this.exceptions += sign * exceptions;
    const finite = rewards.every(Number.isFinite) ? rewards : rewards.filter(Number.isFinite);
    if (finite.length < 2) return;
    addToSum(this.deviations.sum, sign * standardDeviation(finite));
    this.deviations.count += sign;
    const { least, most } = findBounds(finite);
    if (most - least > rewardTolerance) this.trainable += sign;
  }

  /** Adds another tally. */
  merge(other: TallyData): void {
    this.#add(other, 1);
    mergeSketch(this.turns, other.turns);
    mergeSketch(this.characters, other.characters);
    this.#addSampled(other.sampled);
  }

  /** Takes back the metrics of a tally that was added; the distributions stay. */
  subtract(other: TallyData): void {
    this.#add(other, -1);
  }

  #add(other: TallyData, sign: 1 | -1): void {
    for (const count of counts) this[count] += sign * other[count];
    mergeSeries(this.reward, other.reward, sign);
    mergeSeries(this.deviations, other.deviations, sign);
    for (const [key, series] of other.byName) mergeSeries(this.#series(key), series, sign);
  }

  #addSampled({ choices, scored, trajectories }: Tally["sampled"]): void {
    this.sampled.choices += choices;
    this.sampled.scored += scored;
    this.sampled.trajectories += trajectories;
  }

  /** The metrics by their names; without a split they have no prefix. A mean of nothing is left out. */
  metrics(split?: string): Record<string, number> {
    const prefix = split === undefined ? "" : `${split}/`;
    const tried = this.trajectories + this.exceptions;
    const means = [...this.byName].sort(([a], [b]) => (a < b ? -1 : 1)).filter(([, { count }]) => count > 0);
    const own: readonly (readonly [string, number])[] = [
      ...(this.reward.count > 0 ? [["reward", meanOf(this.reward)] as const] : []),
      ["reward_std_dev", this.deviations.count === 0 ? 0 : meanOf(this.deviations)],
      ...(tried > 0 ? [["exception_rate", this.exceptions / tried] as const] : []),
      ...means.map(([key, series]) => [key, meanOf(series)] as const),
    ];
    return {
      ...Object.fromEntries(own.map(([key, value]) => [prefix + key, value])),
      "data/step_num_scenarios": this.groups,
      "data/step_num_trajectories": this.trajectories,
      "data/step_num_groups_submitted": this.groups,
      ...(split === "train" ? { "data/step_num_groups_trainable": this.trainable } : {}),
    };
  }

  #series(key: string): Series {
    const series = this.byName.get(key) ?? newSeries(this.names < maxDistributions ? newSketch() : undefined);
    if (series.count === 0) this.byName.set(key, series);
    return series;
  }
}
