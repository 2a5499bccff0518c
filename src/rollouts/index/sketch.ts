/** Collects and merges distributions in bounded memory. */

const maxExactValues = 512;

const [minMagnitude, maxMagnitude] = [2 ** -32, 2 ** 64 - 2 ** 12];

export class Sketch {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  isRounded = false;
  readonly values = new Map<number, { count: number }>();
}

/** Adds a finite number. -0 counts as 0. */
export const addToSketch = (sketch: Sketch, given: number, count = 1) => {
  if (count === 0) return;
  const value = given + 0;
  sketch.count += count;
  if (value < sketch.min) sketch.min = value;
  if (value > sketch.max) sketch.max = value;
  addCount(sketch, value, count);
};

const addCount = (sketch: Sketch, value: number, count: number) => {
  const { values, isRounded } = sketch;
  const key = isRounded ? roundValue(value) : value;
  const known = values.get(key);
  if (known) known.count += count;
  else values.set(key, { count });
  if (!isRounded && values.size > maxExactValues) roundValues(sketch);
};

const roundValues = (sketch: Sketch) => {
  const exact = [...sketch.values];
  sketch.values.clear();
  sketch.isRounded = true;
  for (const [value, { count }] of exact) addCount(sketch, value, count);
};

const double = new DataView(new ArrayBuffer(8));

/** Rounds to the middle of one of 64 ranges between powers of two. The relative error is at most 1/128. */
const roundValue = (value: number) => {
  const magnitude = Math.min(Math.abs(value), maxMagnitude);
  if (magnitude < minMagnitude) return 0;
  double.setFloat64(0, magnitude);
  double.setUint32(0, (double.getUint32(0) & -(2 ** 14)) | (2 ** 13));
  double.setUint32(4, 0);
  return Math.sign(value) * double.getFloat64(0);
};

/** Returns the width of the widest rounding range, or 0 for exact values. */
const rangeStep = ({ isRounded, min, max }: Sketch) =>
  isRounded ? 2 ** (Math.floor(Math.log2(Math.max(-min, max))) - 6) : 0;

export const mergeSketch = (into: Sketch, from: Sketch) => {
  if (from.count === 0) return;
  into.count += from.count;
  into.min = Math.min(into.min, from.min);
  into.max = Math.max(into.max, from.max);
  if (from.isRounded && !into.isRounded) roundValues(into);
  for (const [value, { count }] of from.values) addCount(into, value, count);
};

type Weight = Readonly<{ value: number; count: number }>;

/** Sorts by value. Limits rounded values to `min` and `max`. */
export const toWeights = ({ values, min, max }: Sketch): readonly Weight[] =>
  Array.from(values, ([value, { count }]) => ({ value: Math.min(max, Math.max(min, value)), count })).sort(
    (a, b) => a.value - b.value,
  );

export const countWeights = (weights: readonly Weight[]) => weights.reduce((sum, { count }) => sum + count, 0);

/** Expects ascending values. Returns 0 for an empty list. */
export const median = (weights: readonly Weight[]) => {
  const half = countWeights(weights) / 2;
  const [lower, upper] = [weightedValueAt(weights, half), weightedValueAt(weights, half + 0.5)];
  return lower === upper ? lower : lower / 2 + upper / 2;
};

/** Expects ascending values. Ranks begin at 1. A fraction counts as the next rank. */
export const weightedValueAt = (weights: readonly Weight[], rank: number) => {
  let passed = 0;
  const found = weights.find(({ count }) => {
    passed += count;
    return passed >= rank;
  });
  return (found ?? weights.at(-1))?.value ?? 0;
};

/** Describes the values for bars. `middle` excludes 1 % of the values at each end. */
export const describeSketch = (sketch: Sketch) => {
  const { count, min, max } = sketch;
  const weights = toWeights(sketch);
  const excluded = Math.max(1, Math.floor(count / 100));
  const middle = [weightedValueAt(weights, excluded + 1), weightedValueAt(weights, count - excluded)] as const;
  return { weights, min, max, middle, rangeStep: rangeStep(sketch) };
};
