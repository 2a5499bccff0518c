/**
 * Numbers of one kind as they come: their exact sum (src/trajectories/read/metrics/exact.ts) and their distribution
 * (src/trajectories/read/metrics/sketch.ts), until JavaScript puts them to its own.
 *
 * A series, in bytes: 0 count; 4 different values; 8 least, 16 most, 24 mean, 32 squares; 40 the sum of whole numbers;
 * 48 whether there are limbs, 52 where the buckets are; 56 limbs; 608 values and 1120 how often each came; 1376 a table
 * of the values' places.
 */

const seriesBytes: usize = 1536;
const limbsAt: usize = 56;
const valuesAt: usize = 608;
const timesAt: usize = 1120;
const tableAt: usize = 1376;

/** Series of which there is a sum; the first ones have a distribution too. */
const mostSeries: u32 = 1028;
const mostSketched: u32 = 206;

const series: usize = memory.data(1536 * 1028, 8);

export function seriesOf(index: u32): usize {
  return series + usize(index) * seriesBytes;
}

/** How many of the series are used. */
export let seriesUsed: u32 = 0;

/** Adds a number to a series. */
export function addTo(index: u32, value: f64): void {
  const at = seriesOf(index);
  const count = load<u32>(at) + 1;
  store<u32>(at, count);
  if (index >= seriesUsed) seriesUsed = index + 1;
  addToSum(at, value);
  if (index < mostSketched) addToSketch(at, value, f64(count));
}

/** Whole numbers up to here, and their sums, are doubles. */
const largestWhole: f64 = 9007199254740991;

function addToSum(at: usize, value: f64): void {
  if (trunc(value) === value && abs(value) <= largestWhole) {
    const whole = load<f64>(at, 40) + value;
    if (abs(whole) <= largestWhole) {
      store<f64>(at, whole, 40);
      return;
    }
  }
  store<u32>(at, 1, 48);
  const bits = reinterpret<u64>(value);
  const exponent = u32(bits >> 52) & 0x7ff;
  const fraction = bits & 0xfffffffffffff;
  const mantissa = exponent === 0 ? fraction : fraction | 0x10000000000000;
  const position = exponent === 0 ? 0 : exponent - 1;
  const shift = u64(position & 31);
  // 53 bits, shifted by 31 at most, go over three limbs of 32.
  const low = (mantissa << shift) & 0xffffffff;
  const rest = shift === 0 ? mantissa >> 32 : mantissa >> (32 - shift);
  const limb = at + limbsAt + (usize(position >> 5) << 3);
  if (bits >> 63 === 0) {
    store<i64>(limb, load<i64>(limb) + i64(low));
    store<i64>(limb, load<i64>(limb, 8) + i64(rest & 0xffffffff), 8);
    store<i64>(limb, load<i64>(limb, 16) + i64(rest >> 32), 16);
  } else {
    store<i64>(limb, load<i64>(limb) - i64(low));
    store<i64>(limb, load<i64>(limb, 8) - i64(rest & 0xffffffff), 8);
    store<i64>(limb, load<i64>(limb, 16) - i64(rest >> 32), 16);
  }
}

/** Limbs of 32 bits that a sum has, the first of which begins at 2^-1074. */
const limbCount: usize = 69;

/** Makes doubles of the limbs of a sum, so small that they are whole. */
function carry(at: usize): void {
  let over: i64 = 0;
  for (let limb: usize = 0; limb < limbCount; limb++) {
    const place = at + limbsAt + (limb << 3);
    const own = load<i64>(place) + over;
    over = limb === limbCount - 1 ? 0 : own >> 32;
    store<f64>(place, f64(own - (over << 32)));
  }
}

/** Different values that are counted one by one, and the places of their table. */
const mostValues: u32 = 64;
const tableMask: u32 = 127;

function addToSketch(at: usize, value: f64, count: f64): void {
  if (count === 1) {
    store<f64>(at, Infinity, 8);
    store<f64>(at, -Infinity, 16);
  }
  if (value < load<f64>(at, 8)) store<f64>(at, value, 8);
  if (value > load<f64>(at, 16)) store<f64>(at, value, 16);
  const step = value - load<f64>(at, 24);
  const mean = load<f64>(at, 24) + step / count;
  store<f64>(at, mean, 24);
  store<f64>(at, load<f64>(at, 32) + step * (value - mean), 32);
  const buckets = usize(load<u32>(at, 52));
  if (buckets === 0) countValue(at, value);
  else countBucket(buckets, value, 1);
}

function countValue(at: usize, value: f64): void {
  // Adding nought makes a nought of a negative one: they are the same value.
  const own = value + 0;
  const bits = reinterpret<u64>(own) * 0x9e3779b1;
  let slot = u32((bits >> 32) ^ (bits >> 52) ^ bits) & tableMask;
  while (true) {
    const place = load<u8>(at + tableAt + usize(slot));
    if (place === 0) break;
    const index = usize(place - 1);
    if (load<f64>(at + valuesAt + (index << 3)) === own) {
      const times = at + timesAt + (index << 2);
      store<u32>(times, load<u32>(times) + 1);
      return;
    }
    slot = (slot + 1) & tableMask;
  }
  const different = load<u32>(at, 4);
  if (different === mostValues) {
    countBucket(toBuckets(at), own, 1);
    return;
  }
  store<u32>(at, different + 1, 4);
  store<f64>(at + valuesAt + (usize(different) << 3), own);
  store<u32>(at + timesAt + (usize(different) << 2), 1);
  store<u8>(at + tableAt + usize(slot), u8(different + 1));
}

/** Buckets as src/trajectories/read/metrics/sketch.ts has them. */
const bucketsPerOctave: i32 = 64;
const bucketBits: u32 = 14;
const leastExponent: i32 = -32;
const side: i32 = 96 * 64;
const bucketCount: usize = 2 * 96 * 64 + 1;
const exponentBias: i32 = 1023;

const buckets: usize = memory.data(4 * (2 * 96 * 64 + 1) * 206, 8);
let bucketsUsed: usize = 0;

function toBuckets(at: usize): usize {
  const own = buckets + bucketsUsed++ * bucketCount * 4;
  store<u32>(at, u32(own), 52);
  const different = load<u32>(at, 4);
  for (let index: usize = 0; index < usize(different); index++) {
    countBucket(own, load<f64>(at + valuesAt + (index << 3)), load<u32>(at + timesAt + (index << 2)));
  }
  return own;
}

function countBucket(own: usize, value: f64, times: u32): void {
  const at = own + (usize(bucketOf(value)) << 2);
  store<u32>(at, load<u32>(at) + times);
}

function bucketOf(value: f64): i32 {
  const top = u32(reinterpret<u64>(value) >> 32);
  const at = i32((top & 0x7fffffff) >> bucketBits) - (exponentBias + leastExponent) * bucketsPerOctave;
  if (at < 0) return side;
  const near = min(at, side - 1);
  return value < 0 ? side - 1 - near : side + 1 + near;
}

/** Makes all series ready to be looked at: nothing is added any more before `clearSeries`. */
export function closeSeries(): void {
  for (let index: u32 = 0; index < seriesUsed; index++) carry(seriesOf(index));
}

/** Begins anew. */
export function clearSeries(): void {
  memory.fill(series, 0, usize(seriesUsed) * seriesBytes);
  memory.fill(buckets, 0, bucketsUsed * bucketCount * 4);
  seriesUsed = 0;
  bucketsUsed = 0;
}

/** Series of what is known by its place: those of metrics follow in the order of their names. */
export const rewardSeries: u32 = 0;
export const turnSeries: u32 = 1;
export const characterSeries: u32 = 2;
export const deviationSeries: u32 = 3;
export const metricSeries: u32 = 4;

/** Metrics that there are series for. */
export const mostMetricNames: u32 = mostSeries - metricSeries;
