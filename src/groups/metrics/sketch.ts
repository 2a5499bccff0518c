/** Distributions in bounded memory, as plain data: added to value by value, merged part by part, whatever the order. */

/** Different values that a distribution counts one by one: most rewards are a few. */
const maxExactValues = 64;

/** Buckets of each doubling: a value is off by less than one in a hundred and twenty-eight. */
const bucketsPerOctave = 64;
const bucketBits = 14;

/** Magnitudes that have buckets of their own: 2^-32 to 2^64; smaller ones are 0, larger ones the largest. */
const minExponent = -32;
const bucketsOfSide = 96 * bucketsPerOctave;
const bucketCount = 2 * bucketsOfSide + 1;

/** What is added to the exponent of a double. */
const exponentBias = 1023;

export interface Sketch {
  count: number;
  least: number;
  most: number;
  /** Running mean, and the sum of squared distances from it: for people, not for metrics. */
  mean: number;
  squares: number;
  /** Different values up to which each is counted. */
  readonly maxValues: number;
  /** How often each value came, as long as there are few different ones. */
  values: Map<number, number> | undefined;
  /** How often a value of each bucket came, once there are many. */
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

/** Adds a finite number; a negative zero is a zero. */
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

/** Adds another sketch, which stays as it is. */
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

/** A value, or the middle of values that are nearly equal, and how often it came. */
interface Weight {
  readonly value: number;
  readonly count: number;
}

/** The values of a sketch in their order: exact ones where there are few. */
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

/** How many values weights are. */
export const countWeights = (weights: readonly Weight[]): number => weights.reduce((sum, { count }) => sum + count, 0);

/** The value that a share of weights in their order is below; 0 if there are none. */
export const quantile = (weights: readonly Weight[], share: number): number =>
  weightedValueAt(weights, share * countWeights(weights));

/** The value in the middle of weights in their order, or what is between the two in the middle; 0 of none. */
export const median = (weights: readonly Weight[]): number => {
  const half = countWeights(weights) / 2;
  const [lower, upper] = [weightedValueAt(weights, half), weightedValueAt(weights, half + 0.5)];
  return lower === upper ? lower : lower / 2 + upper / 2;
};

/** The first value up to which there are so many values. */
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

/** A reward, and the trajectory that has it: the position of its part, and its own in that. */
interface LocatedReward {
  readonly reward: number;
  readonly part: number;
  readonly trajectory: number;
}

/** The rewards of one source: what is usual there is known of each source alone. */
export interface RewardExtremes {
  readonly rewards: Sketch;
  /** The smallest rewards, the smallest first, and the largest ones, the largest first. */
  readonly smallest: LocatedReward[];
  readonly largest: LocatedReward[];
}

/** Extremes of nothing. @param maxValues different rewards up to which each is counted */
export const newExtremes = (maxValues?: number): RewardExtremes => ({
  rewards: newSketch(maxValues),
  smallest: [],
  largest: [],
});

const maxExtremes = 16;

/** Adds the finite reward of a trajectory. */
export const addReward = (extremes: RewardExtremes, reward: number, part: number, trajectory: number): void => {
  const { rewards, smallest, largest } = extremes;
  addToSketch(rewards, reward);
  const [least, most] = [
    smallest[maxExtremes - 1]?.reward ?? Number.NaN,
    largest[maxExtremes - 1]?.reward ?? Number.NaN,
  ];
  if (!(reward >= least && reward <= most)) insertExtreme(extremes, { reward, part, trajectory });
};

/** Inserts a reward after equal ones. */
const insertExtreme = ({ smallest, largest }: RewardExtremes, placed: LocatedReward): void => {
  for (const [list, sign] of [[smallest, 1] as const, [largest, -1] as const]) {
    const after = list.findIndex(({ reward }) => sign * placed.reward < sign * reward);
    list.splice(after < 0 ? list.length : after, 0, placed);
    if (list.length > maxExtremes) list.pop();
  }
};

/** Adds those of a later range, whose first part has a position. */
export const mergeExtremes = (into: RewardExtremes, from: RewardExtremes, firstPart: number): void => {
  mergeSketch(into.rewards, from.rewards);
  const kept = new Set([...from.smallest, ...from.largest]);
  for (const placed of kept) insertExtreme(into, { ...placed, part: placed.part + firstPart });
};
