/** What a table of groups is sorted by: rewards of all trajectories, in columns, measured in the background. */
import {
  type GroupsRead,
  hasNoChoice,
  hasNoSignal,
  momentsOf,
  rewardsOf,
  singleTrajectories,
} from "../groups/index.ts";
import { edgesOf, isWithin, type Range, shareIn } from "./range.ts";
import type { Bar, Dot, Untrainable } from "./shapes.ts";
import { spentIn } from "./spent.ts";

/** Columns of the groups: what is not measured yet, or never will be, is NaN. */
export class Measures {
  readonly mean: Float64Array;
  readonly spread: Float64Array;
  readonly least: Float64Array;
  readonly most: Float64Array;
  /** What their trajectories say that they took. */
  readonly tokens: Float64Array;
  readonly cost: Float64Array;
  /** Where the rewards of each group begin, and where the last ones end. */
  readonly #starts: Float64Array;
  readonly rewards: Float64Array;
  readonly #isMeasured: Uint8Array;
  readonly #isRecorded = { tokens: false, cost: false };
  readonly #read: GroupsRead;
  /** Groups that were gone over. */
  done = 0;

  constructor(read: GroupsRead) {
    const { count } = read.groups;
    this.#read = read;
    const column = () => new Float64Array(count).fill(Number.NaN);
    [this.mean, this.spread, this.least, this.most] = [column(), column(), column(), column()];
    [this.tokens, this.cost] = [column(), column()];
    this.#isMeasured = new Uint8Array(count);
    this.#starts = new Float64Array(count + 1);
    for (let group = 0; group < count; group++) {
      this.#starts[group + 1] = (this.#starts[group] ?? 0) + read.groups.trajectoriesOf(group);
    }
    this.rewards = new Float64Array(this.#starts[count] ?? 0).fill(Number.NaN);
  }

  get count(): number {
    return this.mean.length;
  }

  /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
  async measure(signal: AbortSignal): Promise<void> {
    for await (const { group, rewards, bytes } of rewardsOf(this.#read, signal)) {
      this.#take(group, rewards);
      if (bytes !== undefined) this.#spend(group, bytes);
      this.done = group + 1;
    }
    for await (const { group, bytes } of singleTrajectories(this.#read, signal)) this.#spend(group, bytes);
    this.done = this.count;
  }

  hasReward(group: number, range: Range): boolean {
    return this.#rewardsOf(group).some((reward) => isWithin(reward, range));
  }

  /** The rewards of a group; undefined until they are measured. */
  rewardsOf(group: number): Float64Array | undefined {
    return this.#isMeasured[group] === 1 ? this.#rewardsOf(group) : undefined;
  }

  #rewardsOf(group: number): Float64Array {
    return this.rewards.subarray(this.#starts[group] ?? 0, this.#starts[group + 1] ?? 0);
  }

  recorded(): readonly ("tokens" | "cost")[] {
    return (["tokens", "cost"] as const).filter((name) => this.#isRecorded[name]);
  }

  #spend(group: number, bytes: Buffer): void {
    for (const { tokens, cost } of spentIn(bytes)) {
      this.#isRecorded.tokens ||= tokens !== undefined;
      this.#isRecorded.cost ||= cost !== undefined;
      this.tokens[group] = plus(this.tokens[group], tokens);
      this.cost[group] = plus(this.cost[group], cost);
    }
  }

  #take(group: number, rewards: readonly number[]): void {
    this.#isMeasured[group] = 1;
    const own = this.#rewardsOf(group);
    own.set(rewards.slice(0, own.length));
    if (!rewards.every(Number.isFinite) || rewards.length === 0) return;
    const { mean, deviation, least, most } = momentsOf(rewards);
    this.mean[group] = mean;
    this.spread[group] = deviation;
    this.least[group] = least;
    this.most[group] = most;
  }
}

/** A sum, with what is added to it where that is there. */
const plus = (sum = Number.NaN, more: number | undefined): number =>
  more === undefined ? sum : (Number.isNaN(sum) ? 0 : sum) + more;

/** Why nothing is learned from a group; undefined where it has signal. */
export const untrainable = (read: GroupsRead, group: number): Untrainable | undefined => {
  if (!read.groups.isValid(group)) return "not valid";
  const trajectories = read.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "a group of one";
  if (hasNoSignal(read, group)) return "equal rewards";
  return hasNoChoice(read, group) ? "no sampled turn" : undefined;
};

/** Bars of a histogram, and cells of the plot each way. */
const bars = 24;
const cells = { mean: 36, spread: 16 };

/** Different values that have a bar each. */
const mostValues = 16;

/** Bars of rewards, from the least to the most: each has as many as lie in its range. What is no number has none. */
export const barsOf = (rewards: Float64Array): readonly Bar[] => {
  const axis = axisOf(rewards, bars);
  const values = new Map<number, number>();
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) continue;
    values.set(reward, (values.get(reward) ?? 0) + 1);
    if (values.size > mostValues) return barsBetween(rewards, axis);
  }
  const sorted = [...values].sort(([a], [b]) => a - b);
  return sorted.map(([value, count]) => ({ range: [value, value], count }));
};

const barsBetween = (rewards: Float64Array, axis: Axis): readonly Bar[] => {
  const edges = edgesOf(axis.least, axis.most, axis.of);
  const edge = (at: number): number => edges[at] ?? axis.most;
  const counts = new Float64Array(axis.of);
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) continue;
    let at = cellOf(reward, axis);
    // The edges decide, however a share is rounded.
    while (at > 0 && reward < edge(at)) at--;
    while (at < axis.of - 1 && reward >= edge(at + 1)) at++;
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return Array.from(counts, (count, at) => ({
    range: at === axis.of - 1 ? [edge(at), axis.most] : [edge(at), edge(at + 1), "below"],
    count,
  }));
};

interface Axis {
  readonly least: number;
  readonly most: number;
  readonly of: number;
}

const cellOf = (value: number, { least, most, of }: Axis): number =>
  most === least ? 0 : Math.min(of - 1, Math.floor(shareIn(value, least, most) * of));

/** Dots of all groups that were measured: those whose means and spreads are close are one. */
export const dotsOf = ({ mean, spread, count }: Pick<Measures, "mean" | "spread" | "count">): readonly Dot[] => {
  const axes = { mean: axisOf(mean, cells.mean), spread: axisOf(spread, cells.spread) };
  const dots = new Map<number, { -readonly [Key in keyof Dot]: Dot[Key] }>();
  for (let group = 0; group < count; group++) {
    const [x, y] = [mean[group] ?? Number.NaN, spread[group] ?? Number.NaN];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const key = cellOf(x, axes.mean) * cells.spread + cellOf(y, axes.spread);
    const dot = dots.get(key);
    if (dot === undefined) dots.set(key, { mean: [x, x], spread: [y, y], groups: 1 });
    else {
      dot.mean = [Math.min(dot.mean[0], x), Math.max(dot.mean[1], x)];
      dot.spread = [Math.min(dot.spread[0], y), Math.max(dot.spread[1], y)];
      dot.groups++;
    }
  }
  return [...dots.values()];
};

const axisOf = (values: Float64Array, of: number): Axis => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return { least, most, of };
};
