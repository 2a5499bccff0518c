/** The deviation of rewards, to the last digit what src/trajectories/read/metrics/sums.ts makes of them. */

/** Magnitudes whose squares, and what their rounding leaves out, are doubles: 2^400 and 2^-400. */
const largest: f64 = reinterpret<f64>(u64(1023 + 400) << 52);
const smallest: f64 = reinterpret<f64>(u64(1023 - 400) << 52);

/** Population standard deviation of doubles that stand in a row; NaN where it is left to others. */
export function deviationOf(values: usize, count: u32): f64 {
  const end = values + (usize(count) << 3);
  const first = load<f64>(values);
  let sum: f64 = 0;
  let equal = true;
  for (let at = values; at < end; at += 8) {
    const value = load<f64>(at);
    const size = abs(value);
    if (value !== first) equal = false;
    if (size > largest || (size < smallest && size !== 0)) return NaN;
    sum += value;
  }
  return equal ? 0 : usualDeviation(values, end, f64(count), sum / f64(count));
}

/** What the rounding of the last sum or product left out. */
let low: f64 = 0;

function usualDeviation(values: usize, end: usize, count: f64, middle: f64): f64 {
  let sum: f64 = 0;
  let sumLow: f64 = 0;
  let squares: f64 = 0;
  let squaresLow: f64 = 0;
  for (let at = values; at < end; at += 8) {
    const distance = twoSum(load<f64>(at), -middle);
    const distanceLow = low;
    sum = twoSum(sum, distance);
    sumLow += low + distanceLow;
    const square = product(distance, distance);
    const squareLow = low + 2 * distance * distanceLow;
    squares = twoSum(squares, square);
    squaresLow += low + squareLow;
  }
  const all = product(squares, count);
  const allLow = low + squaresLow * count;
  const taken = product(sum, sum);
  const takenLow = low + 2 * sum * sumLow;
  const high = twoSum(all, -taken);
  return rootOver(high, low + allLow - takenLow, count);
}

function twoSum(a: f64, b: f64): f64 {
  const high = a + b;
  const part = high - a;
  low = a - (high - part) + (b - part);
  return high;
}

function rootOver(high: f64, highLow: f64, count: f64): f64 {
  const root = sqrt(high);
  const square = product(root, root);
  const rest = (high - square - low + highLow) / (2 * root);
  const quotient = root / count;
  const back = product(quotient, count);
  return quotient + (root - back - low + rest) / count;
}

/** Splits a double into two halves whose products are exact: 2^27 + 1. */
const splitter: f64 = 134217729;

function product(a: f64, b: f64): f64 {
  const value = a * b;
  const aHigh = splitter * a - (splitter * a - a);
  const bHigh = splitter * b - (splitter * b - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  low = aLow * bLow - (value - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
  return value;
}
