/** Distributions of rewards, lengths and metrics for people, and the rewards at the ends: plain data that is merged. */
import type { Trajectory } from "../../contract/log.ts";
import { mostMetricsPictured } from "./constants.ts";
import { isCalculated, metricValue } from "./metrics.ts";
import { addTo, mergeSketch, newSketch, type Sketch } from "./sketch.ts";

/** What the policy sampled: trainers learn from it. */
export interface Sampled {
  choices: number;
  /** Choices that have logprobs. */
  scored: number;
  /** Trajectories that have a choice. */
  trajectories: number;
}

/** Distributions over the valid trajectories. */
export interface Picture {
  readonly rewards: Sketch;
  /** Messages and choices of a trajectory. */
  readonly turns: Sketch;
  /** Characters of their content. */
  readonly characters: Sketch;
  readonly sampled: Sampled;
  readonly metrics: Map<string, Sketch>;
}

/** A picture of nothing. */
export const newPicture = (): Picture => ({
  rewards: newSketch(),
  turns: newSketch(),
  characters: newSketch(),
  sampled: { choices: 0, scored: 0, trajectories: 0 },
  metrics: new Map(),
});

/** Adds a trajectory's reward, its lengths, and what was sampled of it. */
export const addLengths = (
  picture: Picture,
  {
    reward,
    turns,
    characters,
    choices,
    scored,
  }: { readonly [Name in "reward" | "turns" | "characters" | "choices" | "scored"]: number },
): void => {
  if (Number.isFinite(reward)) addTo(picture.rewards, reward);
  addTo(picture.turns, turns);
  addTo(picture.characters, characters);
  addSampled(picture.sampled, { choices, scored, trajectories: Math.min(1, choices) });
};

const addSampled = (into: Sampled, { choices, scored, trajectories }: Readonly<Sampled>): void => {
  into.choices += choices;
  into.scored += scored;
  into.trajectories += trajectories;
};

/** Adds the metrics of a trajectory. */
export const addMetrics = (picture: Picture, metrics: Trajectory["metrics"]): void => {
  for (const key of Object.keys(metrics ?? {})) {
    const value = metricValue(metrics?.[key]);
    const sketch = value === undefined || isCalculated(key) ? undefined : metricOf(picture, key);
    if (value !== undefined && sketch !== undefined) addTo(sketch, value);
  }
};

const metricOf = ({ metrics }: Picture, key: string): Sketch | undefined => {
  const known = metrics.get(key);
  if (known !== undefined || metrics.size >= mostMetricsPictured) return known;
  const sketch = newSketch();
  metrics.set(key, sketch);
  return sketch;
};

/** Adds another picture, which stays as it is. */
export const mergePicture = (into: Picture, from: Picture): void => {
  mergeSketch(into.rewards, from.rewards);
  mergeSketch(into.turns, from.turns);
  mergeSketch(into.characters, from.characters);
  addSampled(into.sampled, from.sampled);
  for (const [key, sketch] of from.metrics) {
    const own = metricOf(into, key);
    if (own !== undefined) mergeSketch(own, sketch);
  }
};

/** A reward, and the trajectory that has it. */
interface PlacedReward {
  readonly reward: number;
  /** Position of its part, and of the trajectory in that. */
  readonly part: number;
  readonly trajectory: number;
}

/** The rewards of a source: what is usual there is known of each source alone. */
export interface Extremes {
  readonly rewards: Sketch;
  /** The smallest rewards, the smallest first, and the largest ones, the largest first. */
  readonly smallest: PlacedReward[];
  readonly largest: PlacedReward[];
}

/** Extremes of nothing. @param maxValues different rewards up to which each is counted */
export const newExtremes = (maxValues?: number): Extremes => ({
  rewards: newSketch(maxValues),
  smallest: [],
  largest: [],
});

/** Adds the finite reward of a trajectory. */
export const lookAtReward = (extremes: Extremes, reward: number, part: number, trajectory: number): void => {
  addTo(extremes.rewards, reward);
  addExtreme(extremes, reward, part, trajectory);
};

/** Rewards kept at each end. */
const kept = 16;

/** True if rewards between two may be one of the smallest or largest so far. */
export const mayHold = ({ smallest, largest }: Extremes, least: number, most: number): boolean =>
  !(least >= (smallest[kept - 1]?.reward ?? Number.NaN) && most <= (largest[kept - 1]?.reward ?? Number.NaN));

/** Adds a reward if it is one of the smallest or largest. */
export const addExtreme = (extremes: Extremes, reward: number, part: number, trajectory: number): void => {
  if (!mayHold(extremes, reward, reward)) return;
  insert(extremes.smallest, { reward, part, trajectory }, isSmaller);
  insert(extremes.largest, { reward, part, trajectory }, isLarger);
};

const isSmaller = (a: PlacedReward, b: PlacedReward): boolean => a.reward < b.reward;
const isLarger = (a: PlacedReward, b: PlacedReward): boolean => a.reward > b.reward;

const insert = (
  list: PlacedReward[],
  placed: PlacedReward,
  goesBefore: (a: PlacedReward, b: PlacedReward) => boolean,
): void => {
  const last = list.at(-1);
  if (list.length === kept && last !== undefined && !goesBefore(placed, last)) return;
  let at = list.length;
  for (let before = list[at - 1]; before !== undefined && goesBefore(placed, before); before = list[at - 1]) at--;
  list.splice(at, 0, placed);
  if (list.length > kept) list.pop();
};

/** Adds those of a later range, whose first part has a position. */
export const mergeExtremes = (into: Extremes, from: Extremes, firstPart: number): void => {
  mergeSketch(into.rewards, from.rewards);
  const moved = (placed: PlacedReward): PlacedReward => ({ ...placed, part: placed.part + firstPart });
  for (const placed of from.smallest) insert(into.smallest, moved(placed), isSmaller);
  for (const placed of from.largest) insert(into.largest, moved(placed), isLarger);
};
