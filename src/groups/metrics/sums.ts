/** Sums and deviations of doubles, of their exact values and rounded once, so that order and parts change nothing. */

/** Limbs of 32 bits of an exact sum, from 2^-1074 on: one for each bit of a double, and 64 bits for carries. */
const limbCount = 69;

/** A sum as data: another thread gets this of it. */
export type SumData = Pick<ExactSum, "units" | "limbs">;

const lowestExponent = -1074;

/** Numbers after which limbs are emptied: until then each is a double. */
const mostAdded = 2 ** 20;

const double = new DataView(new ArrayBuffer(8));

/**
 * An exact sum of finite doubles: the small superaccumulator of R. M. Neal, "Fast Exact Summation Using Small and Large
 * Superaccumulators" (2015), 32 bits to a limb. Shewchuk's expansions grow with each value; these merge in any order.
 */
export class ExactSum {
  /** In units of 2^-1074: every double is so many of them. */
  units = 0n;
  /** What was added since, 32 bits to each. */
  readonly limbs = new Float64Array(limbCount);
  #added = 0;

  /** Adds a finite double; the negative of one that was added takes it away again. */
  add(value: number): void {
    if (++this.#added > mostAdded) this.#empty();
    double.setFloat64(0, value);
    const top = double.getUint32(0);
    const low = double.getUint32(4);
    const exponent = (top >>> 20) & 0x7ff;
    const fraction = (top & 0xfffff) | (exponent === 0 ? 0 : 0x100000);
    const position = Math.max(0, exponent - 1);
    const shift = position & 31;
    const sign = value < 0 ? -1 : 1;
    // 53 bits, shifted by 31 at most, go over three limbs; nothing is shifted by 32.
    this.#take(position >>> 5, sign * ((low << shift) >>> 0));
    this.#take((position >>> 5) + 1, sign * (((fraction << shift) | ((low >>> 1) >>> (31 - shift))) >>> 0));
    this.#take((position >>> 5) + 2, sign * ((fraction >>> 1) >>> (31 - shift)));
  }

  #take(limb: number, part: number): void {
    this.limbs[limb] = (this.limbs[limb] ?? 0) + part;
  }

  #empty(): void {
    this.units += unitsOf(this.limbs);
    this.limbs.fill(0);
    this.#added = 0;
  }

  /** Adds another sum, or takes it away. */
  merge({ units, limbs }: SumData, sign: 1 | -1 = 1): void {
    this.units += BigInt(sign) * (units + unitsOf(limbs));
  }

  /** The sum, rounded once, divided by a count; finite even where the sum is larger than any double. */
  mean(count: number): number {
    this.#empty();
    const { value, exponent } = rounded(this.units);
    const sum = value * 2 ** exponent;
    // A negative zero is a zero.
    return (Number.isFinite(sum) ? sum / count : (value / count) * 2 ** exponent) + 0;
  }
}

/** The sum that limbs make, 32 bits each, the lowest first. */
const unitsOf = (limbs: Float64Array): bigint => {
  let units = 0n;
  for (let at = limbs.length - 1; at >= 0; at--) units = (units << 32n) + BigInt(limbs[at] ?? 0);
  return units;
};

/** Bits that are rounded to a double: one more than it has, and more that only say whether anything is below. */
const roundedBits = 64;

/** The double nearest to a number of units, ties to even, and its power of two, without another rounding. */
const rounded = (units: bigint): { readonly value: number; readonly exponent: number } => {
  const size = units < 0n ? -units : units;
  const below = BigInt(Math.max(0, size.toString(2).length - roundedBits));
  const top = size >> below;
  const value = Number(top << below === size ? top : top | 1n);
  // A power of two that brings the smallest double there is no double: what is that small has nothing below.
  const exponent = Number(below) + lowestExponent;
  return below === 0n
    ? { value: (units < 0n ? -value : value) * 2 ** -537 * 2 ** -537, exponent: 0 }
    : { value: units < 0n ? -value : value, exponent };
};

/** What the rounding of a + b leaves out (Knuth's two-sum). */
const lowOf = (a: number, b: number): number => {
  const sum = a + b;
  const part = sum - a;
  return a - (sum - part) + (b - part);
};

/** Doubles in a row. */
export type Doubles = ArrayLike<number>;

/** Magnitudes whose squares, and what their rounding leaves out, are doubles. */
const largest = 2 ** 400;
const smallest = 2 ** -400;

/** Population standard deviation of finite doubles. */
export const deviation = (values: Doubles): number => {
  let sum = 0;
  let most = 0;
  let equal = true;
  let usual = true;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    const size = Math.abs(value);
    equal &&= value === values[0];
    usual &&= size <= largest && (size >= smallest || size === 0);
    if (size > most) most = size;
    sum += value;
  }
  if (equal) return 0;
  if (usual) return usualDeviation(values, sum / values.length);
  // Brought near 1, in two steps: a power of two that brings the smallest double there is no double.
  const step = 2 ** Math.round(Math.log2(most) / 2);
  const near = Float64Array.from(values, (value) => value / step / step);
  return usualDeviation(near, near.reduce((all, value) => all + value) / near.length) * step * step;
};

/** A number in two doubles, the second of which is what the first leaves out. */
const pair = { high: 0, low: 0 };

/** The smallest and the largest of doubles: infinities of none. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

export const boundsOf = (values: Doubles): Bounds => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < values.length; at++) {
    least = Math.min(least, values[at] ?? 0);
    most = Math.max(most, values[at] ?? 0);
  }
  return { least, most };
};

/** Mean, population standard deviation and bounds of values; of none, all are 0. */
interface Moments extends Bounds {
  readonly mean: number;
  readonly deviation: number;
}

/** Moments of finite doubles, by their exact sum: equal ones have exactly their mean. */
export const momentsOf = (values: Doubles): Moments => {
  if (values.length === 0) return { mean: 0, deviation: 0, least: 0, most: 0 };
  const { least, most } = boundsOf(values);
  const sum = new ExactSum();
  for (let at = 0; at < values.length; at++) sum.add(values[at] ?? 0);
  const mean = least === most ? least : sum.mean(values.length);
  return { mean, deviation: deviation(values), least, most };
};

/** √(n·Σd² − (Σd)²) / n, of the distances from about the mean, so that little is taken away from much. */
const usualDeviation = (values: Doubles, middle: number): number => {
  let [sum, sumLow] = [0, 0];
  let [squares, squaresLow] = [0, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    const high = value - middle;
    const low = lowOf(value, -middle);
    sumLow += lowOf(sum, high) + low;
    sum += high;
    product(high, high);
    const square = pair.high;
    const squareLow = pair.low + 2 * high * low;
    squaresLow += lowOf(squares, square) + squareLow;
    squares += square;
  }
  const count = values.length;
  product(squares, count);
  const all = pair.high;
  const allLow = pair.low + squaresLow * count;
  product(sum, sum);
  const taken = pair.high;
  const takenLow = pair.low + 2 * sum * sumLow;
  return rootOver({ high: all - taken, low: lowOf(all, -taken) + allLow - takenLow, count });
};

/** √(high + low) / count in twice the precision of a double, then rounded. */
const rootOver = ({ high, low, count }: { high: number; low: number; count: number }): number => {
  const root = Math.sqrt(high);
  product(root, root);
  const rest = (high - pair.high - pair.low + low) / (2 * root);
  const quotient = root / count;
  product(quotient, count);
  return quotient + (root - pair.high - pair.low + rest) / count;
};

/** Veltkamp's constant: splits a double into two halves whose products are exact. */
const splitter = 2 ** 27 + 1;

/** a · b, and what its rounding leaves out (Dekker). */
const product = (a: number, b: number): void => {
  const value = a * b;
  const aHigh = splitter * a - (splitter * a - a);
  const bHigh = splitter * b - (splitter * b - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  pair.low = aLow * bLow - (value - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
  pair.high = value;
};
