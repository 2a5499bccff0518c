/** Distributions in bounded memory as plain data, merged in any order. */

/** Distinct values that are counted exactly. */
const maxExactValues = 64;

/** Buckets per doubling: an error below 1/128. */
const bucketsPerOctave = 64;
const bucketBits = 14;

/** Magnitudes from 2^-32 to 2^64 have buckets; smaller ones count as 0, larger ones as the largest. */
const minExponent = -32;
const bucketsOfSide = 96 * bucketsPerOctave;
const bucketCount = 2 * bucketsOfSide + 1;

const exponentBias = 1023;

export interface Sketch {
  count: number;
  least: number;
  most: number;
  /** Running mean and sum of squared distances, for display only. */
  mean: number;
  squares: number;
  /** Distinct values that are counted exactly. */
  readonly maxValues: number;
  /** Counts by value, while there are few distinct ones. */
  values: Map<number, number> | undefined;
  /** Counts by bucket otherwise. */
  buckets: Uint32Array | undefined;
}

/**
 * A sketch of nothing. Mean and squares are negative zeros, which are no whole numbers to V8: it compiles again what uses an
 * object whose whole numbers become doubles.
 */
export const newSketch = (maxValues = maxExactValues): Sketch => ({
  maxValues,
  count: 0,
  least: Number.POSITIVE_INFINITY,
  most: Number.NEGATIVE_INFINITY,
  mean: -0,
  squares: -0,
  values: new Map(),
  buckets: undefined,
});

/** Adds a finite number; -0 counts as 0. */
export const addToSketch = (sketch: Sketch, given: number): void => {
  const value = given + 0;
  sketch.count++;
  if (value < sketch.least) sketch.least = value;
  if (value > sketch.most) sketch.most = value;
  const step = value - sketch.mean;
  sketch.mean += step / sketch.count;
  sketch.squares += step * (value - sketch.mean);
  count(sketch, value, 1);
};

const count = (sketch: Sketch, value: number, times: number): void => {
  const { values, buckets } = sketch;
  if (buckets !== undefined) {
    const at = bucketOf(value);
    buckets[at] = (buckets[at] ?? 0) + times;
  } else if (values !== undefined) {
    values.set(value, (values.get(value) ?? 0) + times);
    if (values.size > sketch.maxValues) toBuckets(sketch);
  }
};

const toBuckets = (sketch: Sketch): void => {
  const { values } = sketch;
  sketch.values = undefined;
  sketch.buckets = new Uint32Array(bucketCount);
  for (const [value, times] of values ?? []) count(sketch, value, times);
};

export const mergeSketch = (into: Sketch, from: Sketch): void => {
  if (from.count === 0) return;
  const total = into.count + from.count;
  const step = from.mean - into.mean;
  into.squares += from.squares + (step * step * into.count * from.count) / total;
  into.mean += step * (from.count / total);
  into.count = total;
  into.least = Math.min(into.least, from.least);
  into.most = Math.max(into.most, from.most);
  if (from.buckets !== undefined && into.buckets === undefined) toBuckets(into);
  for (const [value, times] of from.values ?? []) count(into, value, times);
  if (from.buckets === undefined || into.buckets === undefined) return;
  for (let at = bucketOf(from.least); at <= bucketOf(from.most); at++) {
    into.buckets[at] = (into.buckets[at] ?? 0) + (from.buckets[at] ?? 0);
  }
};

const double = new DataView(new ArrayBuffer(8));

const bucketOf = (value: number): number => {
  double.setFloat64(0, value);
  const at = ((double.getUint32(0) & 0x7fffffff) >>> bucketBits) - (exponentBias + minExponent) * bucketsPerOctave;
  if (at < 0) return bucketsOfSide;
  const distance = 1 + Math.min(at, bucketsOfSide - 1);
  return value < 0 ? bucketsOfSide - distance : bucketsOfSide + distance;
};

const bucketMiddle = (bucket: number): number => {
  if (bucket === bucketsOfSide) return 0;
  const at = Math.abs(bucket - bucketsOfSide) - 1;
  const octave = Math.floor(at / bucketsPerOctave);
  const size = 2 ** (minExponent + octave) * (1 + ((at % bucketsPerOctave) + 0.5) / bucketsPerOctave);
  return bucket > bucketsOfSide ? size : -size;
};

/** A value, or the middle of a bucket, and its count. */
interface Weight {
  readonly value: number;
  readonly count: number;
}

/** Returns the values of a sketch in ascending order. */
export const toWeights = ({ values, buckets, least, most }: Sketch): readonly Weight[] => {
  if (values !== undefined) {
    return Array.from(values, ([value, count]) => ({ value, count })).sort((a, b) => a.value - b.value);
  }
  const weights: Weight[] = [];
  for (const [bucket, count] of buckets?.entries() ?? []) {
    if (count > 0) weights.push({ value: Math.min(most, Math.max(least, bucketMiddle(bucket))), count });
  }
  return weights;
};

export const countWeights = (weights: readonly Weight[]): number => weights.reduce((sum, { count }) => sum + count, 0);

/** Returns the value below which a share of ascending weights lies; 0 if there are none. */
export const quantile = (weights: readonly Weight[], share: number): number =>
  weightedValueAt(weights, share * countWeights(weights));

/** Returns the median of ascending weights; 0 if there are none. */
export const median = (weights: readonly Weight[]): number => {
  const half = countWeights(weights) / 2;
  const [lower, upper] = [weightedValueAt(weights, half), weightedValueAt(weights, half + 0.5)];
  return lower === upper ? lower : lower / 2 + upper / 2;
};

/** Returns the value of a rank. */
const weightedValueAt = (weights: readonly Weight[], many: number): number => {
  let passed = 0;
  const found = weights.find(({ count }) => {
    passed += count;
    return passed >= many;
  });
  return (found ?? weights.at(-1))?.value ?? 0;
};

export const sketchDeviation = ({ count, squares }: Sketch): number =>
  count === 0 ? 0 : Math.sqrt(Math.max(0, squares) / count);

/** A reward, its part, and the index of its trajectory. */
interface LocatedReward {
  readonly reward: number;
  readonly part: number;
  readonly trajectory: number;
}

/** The rewards of one source. */
export interface RewardExtremes {
  readonly rewards: Sketch;
  /** Ascending, and descending. */
  readonly smallest: LocatedReward[];
  readonly largest: LocatedReward[];
}

/** @param maxValues distinct rewards that are counted exactly */
export const newExtremes = (maxValues?: number): RewardExtremes => ({
  rewards: newSketch(maxValues),
  smallest: [],
  largest: [],
});

const maxExtremes = 16;

export const addReward = (extremes: RewardExtremes, reward: number, part: number, trajectory: number): void => {
  const { rewards, smallest, largest } = extremes;
  addToSketch(rewards, reward);
  const [least, most] = [
    smallest[maxExtremes - 1]?.reward ?? Number.NaN,
    largest[maxExtremes - 1]?.reward ?? Number.NaN,
  ];
  if (!(reward >= least && reward <= most)) insertExtreme(extremes, { reward, part, trajectory });
};

/** Inserts after equal rewards. */
const insertExtreme = ({ smallest, largest }: RewardExtremes, placed: LocatedReward): void => {
  for (const [list, sign] of [[smallest, 1] as const, [largest, -1] as const]) {
    const after = list.findIndex(({ reward }) => sign * placed.reward < sign * reward);
    list.splice(after < 0 ? list.length : after, 0, placed);
    if (list.length > maxExtremes) list.pop();
  }
};

/** Adds extremes of a later range that starts at a part. */
export const mergeExtremes = (into: RewardExtremes, from: RewardExtremes, firstPart: number): void => {
  mergeSketch(into.rewards, from.rewards);
  const kept = new Set([...from.smallest, ...from.largest]);
  for (const placed of kept) insertExtreme(into, { ...placed, part: placed.part + firstPart });
};
