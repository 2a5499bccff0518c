/** The bars and dots of the charts. */
import type { Bar, Dot } from "./answers.ts";
import type { Measures } from "./measures.ts";
import { relativePosition } from "./select.ts";

/** Bars of a histogram, maximum distinct values with their own bar, and cells of the plot in each direction. */
const barCount = 24;
const maxValues = 16;
const cells = { mean: 36, spread: 16 };

/** Returns bars of finite rewards in ascending order. */
export const computeBars = (rewards: Float64Array): readonly Bar[] => {
  const values = new Map<number, number>();
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) continue;
    values.set(reward, (values.get(reward) ?? 0) + 1);
    if (values.size > maxValues) return countBars(rewards, axisOf(rewards, barCount));
  }
  const sorted = [...values].sort(([a], [b]) => a - b);
  return sorted.map(([value, count]) => ({ range: [value, value], count }));
};

const countBars = (rewards: Float64Array, axis: Axis): readonly Bar[] => {
  const edges = edgesOf(axis);
  const edge = (at: number): number => edges[at] ?? axis.most;
  const counts = new Float64Array(axis.cells);
  for (const reward of rewards) {
    if (!Number.isFinite(reward)) continue;
    let at = cellOf(reward, axis);
    // Corrects rounding, so that the edges decide.
    while (at > 0 && reward < edge(at)) at--;
    while (at < axis.cells - 1 && reward >= edge(at + 1)) at++;
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return Array.from(counts, (count, at) => ({
    range: at === axis.cells - 1 ? [edge(at), axis.most] : [edge(at), edge(at + 1), "below"],
    count,
  }));
};

/** Returns a dot for each cell with measured groups. */
export const computeDots = ({ mean, spread, count }: Measures): readonly Dot[] => {
  const axes = { mean: axisOf(mean, cells.mean), spread: axisOf(spread, cells.spread) };
  const dots = new Map<number, Dot>();
  for (let group = 0; group < count; group++) {
    const [x, y] = [mean[group] ?? Number.NaN, spread[group] ?? Number.NaN];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const key = cellOf(x, axes.mean) * cells.spread + cellOf(y, axes.spread);
    const { mean: means, spread: spreads, groups } = dots.get(key) ?? { mean: [x, x], spread: [y, y], groups: 0 };
    dots.set(key, {
      mean: [Math.min(means[0], x), Math.max(means[1], x)],
      spread: [Math.min(spreads[0], y), Math.max(spreads[1], y)],
      groups: groups + 1,
    });
  }
  return [...dots.values()];
};

/** The range of finite values, in cells of equal width. */
const axisOf = (values: Float64Array, cells: number) => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return { least, most, cells };
};

type Axis = ReturnType<typeof axisOf>;

const cellOf = (value: number, { least, most, cells }: Axis): number =>
  most === least ? 0 : Math.min(cells - 1, Math.floor(relativePosition(value, least, most) * cells));

const edgesOf = ({ least, most, cells }: Axis): readonly number[] =>
  Array.from({ length: cells + 1 }, (_, at) => {
    if (at === 0 || at === cells) return at === 0 ? least : most;
    // The width of a wide range, or its multiple, exceeds a double.
    if (!Number.isFinite((most - least) * cells)) return 2 * (least / 2 + ((most / 2 - least / 2) / cells) * at);
    return Math.min(most, least + ((most - least) * at) / cells);
  });
