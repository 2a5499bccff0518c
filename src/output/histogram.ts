/** Divides rewards into ranges. */
import { formatForDisplay } from "../text/decimal.ts";

const maxBars = 8;

export type RewardWeights = Readonly<{
  min: number;
  max: number;
  /** The width of the widest range whose rewards were rounded to one value, or 0. */
  rangeStep: number;
  weights: readonly { readonly value: number; readonly count: number }[];
}>;

/** Returns at most eight ranges of rewards, or single rewards, with their numbers of trajectories. */
export const computeBars = ({ weights, min, max, rangeStep }: RewardWeights) => {
  if (weights.length <= maxBars && rangeStep === 0) {
    const names = weights.map(({ value }) => formatForDisplay(value));
    const areDistinct = new Set(names).size === names.length;
    return weights.map(({ value, count }, at) => ({ name: (areDistinct && names[at]) || String(value), count }));
  }
  const minStep = (max - min) / (maxBars - 2);
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const decimalStep = ([1, 2, 2.5, 5].find((factor) => factor * magnitude >= minStep) ?? 10) * magnitude;
  // A rounded value represents a range, which an edge between bars must not divide.
  const step = rangeStep > 0 ? Math.max(2 ** Math.ceil(Math.log2(minStep)), rangeStep) : decimalStep;
  const start = Math.floor(min / step) * step;
  // Large rewards with small differences need many digits.
  const edge = (at: number) => String(Number((start + at * step).toPrecision(12)));
  const length = Math.max(1, Math.ceil((max - start) / step - 1e-9));
  // Rounding errors must not move a value on an edge to the lower bar.
  const barOf = (value: number) => Math.min(length - 1, Math.floor((value - start) / step + 1e-9));
  return Array.from({ length }, (_, at) => {
    const count = weights.reduce((sum, weight) => sum + (barOf(weight.value) === at ? weight.count : 0), 0);
    return { name: `${edge(at)} – ${edge(at + 1)}`, count };
  });
};
