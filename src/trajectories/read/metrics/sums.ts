/** Sums and deviations of doubles, of their exact values and rounded once, so that order and parts change nothing. */

/**
 * Doubles whose exact sum is the sum of all that was added, none of which overlap: the largest stands last.
 * (J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997; as Python's `math.fsum`.)
 */
type Expansion = number[];

/** From here on doubles are summed up divided by 2 to this power, so that no sum of them is too large for a double. */
const largeFrom = 2 ** 960;
export const largeDown = 128;
const scale = 2 ** largeDown;

/** A sum as it goes from one thread to another: what is large in it is divided by 2 to the power of `largeDown`. */
export interface PackedSum {
  readonly usual: readonly number[];
  readonly large: readonly number[];
}

/** An exact sum of finite doubles. */
export class ExactSum {
  readonly #usual: Expansion = [];
  readonly #large: Expansion = [];

  /** Adds a finite double; the negative of one that was added takes it away again. */
  add(value: number): void {
    if (Math.abs(value) < largeFrom) addTo(this.#usual, value);
    else addTo(this.#large, value / scale);
  }

  /** Adds another sum. */
  merge({ usual, large }: PackedSum): void {
    for (const value of usual) addTo(this.#usual, value);
    for (const value of large) addTo(this.#large, value);
  }

  /** The sum so far, to be added to another. */
  pack(): PackedSum {
    return { usual: [...this.#usual], large: [...this.#large] };
  }

  /** The sum, rounded once, divided by a count; finite even where the sum is larger than any double. */
  mean(count: number): number {
    const all = [...this.#usual];
    for (const value of this.#large) addTo(all, value * scale);
    // A negative zero is a zero.
    if (all.every(Number.isFinite)) return rounded(all) / count + 0;
    // So far below such a sum only the sign of what is too small to be divided counts.
    const scaled = [...this.#large];
    for (const value of this.#usual) addTo(scaled, value / scale || Math.sign(value) * Number.MIN_VALUE);
    const sum = rounded(scaled);
    return Number.isFinite(sum * scale) ? (sum * scale) / count : (sum / count) * scale;
  }
}

const addTo = (expansion: Expansion, value: number): void => {
  let sum = value;
  let kept = 0;
  for (let at = 0; at < expansion.length; at++) {
    const low = lowOf(sum, expansion[at] ?? 0);
    sum += expansion[at] ?? 0;
    if (low !== 0) expansion[kept++] = low;
  }
  expansion.length = kept;
  if (sum !== 0) expansion.push(sum);
};

/** The double nearest to the sum of an expansion, ties to even. */
const rounded = (expansion: Expansion): number => {
  let at = expansion.length - 1;
  let sum = expansion[at] ?? 0;
  let low = 0;
  while (low === 0 && --at >= 0) {
    const next = expansion[at] ?? 0;
    low = lowOf(sum, next);
    sum += next;
  }
  // What is left out is exactly half of a last digit: what is below it says which way to go.
  const below = expansion[at - 1] ?? 0;
  const other = sum + 2 * low;
  return low !== 0 && Math.sign(below) === Math.sign(low) && other - sum === 2 * low ? other : sum;
};

/** What the rounding of a + b leaves out (Knuth's two-sum). */
const lowOf = (a: number, b: number): number => {
  const sum = a + b;
  const part = sum - a;
  return a - (sum - part) + (b - part);
};

/** Magnitudes whose squares, and what their rounding leaves out, are doubles. */
const largest = 2 ** 400;
const smallest = 2 ** -400;

/** Population standard deviation of finite doubles (kernel/deviation.ts does the same). */
export const deviation = (values: readonly number[]): number => {
  let sum = 0;
  let most = 0;
  let equal = true;
  let usual = true;
  for (const value of values) {
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
  const near = values.map((value) => value / step / step);
  return usualDeviation(near, near.reduce((all, value) => all + value) / near.length) * step * step;
};

/** A number in two doubles, the second of which is what the first leaves out. */
const pair = { high: 0, low: 0 };

/** √(n·Σd² − (Σd)²) / n, of the distances from about the mean, so that little is taken away from much. */
const usualDeviation = (values: readonly number[], middle: number): number => {
  let [sum, sumLow] = [0, 0];
  let [squares, squaresLow] = [0, 0];
  for (const value of values) {
    const [high, low] = [value - middle, lowOf(value, -middle)];
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
