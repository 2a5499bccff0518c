/** The rewards of one source: their distribution, and those at both ends. */
import { addTo, mergeSketch, newSketch, type Sketch } from "./sketch.ts";

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

/** Rewards kept at each end. */
const kept = 16;

/** Adds the finite reward of a trajectory. */
export const lookAtReward = (
  { rewards, smallest, largest }: Extremes,
  reward: number,
  part: number,
  trajectory: number,
): void => {
  addTo(rewards, reward);
  const [least, most] = [smallest[kept - 1]?.reward ?? Number.NaN, largest[kept - 1]?.reward ?? Number.NaN];
  if (reward >= least && reward <= most) return;
  insert(smallest, { reward, part, trajectory }, 1);
  insert(largest, { reward, part, trajectory }, -1);
};

/** Inserts a reward after equal ones: in ascending order, or with the sign -1 in descending order. */
const insert = (list: PlacedReward[], placed: PlacedReward, sign: 1 | -1): void => {
  const after = list.findIndex(({ reward }) => sign * placed.reward < sign * reward);
  list.splice(after < 0 ? list.length : after, 0, placed);
  if (list.length > kept) list.pop();
};

/** Adds those of a later range, whose first part has a position. */
export const mergeExtremes = (into: Extremes, from: Extremes, firstPart: number): void => {
  mergeSketch(into.rewards, from.rewards);
  const moved = (placed: PlacedReward): PlacedReward => ({ ...placed, part: placed.part + firstPart });
  for (const placed of from.smallest) insert(into.smallest, moved(placed), 1);
  for (const placed of from.largest) insert(into.largest, moved(placed), -1);
};
