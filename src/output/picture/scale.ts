/** The axes of a plot of models: logarithmic, with the values that are worth a tick, and what is written at them. */

/** An axis from `from` to `to`, both above zero. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  /** 0 at the axis' beginning, 1 at its end. */
  share(value: number): number;
}

/** The scale that holds all values; a single one stands in its middle. */
export const scaleOf = (values: Iterable<number>): Scale => {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const [from, to] = least < most ? [least, most] : most > 0 ? [least / 2, most * 2] : [1, 10];
  const [start, end] = [Math.log(from), Math.log(to)];
  return { from, to, share: (value) => (Math.log(value) - start) / (end - start) };
};

/** Steps between ticks, from close to far: powers of two, the unit being 1024 tokens. */
const doublings = [1, 2, 4, 8, 16, 32];

/** Ticks of an axis of token counts: 1024 times a power of two, at most so many. */
export const tokenTicks = ({ from, to }: Scale, most: number): readonly number[] => {
  const [first, last] = [Math.ceil(nearlyWhole(Math.log2(from / 1024))), Math.floor(nearlyWhole(Math.log2(to / 1024)))];
  const step = doublings.find((one) => (last - first) / one < most) ?? last - first + 1;
  const start = Math.ceil(first / step) * step;
  const ticks = Array.from(
    { length: Math.max(0, Math.floor((last - start) / step) + 1) },
    (_, at) => 1024 * 2 ** (start + at * step),
  );
  return atLeastTwo(ticks, { from, to });
};

/** An axis that is too short for round numbers has its ends. */
const atLeastTwo = (ticks: readonly number[], { from, to }: Pick<Scale, "from" | "to">): readonly number[] =>
  ticks.length < 2 ? [from, to] : ticks;

/** Parts of a power of ten that get a tick, from many to one. */
const parts = [[1, 2, 5], [1, 3], [1]];

/** Ticks of an axis of prices: 1, 2 and 5 times the powers of ten, or fewer of them; at most so many. */
export const priceTicks = ({ from, to }: Scale, most: number): readonly number[] => {
  const [first, last] = [Math.floor(Math.log10(from)), Math.floor(nearlyWhole(Math.log10(to)))];
  for (const step of [1, 2, 5, 10, 20, 50]) {
    for (const part of step === 1 ? parts : [[1]]) {
      const ticks: number[] = [];
      for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
        // A power of ten as it is written: 0.1, not its product of ten tenths.
        for (const factor of part) ticks.push(Number(`${factor}e${power}`));
      }
      const inside = ticks.filter((tick) => tick >= from * nearlyOne && tick <= to / nearlyOne);
      if (inside.length <= most) return atLeastTwo(inside, { from, to });
    }
  }
  return [from, to];
};

/** What a logarithm rounds off is no reason to leave out a tick. */
const nearlyOne = 1 - 1e-9;
const nearlyWhole = (value: number): number => (Math.abs(value - Math.round(value)) < 1e-9 ? Math.round(value) : value);

const tokenUnits = [
  [1024 ** 3, "G"],
  [1024 ** 2, "M"],
  [1024, "k"],
] as const;

/** A tick of tokens as people write it: `128k`, `1M`. */
export const tokenLabel = (tokens: number): string => {
  const [size, unit] = tokenUnits.find(([least]) => tokens >= least) ?? [1, ""];
  const count = tokens / size;
  return count < 1e4 ? `${Number(count.toPrecision(4))}${unit}` : Number(tokens.toPrecision(3)).toExponential();
};

/** A tick of prices: `0.05`, `20`; far outside of what anything costs, as a power of ten. */
export const priceLabel = (price: number): string => {
  const short = Number(price.toPrecision(3));
  return short >= 1e-4 && short < 1e6 ? String(short) : short.toExponential();
};

/** Name of the axis of context, with its unit. */
export const contextName = "context, tokens";

/** What the marked models are. */
export const bestValue = "best value: none is cheaper with as much context";
