/** The metrics of trajectories (promises.md, "Metrics"): tallied by group, merged, exact until the end. */
import type { TrajectoryGroup } from "../../contract/log.ts";
import { rewardTolerance } from "./constants.ts";
import { addTo, mergeSketch, newSketch, type Sketch } from "./sketch.ts";
import { boundsOf, deviation, ExactSum, type SumData } from "./sums.ts";

/** The fields of a trajectory that metrics are made of (interface 2.1). */
export type MeasuredTrajectory = Pick<TrajectoryGroup["trajectories"][number], "reward" | "metrics">;

/** A trajectory that was read: its metrics, and what is counted for people in addition. */
interface ReadTrajectory {
  readonly reward: number;
  /** Metrics that have a mean, and in that order their finite values. Names are compared with those before as an object. */
  readonly names: readonly string[];
  readonly metrics: readonly number[];
  /** Messages and choices. */
  readonly turns: number;
  /** Characters of their content. */
  readonly characters: number;
  /** Choices, and those that have logprobs. */
  readonly choices: number;
  readonly scored: number;
}

/** Names that are calculated, so that a key of `metrics` can't have them. */
const calculatedNames: ReadonlySet<string> = new Set(["reward", "reward_std_dev", "exception_rate"]);

/** True if a key of `metrics` has the name of something that is calculated; it is skipped. */
export const isCalculated = (key: string): boolean => calculatedNames.has(key);

/** A metric's value as a number: a boolean is 0 or 1; undefined for what is not a finite number. */
const metricValue = (value: unknown): number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  return typeof value === "boolean" ? Number(value) : undefined;
};

/** Metrics whose distribution is kept; of more, only the means are. */
const maxPictured = 200;

/** Values of one kind: their exact sum, and their distribution unless there are too many kinds. */
interface Series {
  readonly sum: ExactSum;
  count: number;
  readonly sketch: Sketch | undefined;
}

interface SeriesData extends Pick<Series, "count" | "sketch"> {
  readonly sum: SumData;
}

/** A tally as data: another thread gets this of it. */
export interface TallyData
  extends Pick<Tally, "trajectories" | "groups" | "trainable" | "exceptions" | "turns" | "characters" | "sampled"> {
  readonly reward: SeriesData;
  readonly deviations: SeriesData;
  readonly byName: ReadonlyMap<string, SeriesData>;
}

/** The facts about a group as a whole. */
interface ClosedGroup {
  readonly rewards: readonly number[];
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
  readonly reward = newSeries({ isPictured: true });
  readonly deviations = newSeries({ isPictured: false });
  readonly byName = new Map<string, Series>();
  /** Distributions of lengths. */
  readonly turns = newSketch();
  readonly characters = newSketch();
  /** Choices, those with logprobs, and trajectories that have a choice: trainers learn from them. */
  readonly sampled = { choices: 0, scored: 0, trajectories: 0 };

  /** Names that were given last, and their metrics. */
  #names: readonly string[] = [];
  #named: readonly Series[] = [];

  /** Names of metrics that were counted. */
  get names(): number {
    return this.byName.size;
  }

  /** Adds a trajectory of a group that is closed later, but not to the distributions. */
  addTrajectory({ reward, metrics }: MeasuredTrajectory): void {
    this.trajectories++;
    if (Number.isFinite(reward)) addValue(this.reward, reward, false);
    for (const [key, given] of Object.entries(metrics ?? {})) {
      const value = metricValue(given);
      if (value !== undefined && !calculatedNames.has(key)) addValue(this.#series(key), value, false);
    }
  }

  /** Adds a trajectory of a group that is closed later, to the distributions too. */
  addMeasured({ reward, names, metrics, turns, characters, choices, scored }: ReadTrajectory): void {
    this.trajectories++;
    if (Number.isFinite(reward)) addValue(this.reward, reward, true);
    if (names !== this.#names) {
      this.#names = names;
      this.#named = names.map((name) => this.#series(name));
    }
    for (let at = 0; at < this.#named.length; at++) {
      const series = this.#named[at];
      if (series !== undefined) addValue(series, metrics[at] ?? 0, true);
    }
    addTo(this.turns, turns);
    addTo(this.characters, characters);
    this.#addSampled({ choices, scored, trajectories: Math.min(1, choices) });
  }

  /** Adds what is known of a group as a whole once all its trajectories were added, or takes it back. */
  closeGroup({ rewards, exceptions }: ClosedGroup, sign: 1 | -1 = 1): void {
    this.groups += sign;
    this.exceptions += sign * exceptions;
    const finite = rewards.filter(Number.isFinite);
    if (finite.length < 2) return;
    this.deviations.sum.add(sign * deviation(finite));
    this.deviations.count += sign;
    const { least, most } = boundsOf(finite);
    if (most - least > rewardTolerance) this.trainable += sign;
  }

  /** Adds another tally. */
  merge(other: TallyData): void {
    this.#add(other, 1);
    mergeSketch(this.turns, other.turns);
    mergeSketch(this.characters, other.characters);
    this.#addSampled(other.sampled);
  }

  #addSampled({ choices, scored, trajectories }: Tally["sampled"]): void {
    this.sampled.choices += choices;
    this.sampled.scored += scored;
    this.sampled.trajectories += trajectories;
  }

  /** Takes back the metrics of a tally that was added; the distributions stay. */
  subtract(other: TallyData): void {
    this.#add(other, -1);
  }

  #add(other: TallyData, sign: 1 | -1): void {
    for (const count of ["trajectories", "groups", "trainable", "exceptions"] as const) {
      this[count] += sign * other[count];
    }
    addSeries(this.reward, other.reward, sign);
    addSeries(this.deviations, other.deviations, sign);
    for (const [key, series] of other.byName) addSeries(this.#series(key), series, sign);
  }

  /** The metrics by their names; without a split they have no prefix. A mean of nothing is left out. */
  metrics(split?: string): Record<string, number> {
    const prefix = split === undefined ? "" : `${split}/`;
    const own = new Map<string, number>();
    if (this.reward.count > 0) own.set("reward", meanOf(this.reward));
    own.set("reward_std_dev", this.deviations.count === 0 ? 0 : meanOf(this.deviations));
    const tried = this.trajectories + this.exceptions;
    if (tried > 0) own.set("exception_rate", this.exceptions / tried);
    for (const [key, series] of [...this.byName].sort(byKey)) if (series.count > 0) own.set(key, meanOf(series));
    const counts = {
      "data/step_num_scenarios": this.groups,
      "data/step_num_trajectories": this.trajectories,
      "data/step_num_groups_submitted": this.groups,
      ...(split === "train" ? { "data/step_num_groups_trainable": this.trainable } : {}),
    };
    return Object.fromEntries([...[...own].map(([key, value]) => [prefix + key, value]), ...Object.entries(counts)]);
  }

  #series(key: string): Series {
    const series = this.byName.get(key) ?? newSeries({ isPictured: this.names < maxPictured });
    if (series.count === 0) this.byName.set(key, series);
    return series;
  }
}

const newSeries = ({ isPictured }: { readonly isPictured: boolean }): Series => ({
  sum: new ExactSum(),
  count: 0,
  sketch: isPictured ? newSketch() : undefined,
});

const addValue = (series: Series, value: number, isPictured: boolean): void => {
  series.sum.add(value);
  series.count++;
  if (isPictured && series.sketch !== undefined) addTo(series.sketch, value);
};

const addSeries = (into: Series, { sum, count, sketch }: SeriesData, sign: 1 | -1): void => {
  into.sum.merge(sum, sign);
  into.count += sign * count;
  if (sign === 1 && into.sketch !== undefined && sketch !== undefined) mergeSketch(into.sketch, sketch);
};

const meanOf = ({ sum, count }: Series): number => sum.mean(count);

const byKey = ([a]: readonly [string, Series], [b]: readonly [string, Series]): number => (a < b ? -1 : a > b ? 1 : 0);
