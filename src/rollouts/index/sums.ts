/** Adds doubles, and computes means and deviations. */

/** Rewards with at most this difference are equal (metrics.md). */
export const rewardTolerance = 1e-12;

/** Keeps the sum of the largest doubles finite. Division by a power of two is exact. */
const overflowScale = 2 ** 64;

/** A compensated sum (Neumaier 1974): within one unit in the last place of the exact sum of such values. */
export class Sum {
  count = 0;
  #high = 0;
  /** What the additions to `#high` lost. */
  #low = 0;
  /** 1, or `overflowScale` after a sum beyond the range of doubles. */
  #scale = 1;

  add(value: number, sign: 1 | -1 = 1) {
    this.count += sign;
    this.#addScaled((sign * value) / this.#scale);
  }

  merge(other: Sum, sign: 1 | -1 = 1) {
    this.count += sign * other.count;
    if (other.#scale > this.#scale) this.#shrink();
    const ratio = (sign * other.#scale) / this.#scale;
    this.#addScaled(ratio * other.#high);
    this.#low += ratio * other.#low;
  }

  /** Not finite beyond the range of doubles. Adding 0 turns -0 into 0. */
  get total() {
    return (this.#high + this.#low) * this.#scale + 0;
  }

  /** The mean is finite even if the sum is too large for a double. */
  get mean() {
    return ((this.#high + this.#low) / this.count) * this.#scale + 0;
  }

  #addScaled(value: number) {
    const total = this.#high + value;
    if (Number.isFinite(total)) {
      this.#low += Math.abs(this.#high) >= Math.abs(value) ? this.#high - total + value : value - total + this.#high;
      this.#high = total;
    } else {
      this.#shrink();
      this.#addScaled(value / overflowScale);
    }
  }

  #shrink() {
    this.#high /= overflowScale;
    this.#low /= overflowScale;
    this.#scale *= overflowScale;
  }
}

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
  return min === max ? min : average(values);
};

/** Returns the compensated mean. */
export const average = (values: ArrayLike<number>) => {
  const sum = new Sum();
  for (let at = 0; at < values.length; at++) sum.add(values[at] ?? 0);
  return sum.mean;
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

/** Returns the population standard deviation of finite doubles. */
export const standardDeviation = (values: ArrayLike<number>) => {
  const { min, max } = findBounds(values);
  // Halving prevents an overflow of the range.
  const range = max / 2 - min / 2;
  if (values.length === 0 || range === 0) return 0;
  // Division by a power of two is exact.
  const scale = 2 ** Math.floor(Math.log2(range));
  const scaled = new Sum();
  for (let at = 0; at < values.length; at++) scaled.add(((values[at] ?? 0) / 2 - min / 2) / scale);
  const { mean } = scaled;
  const squares = new Sum();
  for (let at = 0; at < values.length; at++) squares.add((((values[at] ?? 0) / 2 - min / 2) / scale - mean) ** 2);
  return Math.sqrt(squares.mean) * scale * 2;
};
