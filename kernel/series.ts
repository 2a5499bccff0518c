/**
 * Numbers of one kind as they come: their exact sum (src/groups/metrics/sums.ts) and their distribution
 * (src/groups/metrics/sketch.ts), until JavaScript adds them to its own.
 */
import {
  bucketsAt,
  countAt,
  differentAt,
  leastAt,
  limbsAt,
  meanAt,
  mostAt,
  mostSeries,
  mostSketched,
  seriesBytes,
  squaresAt,
  tableAt,
  timesAt,
  valuesAt,
} from "../src/check/kernel/layout";
import {
  bucketBits,
  bucketCount,
  bucketsOfSide,
  bucketsPerOctave,
  exponentBias,
  leastExponent,
  mostValues,
} from "../src/groups/metrics/constants";

const series: usize = memory.data(seriesBytes * mostSeries, 8);

export function seriesOf(index: u32): usize {
  return series + usize(index) * usize(seriesBytes);
}

/** How many of the series are used. */
let seriesUsed: u32 = 0;

/** Adds a number to a series. */
export function addTo(index: u32, value: f64): void {
  addToMean(index, value);
  const at = seriesOf(index);
  if (index < u32(mostSketched)) addToSketch(at, value, f64(load<u32>(at, countAt)));
}

/** Adds a number to a series of which nothing but the mean is wanted. */
export function addToMean(index: u32, value: f64): void {
  const at = seriesOf(index);
  store<u32>(at, load<u32>(at, countAt) + 1, countAt);
  if (index >= seriesUsed) seriesUsed = index + 1;
  addToSum(at, value);
}

function addToSum(at: usize, value: f64): void {
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

/** The places of the table of values: twice as many as there are different ones. */
const tableMask: u32 = 127;

function addToSketch(at: usize, value: f64, count: f64): void {
  if (count === 1) {
    store<f64>(at, Infinity, leastAt);
    store<f64>(at, -Infinity, mostAt);
  }
  if (value < load<f64>(at, leastAt)) store<f64>(at, value, leastAt);
  if (value > load<f64>(at, mostAt)) store<f64>(at, value, mostAt);
  const step = value - load<f64>(at, meanAt);
  const mean = load<f64>(at, meanAt) + step / count;
  store<f64>(at, mean, meanAt);
  store<f64>(at, load<f64>(at, squaresAt) + step * (value - mean), squaresAt);
  const buckets = usize(load<u32>(at, bucketsAt));
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
  const different = load<u32>(at, differentAt);
  if (different === u32(mostValues)) {
    countBucket(toBuckets(at), own, 1);
    return;
  }
  store<u32>(at, different + 1, differentAt);
  store<f64>(at + valuesAt + (usize(different) << 3), own);
  store<u32>(at + timesAt + (usize(different) << 2), 1);
  store<u8>(at + tableAt + usize(slot), u8(different + 1));
}

const buckets: usize = memory.data(4 * bucketCount * mostSketched, 8);
let bucketsUsed: usize = 0;

function toBuckets(at: usize): usize {
  const own = buckets + bucketsUsed++ * usize(bucketCount * 4);
  store<u32>(at, u32(own), bucketsAt);
  const different = load<u32>(at, differentAt);
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
  const at = i32((top & 0x7fffffff) >> u32(bucketBits)) - (exponentBias + leastExponent) * bucketsPerOctave;
  if (at < 0) return bucketsOfSide;
  const near = min(at, bucketsOfSide - 1);
  return value < 0 ? bucketsOfSide - 1 - near : bucketsOfSide + 1 + near;
}

/** Begins anew. */
export function clearSeries(): void {
  memory.fill(series, 0, usize(seriesUsed) * usize(seriesBytes));
  memory.fill(buckets, 0, bucketsUsed * usize(bucketCount * 4));
  seriesUsed = 0;
  bucketsUsed = 0;
}
