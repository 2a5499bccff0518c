/** Whether rewards are among the smallest or largest so far (src/trajectories/read/metrics/picture.ts keeps these, with their places). */
import { keptExtremes } from "../src/trajectories/read/metrics/constants";

/** The smallest, the smallest first, and the largest, the largest first: those that there are. */
const smallest: usize = memory.data(8 * keptExtremes, 8);
const largest: usize = memory.data(8 * keptExtremes, 8);
let count: usize = 0;

export function clearExtremes(): void {
  count = 0;
}

/** Whether a reward is one of the smallest or largest so far; from now on it is counted among them. */
export function isExtreme(reward: f64): bool {
  const isFew = count < usize(keptExtremes);
  const isSmall = isFew || reward < load<f64>(smallest + (usize(keptExtremes - 1) << 3));
  const isLarge = isFew || reward > load<f64>(largest + (usize(keptExtremes - 1) << 3));
  if (isFew) count++;
  // What is not above the others goes among the smallest by its negative.
  if (isSmall) insert(smallest, reward, 1);
  if (isLarge) insert(largest, reward, -1);
  return isSmall || isLarge;
}

/** Puts a reward into its place among the first `count`; the last of them goes. */
function insert(list: usize, reward: f64, sign: f64): void {
  let at = list + ((count - 1) << 3);
  while (at > list && sign * reward < sign * load<f64>(at - 8)) {
    store<f64>(at, load<f64>(at - 8));
    at -= 8;
  }
  store<f64>(at, reward);
}
