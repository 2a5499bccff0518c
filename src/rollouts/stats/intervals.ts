/** Computes percentiles, and t intervals of means over groups (metrics.md). */

import { NumberColumn } from "../index/column.ts";
import { average, computeMean, findBounds, rewardTolerance, Sum } from "../index/sums.ts";

/** The low and the high end of a 95 % interval. */
export type Interval = readonly number[];
export type Mean = Readonly<{ mean: number; ci95: Interval | null }>;

/** The means of the sides, and b − a with its interval. */
export type PairedDifference = Readonly<Record<"pairs" | "a" | "b" | "difference", number> & { ci95: Interval | null }>;

/** The probability that chance changes something so much; null for fewer than three pairs. */
export type Chance = { p: number | null };

const coverage = 0.95;
/** The quantile of the normal distribution for four of five cases. */
const powerQuantile = 0.8416212335729143;
/** The quantile of the normal distribution for `coverage`. */
const normalQuantile = 1.959963984540054;
/** From this many degrees of freedom, the error of the series is below 1e-11. */
const manyDegrees = 200;

/** Returns the t for which |T| ≤ t has the probability of 95 %. */
export const tQuantile = (degrees: number) => {
  if (degrees >= manyDegrees) return expandQuantile(degrees);
  let [low, high] = [normalQuantile, 13];
  for (let middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2) {
    if (probabilityWithin(middle, degrees) < coverage) low = middle;
    else high = middle;
  }
  return high;
};

/** P(|T| ≤ t) for a whole number of degrees (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). */
const probabilityWithin = (t: number, degrees: number) => {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let at = isOdd ? 2 : 1; at < degrees - 2; at += 2) {
    term *= (cosine ** 2 * at) / (at + 1);
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
};

/** The asymptotic expansion (Abramowitz and Stegun 1964, 26.7.5). */
const expandQuantile = (n: number) => {
  const x = normalQuantile;
  const terms = [
    x,
    (x ** 3 + x) / 4,
    (5 * x ** 5 + 16 * x ** 3 + 3 * x) / 96,
    (3 * x ** 7 + 19 * x ** 5 + 17 * x ** 3 - 15 * x) / 384,
    (79 * x ** 9 + 776 * x ** 7 + 1482 * x ** 5 - 1920 * x ** 3 - 945 * x) / 92_160,
  ];
  return terms.reduceRight((sum, term) => sum / n + term, 0);
};

/** Values in groups, of which the mean and its interval are wanted. */
export class GroupedValues {
  readonly #values = new NumberColumn();
  /** For each group with values, the number of values before it. */
  readonly #starts = new NumberColumn();
  #group = -1;

  /** Adds a value after those of earlier groups. Ignores a value that is not finite. */
  add(group: number, value: number) {
    if (!Number.isFinite(value)) return;
    if (group !== this.#group) this.#starts.push(this.count);
    this.#group = group;
    this.#values.push(value);
  }

  get count() {
    return this.#values.length;
  }

  /** The next call of `viewDoubles`, also by `describe`, reuses the array. */
  sorted() {
    return this.#values.viewDoubles().sort();
  }

  /** Expects a value. */
  describe(): Mean {
    const values = this.#values.viewDoubles();
    const range = findRange(values);
    const { mean, error, degrees } = estimateMean(values, this.#starts);
    return { mean, ci95: toInterval(mean, error, degrees, range) };
  }
}

/** Returns the range of values that are possible: 0 to 1 for rates, or else the range of the values. */
const findRange = (values: ArrayLike<number>): Interval => {
  const { min, max } = findBounds(values);
  return min >= 0 && max <= 1 ? [0, 1] : [min, max];
};

/** With two groups, two equal values have an interval without width in 13 % of data without a true difference. */
const minDegrees = 2;

const toInterval = (mean: number, error: number | null, degrees: number, [min = 0, max = 0]: Interval) => {
  if (error === null || degrees < minDegrees) return null;
  const half = tQuantile(degrees) * error;
  return [Math.max(min, mean - half), Math.min(max, mean + half)];
};

/**
 * The standard error has G − 1 degrees of freedom, and SE² = G/(G−1) · Σ_g (Σ_{i∈g} (x_i − mean))² / n²: clustered by
 * group after Miller (2024), "Adding Error Bars to Evals", with the factor for few groups. Null for fewer than two
 * groups, and for values whose squares are not doubles.
 *
 * @param values are overwritten
 * @param starts for each group, the number of values before it; default: each value is a group
 */
const estimateMean = (values: Float64Array, starts?: NumberColumn) => {
  const mean = computeMean(values);
  const groups = (starts ?? values).length;
  const degrees = groups - 1;
  // Each group has a value, so the squares take the place of values that were read.
  const squares = values.subarray(0, groups);
  for (let group = 0, end = 0; group < groups; group++) {
    const from = end;
    end = group + 1;
    if (starts) end = end < groups ? starts.at(end) : values.length;
    const sum = new Sum();
    for (let at = from; at < end; at++) {
      sum.add(values[at] ?? 0);
      sum.add(-mean);
    }
    squares[group] = sum.total ** 2;
    if (!Number.isFinite(squares[group])) return { mean, error: null, degrees };
  }
  if (groups < 2) return { mean, error: null, degrees };
  // The mean of the squares times G is their sum.
  return { mean, error: (groups / Math.sqrt(degrees) / values.length) * Math.sqrt(average(squares)), degrees };
};

/** Returns the p value of the t test. Differences without deviations have that of equal signs. */
const findChance = (distance: number, error: number | null, degrees: number) => {
  if (error === null || degrees < minDegrees) return null;
  if (distance <= rewardTolerance) return 1;
  return Math.max(2 ** -degrees, 1 - probabilityWithin(distance / error, degrees));
};

/** Returns the p value of the difference between two differences (Welch 1947). */
export const compareDifferences = (one: PairedValues, other: PairedValues) => {
  const [a, b] = [one.describe(), other.describe()];
  if (!a || !b || a.error === null || b.error === null) return null;
  const [degreesA, degreesB] = [a.compared.pairs - 1, b.compared.pairs - 1];
  const error = Math.hypot(a.error, b.error);
  const degrees = Math.floor(error ** 4 / (a.error ** 4 / degreesA + b.error ** 4 / degreesB));
  const fewest = Math.min(degreesA, degreesB);
  return findChance(Math.abs(a.compared.difference - b.compared.difference), error, Math.max(fewest, degrees || 0));
};

/** Adjusts p values for the number of those that can be small (Holm 1979). */
export const adjustChances = (all: readonly Chance[]) => {
  const sorted = all.filter(({ p }) => p !== null && p < 1).sort((a, b) => (a.p ?? 1) - (b.p ?? 1));
  let adjusted = 0;
  for (const [at, one] of sorted.entries()) {
    adjusted = Math.max(adjusted, Math.min(1, (sorted.length - at) * (one.p ?? 1)));
    one.p = adjusted;
  }
};

/** Values of pairs, whose means and the interval of whose difference are wanted. */
export class PairedValues {
  readonly #a = new NumberColumn();
  readonly #b = new NumberColumn();

  /** Ignores a pair without both values, and one whose difference is outside of the range of doubles. */
  add(a: number | null, b: number | null) {
    if (a === null || b === null || !Number.isFinite(b - a)) return;
    this.#a.push(a);
    this.#b.push(b);
  }

  /** Adds zeros up to a number of pairs. */
  pad(pairs: number) {
    this.#a.length = this.#b.length = Math.max(this.#a.length, pairs);
  }

  /** The interval is the t interval over the pairs. Undefined without pairs. */
  describe() {
    const pairs = this.#a.length;
    if (pairs === 0) return undefined;
    const inA = this.#a.viewDoubles();
    const [a, [minA = 0, maxA = 0]] = [computeMean(inA), findRange(inA)];
    const values = this.#b.viewDoubles();
    const [b, [minB = 0, maxB = 0]] = [computeMean(values), findRange(values)];
    for (let at = 0; at < pairs; at++) values[at] = (values[at] ?? 0) - this.#a.at(at);
    const { mean: difference, error, degrees } = estimateMean(values);
    const ci95 = toInterval(difference, error, degrees, [minB - maxA, maxB - minA]);
    const compared: PairedDifference = { pairs, a, b, difference, ci95 };
    /** The smallest true difference that is outside the interval in four of five cases. */
    const detectable = ci95 && (error ?? 0) * (tQuantile(degrees) + powerQuantile);
    return { compared, detectable, error, p: findChance(Math.abs(difference), error, degrees) };
  }
}

export class NamedPairs<Name> {
  readonly #values = new Map<Name, PairedValues>();

  of(name: Name) {
    const known = this.#values.get(name);
    if (known) return known;
    const values = new PairedValues();
    this.#values.set(name, values);
    return values;
  }

  /** In the order of their first use. */
  get names() {
    return [...this.#values.keys()];
  }

  /** Leaves out names without a pair. */
  *describe(names: Iterable<Name> = this.names): Generator<{ name: Name } & PairedDifference & Chance> {
    for (const name of names) {
      const described = this.#values.get(name)?.describe();
      if (described) yield { name, ...described.compared, p: described.p };
    }
  }
}

/** Interpolates linearly between the values, as numpy does by default. Expects sorted values. */
export const percentile = (sorted: ArrayLike<number>, share: number) => {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? 0;
  const high = sorted[below + 1] ?? low;
  const weight = position - below;
  // The difference of huge values is infinite.
  if (!Number.isFinite(high - low)) return low * (1 - weight) + high * weight;
  return weight < 0.5 ? low + (high - low) * weight : high - (high - low) * (1 - weight);
};
