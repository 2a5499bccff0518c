/** Prints rewards on a terminal as bars. */

import { formatPercent } from "../text/units.ts";
import type { Screen } from "./screen.ts";
import { foldSentence } from "./width.ts";

const maxBars = 8;
const minWidth = 30;

interface Rewards
  extends Readonly<Record<"count" | "min" | "max" | "mean" | "spread" | "median" | "rangeStep", number>> {
  readonly weights: readonly { readonly value: number; readonly count: number }[];
}

export interface Distributions {
  readonly rewards: Rewards;
  readonly groups: Readonly<Record<"trainable" | "total", number>>;
  readonly sampled: Readonly<Record<"choices" | "choicesWithLogprobs" | "trajectories" | "total", number>>;
}

export const printHistograms = async (screen: Screen, { rewards, groups, sampled }: Distributions) => {
  const { width } = screen;
  if (rewards.count === 0 || width < minWidth) return;
  const paint = await screen.paint();
  const mean = `${formatNumber(rewards.mean)} ± ${formatNumber(rewards.spread)}`;
  const heading = foldSentence(`Rewards: mean ${mean}, median ${formatNumber(rewards.median)}`, width);
  const shares = [
    formatShare("groups have rewards that differ", groups.trainable, groups.total),
    formatShare("trajectories have a choice", sampled.trajectories, sampled.total),
    formatShare("choices have logprobs", sampled.choicesWithLogprobs, sampled.choices),
  ].flatMap((line) => (line ? foldSentence(line, width) : []));
  const lines = [...heading.map((line) => paint("strong", line)), ...drawBars(computeBars(rewards), width), ...shares];
  await screen.printUnpaged([`\n${lines.join("\n")}\n`], "lines");
};

const formatShare = (name: string, part: number, of: number) =>
  of > 0 && `${part} of ${of} ${name} (${formatPercent(part, of, Math.round)})`;

const drawBars = (bars: ReturnType<typeof computeBars>, width: number) => {
  const labelWidth = Math.max(...bars.map(({ name }) => name.length));
  const max = Math.max(...bars.map(({ count }) => count));
  const countWidth = String(max).length;
  const maxLength = width - labelWidth - countWidth - 6;
  return bars.map(({ name, count }) => {
    const length = count === 0 ? 0 : Math.max(1, Math.round((count / max) * maxLength));
    const bar = "█".repeat(length).padEnd(maxLength);
    return `  ${name.padStart(labelWidth)}  ${bar}  ${String(count).padStart(countWidth)}`;
  });
};

/** Returns at most eight ranges of rewards, or single rewards, with their numbers of trajectories. */
export const computeBars = ({ weights, min, max, rangeStep }: Omit<Rewards, "mean" | "spread" | "median">) => {
  if (weights.length <= maxBars && rangeStep === 0)
    return weights.map(({ value, count }) => ({ name: formatNumber(value, 6), count }));
  const minStep = (max - min) / (maxBars - 2);
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const decimalStep = ([1, 2, 2.5, 5].find((factor) => factor * magnitude >= minStep) ?? 10) * magnitude;
  // A rounded value represents a range, which an edge between bars must not divide.
  const step = rangeStep > 0 ? Math.max(2 ** Math.ceil(Math.log2(minStep)), rangeStep) : decimalStep;
  const start = Math.floor(min / step) * step;
  // Large rewards with small differences need many digits.
  const edge = (at: number) => formatNumber(start + at * step, 12);
  const length = Math.max(1, Math.ceil((max - start) / step - 1e-9));
  // Rounding errors must not move a value on an edge to the lower bar.
  const barOf = (value: number) => Math.min(length - 1, Math.floor((value - start) / step + 1e-9));
  return Array.from({ length }, (_, at) => {
    const count = weights.reduce((sum, weight) => sum + (barOf(weight.value) === at ? weight.count : 0), 0);
    return { name: `${edge(at)} – ${edge(at + 1)}`, count };
  });
};

const formatNumber = (value: number, digits = 4) => {
  const short = Number(value.toPrecision(digits));
  return Math.abs(short) >= 1e7 || (short !== 0 && Math.abs(short) < 1e-4) ? short.toExponential() : String(short);
};
