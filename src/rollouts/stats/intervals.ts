/** Computes percentiles, and t intervals of means over groups (metrics.md). */

import { NumberColumn } from "../index/column.ts";
import { average, computeMean, Sum } from "../index/sums.ts";

/** The low and the high end of a 95 % interval. */
export type Interval = readonly number[];
export type Mean = Readonly<{ mean: number; ci95: Interval | null }>;

/** The means of the sides, and b − a with its interval. */
export type PairedDifference = Readonly<Record<"pairs" | "a" | "b" | "difference", number> & { ci95: Interval | null }>;

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

/** Returns the smallest true difference that is outside the interval in four of five cases. */
export const findDetectable = (count: number, { mean, ci95 }: Mean) => {
  const [, high = mean] = ci95 ?? [];
  return ci95 && (high - mean) * (1 + powerQuantile / tQuantile(count - 1));
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
  describe() {
    return describeMean(this.#values.viewDoubles(), this.#starts);
  }
}

/**
 * The interval is mean ± t · SE with G − 1 degrees of freedom and SE² = G/(G−1) · Σ_g (Σ_{i∈g} (x_i − mean))² / n²:
 * the standard error clustered by group of Miller (2024), "Adding Error Bars to Evals", with the factor for few groups.
 * Null for fewer than two groups, and for values whose squares are not doubles.
 *
 * @param values are overwritten
 * @param starts for each group, the number of values before it; default: each value is a group
 */
const describeMean = (values: Float64Array, starts?: NumberColumn): Mean => {
  const mean = computeMean(values);
  const groups = (starts ?? values).length;
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
    if (!Number.isFinite(squares[group])) return { mean, ci95: null };
  }
  if (groups < 2) return { mean, ci95: null };
  // The mean of the squares times G is their sum.
  const error = (groups / Math.sqrt(groups - 1) / values.length) * Math.sqrt(average(squares));
  const half = tQuantile(groups - 1) * error;
  return { mean, ci95: [mean - half, mean + half] };
};

/** Values of pairs, whose means and the interval of whose difference are wanted. */
export class PairedValues {
  readonly #a = new NumberColumn();
  readonly #b = new NumberColumn();
  /** True if a pair is left out, because its difference is outside of the range of doubles. */
  overflows = false;

  /** Ignores a pair without both values. */
  add(a: number | null, b: number | null) {
    if (a === null || b === null) return;
    if (Number.isFinite(b - a)) {
      this.#a.push(a);
      this.#b.push(b);
    } else this.overflows = true;
  }

  /** The interval is the t interval over the pairs. Undefined without pairs. */
  describe(): PairedDifference | undefined {
    const pairs = this.#a.length;
    if (pairs === 0) return undefined;
    const a = computeMean(this.#a.viewDoubles());
    const values = this.#b.viewDoubles();
    const b = computeMean(values);
    for (let at = 0; at < pairs; at++) values[at] = (values[at] ?? 0) - this.#a.at(at);
    const { mean: difference, ci95 } = describeMean(values);
    return { pairs, a, b, difference, ci95 };
  }
}

/** Values of pairs, for each name. */
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

  get overflowing() {
    return this.names.filter((name) => this.of(name).overflows);
  }

  /** Leaves out names without a pair. */
  *describe(names: Iterable<Name> = this.names) {
    for (const name of names) {
      const described = this.#values.get(name)?.describe();
      if (described) yield { name, ...described };
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
