/** What is known of a group as a whole: whether its rewards differ, and by how much (src/groups/metrics/sums.ts). */
import { deviationSeries } from "../src/check/kernel/layout";
import { rewardTolerance } from "../src/groups/metrics/constants";
import { addToMean } from "./series";

/** Groups since `clearGroups`, and those whose rewards differ. */
export let groupSum: u32 = 0;
export let trainableSum: u32 = 0;

export function clearGroups(): void {
  groupSum = 0;
  trainableSum = 0;
}

/** Magnitudes whose squares, and what their rounding leaves out, are doubles: from 2^-400 to 2^400. */
const largest: f64 = 2.5822498780869086e120;
const smallest: f64 = 3.8725919148493183e-121;

/** Whether rewards are all of such magnitudes; the deviation of others is for JavaScript. */
export function areUsual(rewards: usize, count: u32): bool {
  for (let at = rewards; at < rewards + (usize(count) << 3); at += 8) {
    const size = abs(load<f64>(at));
    if (size > largest || (size < smallest && size !== 0)) return false;
  }
  return true;
}

/** Adds a group with these rewards; whether there are several, no further apart than what is taken for equal. */
export function closeGroup(rewards: usize, count: u32): bool {
  groupSum++;
  if (count < 2) return false;
  let least = Infinity;
  let most = -Infinity;
  let sum: f64 = 0;
  for (let at = rewards; at < rewards + (usize(count) << 3); at += 8) {
    const reward = load<f64>(at);
    if (reward < least) least = reward;
    if (reward > most) most = reward;
    sum += reward;
  }
  addToMean(deviationSeries, least === most ? 0 : deviationFrom(rewards, count, sum / f64(count)));
  const areEqual = most - least <= rewardTolerance;
  if (!areEqual) trainableSum++;
  return areEqual;
}

/** √(n·Σd² − (Σd)²) / n, of the distances from about the mean. */
function deviationFrom(rewards: usize, count: u32, middle: f64): f64 {
  let sum: f64 = 0;
  let sumLow: f64 = 0;
  let squares: f64 = 0;
  let squaresLow: f64 = 0;
  for (let at = rewards; at < rewards + (usize(count) << 3); at += 8) {
    const value = load<f64>(at);
    const high = value - middle;
    const low = lowOf(value, -middle);
    sumLow += lowOf(sum, high) + low;
    sum += high;
    const square = high * high;
    const squareLow = productLow(high, high, square) + 2 * high * low;
    squaresLow += lowOf(squares, square) + squareLow;
    squares += square;
  }
  const all = squares * f64(count);
  const allLow = productLow(squares, f64(count), all) + squaresLow * f64(count);
  const taken = sum * sum;
  const takenLow = productLow(sum, sum, taken) + 2 * sum * sumLow;
  return rootOver(all - taken, lowOf(all, -taken) + allLow - takenLow, f64(count));
}

/** √(high + low) / count in twice the precision of a double, then rounded. */
function rootOver(high: f64, low: f64, count: f64): f64 {
  const root = sqrt(high);
  const square = root * root;
  const rest = (high - square - productLow(root, root, square) + low) / (2 * root);
  const quotient = root / count;
  const product = quotient * count;
  return quotient + (root - product - productLow(quotient, count, product) + rest) / count;
}

/** What the rounding of a + b leaves out (Knuth's two-sum). */
function lowOf(a: f64, b: f64): f64 {
  const sum = a + b;
  const part = sum - a;
  return a - (sum - part) + (b - part);
}

/** Veltkamp's constant: splits a double into two halves whose products are exact. */
const splitter: f64 = 134217729;

/** What the rounding of a · b to a product leaves out (Dekker). */
function productLow(a: f64, b: f64, product: f64): f64 {
  const aHigh = splitter * a - (splitter * a - a);
  const bHigh = splitter * b - (splitter * b - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}
