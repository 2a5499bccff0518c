/** Adds doubles exactly, and computes deviations. */

/** The number of 32-bit limbs for the bits of all doubles, 2^-1074 to 2^1023. */
const limbCount = 66;
const lowestExponent = -1074;

/** Keeps limbs below 2^53, so that they are exact. */
const maxLimbAdditions = 2 ** 20;

/** A small superaccumulator, as in R. M. Neal, "Fast Exact Summation" (2015). */
export class ExactSum {
  /** The part of the sum that is not in `limbs`, in multiples of 2^-1074, the smallest double. */
  units = 0n;
  readonly limbs = new Float64Array(limbCount);
  limbAdditions = 0;
  count = 0;
}

const double = new DataView(new ArrayBuffer(8));

export const addToSum = (sum: ExactSum, value: number, sign: 1 | -1 = 1) => {
  sum.count += sign;
  if (++sum.limbAdditions > maxLimbAdditions) emptyLimbs(sum);
  double.setFloat64(0, value);
  const top = double.getUint32(0);
  const low = double.getUint32(4);
  const exponent = (top >>> 20) & 0x7ff;
  const fraction = (top & 0xfffff) | (exponent === 0 ? 0 : 0x100000);
  const position = Math.max(0, exponent - 1);
  const shift = position & 31;
  const direction = value < 0 ? -sign : sign;
  // 53 bits can overlap three limbs. JavaScript ignores a shift by 32, so the code shifts twice.
  addToLimb(sum, position >>> 5, direction * ((low << shift) >>> 0));
  addToLimb(sum, (position >>> 5) + 1, direction * (((fraction << shift) | ((low >>> 1) >>> (31 - shift))) >>> 0));
  addToLimb(sum, (position >>> 5) + 2, direction * ((fraction >>> 1) >>> (31 - shift)));
};

const addToLimb = ({ limbs }: ExactSum, limb: number, part: number) => {
  limbs[limb] = (limbs[limb] ?? 0) + part;
};

const emptyLimbs = (sum: ExactSum) => {
  sum.units += toUnits(sum.limbs);
  sum.limbs.fill(0);
  sum.limbAdditions = 0;
};

export const mergeSum = (into: ExactSum, { units, limbs, count }: ExactSum, times: number) => {
  into.count += times * count;
  into.units += BigInt(times) * (units + toUnits(limbs));
};

/** The mean is finite even if the sum is too large for a double. */
export const meanOfSum = (sum: ExactSum, count = sum.count) => {
  emptyLimbs(sum);
  const { value, exponent } = roundUnits(sum.units);
  const total = value * 2 ** exponent;
  // Adding 0 turns -0 into 0.
  return (Number.isFinite(total) ? total / count : (value / count) * 2 ** exponent) + 0;
};

/** Most sums have few limbs that are not 0. */
const toUnits = (limbs: Float64Array) => {
  let [low, units] = [0, 0n];
  while (limbs[low] === 0) low++;
  for (let at = limbs.findLastIndex((limb) => limb !== 0); at >= low; at--)
    units = (units << 32n) + BigInt(limbs[at] ?? 0);
  return units << BigInt(32 * low);
};

/** `Number` rounds up to this many leading bits, which are more than the 53 of a double. */
const roundedBits = 64;

/** Rounds once, with ties to even. The result is `value` times 2^`exponent`. */
const roundUnits = (units: bigint) => {
  const size = units < 0n ? -units : units;
  const below = BigInt(Math.max(0, 4 * size.toString(16).length - roundedBits));
  const top = size >> below;
  // If dropped bits are not 0, a last bit of 1 prevents a wrong tie.
  const value = Number(top << below === size ? top : top | 1n) * (units < 0n ? -1 : 1);
  return below === 0n
    ? { value: value * Number.MIN_VALUE, exponent: 0 }
    : { value, exponent: Number(below) + lowestExponent };
};

/** Ignores NaN. Without other values, `min` is Infinity and `max` is -Infinity. */
export const findBounds = (values: ArrayLike<number>) => {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min, max };
};

/** Expects finite doubles. */
export const computeMoments = (values: ArrayLike<number>) => {
  if (values.length === 0) return { mean: 0, deviation: 0, min: 0, max: 0 };
  return { mean: computeMean(values), deviation: standardDeviation(values), ...findBounds(values) };
};

/** Returns the mean of finite doubles, of which there is one. */
export const computeMean = (values: ArrayLike<number>) => {
  const { min, max } = findBounds(values);
  return min === max ? min : averageExactly(values);
};

/** Like `meanOfSum`. */
export const averageExactly = (values: ArrayLike<number>) => {
  const total = addExactly(values);
  return Number.isFinite(total) ? total / values.length : meanOfSum(collectSum(values), values.length);
};

const collectSum = (values: ArrayLike<number>, shift = 0, from = 0, end = values.length) => {
  const sum = new ExactSum();
  for (let at = from; at < end; at++) {
    addToSum(sum, values[at] ?? 0);
    addToSum(sum, -shift);
  }
  return sum;
};

const areFinite = (values: ArrayLike<number>) => {
  for (let at = 0; at < values.length; at++) if (!Number.isFinite(values[at])) return false;
  return true;
};

export const pickFinite = (values: ArrayLike<number>) =>
  areFinite(values) ? values : Float64Array.from(values).filter(Number.isFinite);

/** Returns null without a finite value. */
export const meanOfFinite = (values: ArrayLike<number>) => {
  const finite = pickFinite(values);
  return finite.length === 0 ? null : computeMean(finite);
};

/**
 * Adds the values from `from` up to `end`, each minus `shift`, and rounds once, so that their order does not matter.
 * An `ExactSum` takes as long as 100 additions. So this adds what each addition loses (Klein 2006), and takes an exact
 * sum only if what these additions lose can decide how the result is rounded. Not finite beyond the range of doubles.
 */
export const addExactly = (values: ArrayLike<number>, shift = 0, from = 0, end = values.length): number => {
  let [sum, lost, lostTwice, maxError] = [0, 0, 0, 0];
  // Without a shift, odd positions would add nothing.
  for (let at = 2 * from; at < 2 * end; at += shift === 0 ? 2 : 1) {
    const value = at % 2 === 0 ? (values[at / 2] ?? 0) : -shift;
    const next = sum + value;
    const loss = Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    const nextLost = lost + loss;
    const lossOfLoss = Math.abs(lost) >= Math.abs(loss) ? lost - nextLost + loss : loss - nextLost + lost;
    sum = next;
    lost = nextLost;
    lostTwice += lossOfLoss;
    maxError += Math.abs(lossOfLoss);
  }
  if (maxError === 0) return sum + lost;
  const rest = lost + lostTwice;
  const error = Number.EPSILON * (2 * Math.abs(rest) + 2 * (end - from) * maxError);
  const low = sum + (rest - error);
  return low === sum + (rest + error) ? low : meanOfSum(collectSum(values, shift, from, end), 1);
};

/** For few numbers, an insertion sort in this array is faster than V8's sort. */
const fewNumbers = new Float64Array(32);

/** Returns sorted values, so that results do not depend on the order. The next call reuses the array. */
const sortNumbers = (values: ArrayLike<number>): ArrayLike<number> => {
  const count = values.length;
  if (count > fewNumbers.length) {
    let ascending = 1;
    while (ascending < count && (values[ascending] ?? 0) >= (values[ascending - 1] ?? 0)) ascending++;
    return ascending === count ? values : Float64Array.from(values).sort();
  }
  for (let next = 0; next < count; next++) {
    const value = values[next] ?? 0;
    let at = next;
    for (; at > 0 && (fewNumbers[at - 1] ?? 0) > value; at--) fewNumbers[at] = fewNumbers[at - 1] ?? 0;
    fewNumbers[at] = value;
  }
  return fewNumbers;
};

/** Returns the population standard deviation of finite doubles. */
export const standardDeviation = (values: ArrayLike<number>) => {
  const count = values.length;
  const sorted = sortNumbers(values);
  // Halving prevents an overflow of the range.
  const min = (sorted[0] ?? 0) / 2;
  const range = (sorted[count - 1] ?? 0) / 2 - min;
  if (count === 0 || range === 0) return 0;
  // Division by a power of two is exact.
  const scale = 2 ** Math.floor(Math.log2(range));
  let sum = 0;
  for (let at = 0; at < count; at++) sum += ((sorted[at] ?? 0) / 2 - min) / scale;
  const mean = sum / count;
  let squares = 0;
  for (let at = 0; at < count; at++) squares += (((sorted[at] ?? 0) / 2 - min) / scale - mean) ** 2;
  return Math.sqrt(squares / count) * scale * 2;
};
