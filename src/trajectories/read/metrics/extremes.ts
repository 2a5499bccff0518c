/** The largest and smallest rewards with their places: a bounded number, so that one far outside can be shown. */

import { keptExtremes } from "./constants.ts";

/** A reward, and the trajectory that has it. */
export interface PlacedReward {
  readonly reward: number;
  /** Position of its part, and of the trajectory in that. */
  readonly part: number;
  readonly trajectory: number;
}

/** The smallest rewards, the smallest first, and the largest ones, the largest first. */
export interface Extremes {
  smallest: PlacedReward[];
  largest: PlacedReward[];
}

/** Extremes of nothing. */
export const newExtremes = (): Extremes => ({ smallest: [], largest: [] });

/** Adds a reward where it is one of the smallest or largest. */
export const addExtreme = (extremes: Extremes, placed: PlacedReward): void => {
  insert(extremes.smallest, placed, (a, b) => a.reward < b.reward);
  insert(extremes.largest, placed, (a, b) => a.reward > b.reward);
};

const insert = (
  list: PlacedReward[],
  placed: PlacedReward,
  goesBefore: (a: PlacedReward, b: PlacedReward) => boolean,
): void => {
  const last = list.at(-1);
  if (list.length === keptExtremes && last !== undefined && !goesBefore(placed, last)) return;
  let at = list.length;
  for (let before = list[at - 1]; before !== undefined && goesBefore(placed, before); before = list[at - 1]) at--;
  list.splice(at, 0, placed);
  if (list.length > keptExtremes) list.pop();
};

/** Adds those of a later range, whose first part has a position. */
export const mergeExtremes = (into: Extremes, from: Extremes, firstPart: number): void => {
  for (const placed of from.smallest) {
    insert(into.smallest, { ...placed, part: placed.part + firstPart }, (a, b) => a.reward < b.reward);
  }
  for (const placed of from.largest) {
    insert(into.largest, { ...placed, part: placed.part + firstPart }, (a, b) => a.reward > b.reward);
  }
};
