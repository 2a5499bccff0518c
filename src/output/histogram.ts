/** Draws distributions for a person: rewards as bars, lengths as a line of heights, metrics as a table; to the terminal's width. */
import type { Screen } from "./screen.ts";
import { type Glyphs, selectGlyphs } from "./style.ts";
import { measureWidth, truncate } from "./width.ts";

/** Values in their order, and how often each came. */
interface Distribution {
  readonly count: number;
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  /** Standard deviation. */
  readonly spread: number;
  readonly median: number;
  readonly weights: readonly { readonly value: number; readonly count: number }[];
}

interface NamedDistribution {
  readonly name: string;
  readonly distribution: Distribution;
}

export interface Distributions {
  readonly rewards: Distribution;
  /** Groups whose rewards differ, of all. */
  readonly groups: { readonly withSignal: number; readonly of: number };
  /** Choices, those with logprobs, and the trajectories that have a choice, of all. */
  readonly sampled: {
    readonly choices: number;
    readonly scored: number;
    readonly trajectories: number;
    readonly of: number;
  };
  readonly lengths: readonly NamedDistribution[];
  readonly metrics: readonly NamedDistribution[];
}

/** Different rewards that have a bar each; more of them share bars. */
const maxBars = 8;

const maxMetrics = 20;

/** Columns in which nothing is drawn. */
const maxUnusableWidth = 29;

/** Draws distributions below a page. */
export const printHistograms = async (screen: Screen, picture: Distributions): Promise<void> => {
  const { host, width, safe } = screen;
  if (picture.rewards.count === 0 || width <= maxUnusableWidth) return;
  const layout = { width, glyphs: selectGlyphs(host), clean: safe.line };
  const paint = await screen.paint();
  const lines = [
    ...rewardLines(picture, layout),
    ...lengthLines(picture.lengths, layout),
    ...metricLines(picture.metrics, layout),
  ]
    .map((line) => truncate(line, width))
    .map((line) => (line.startsWith(" ") || line === "" ? line : paint("strong", line)));
  await screen.print([`\n${lines.join("\n")}\n`], { kind: "lines", isPaged: false });
};

interface Layout {
  readonly width: number;
  readonly glyphs: Glyphs;
  /** Makes text from outside fit for one line. */
  readonly clean: (text: string) => string;
}

const widest = (texts: readonly string[]): number => Math.max(...texts.map(measureWidth));

const rewardLines = ({ rewards, groups, sampled }: Distributions, layout: Layout): readonly string[] => {
  const { width, glyphs } = layout;
  const bars = computeBars(rewards, glyphs);
  const label = widest(bars.map(({ name }) => name));
  const number = widest(bars.map(({ count }) => String(count)));
  const room = width - label - number - 6;
  const most = Math.max(...bars.map(({ count }) => count));
  const [mean, median] = [`Rewards: mean ${meanText(rewards, glyphs)}`, `median ${numberText(rewards.median)}`];
  return [
    ...(measureWidth(`${mean}, ${median}`) <= width ? [`${mean}, ${median}`] : [`${mean},`, `  ${median}`]),
    ...bars.map(({ name, count }) => {
      const bar = drawBar(count / most, room, glyphs);
      return `  ${name.padStart(label)}  ${bar}${" ".repeat(room - measureWidth(bar))}  ${String(count).padStart(number)}`;
    }),
    ...shareLines("Groups whose rewards differ", groups.withSignal, groups.of, layout),
    ...shareLines("Trajectories with a choice", sampled.trajectories, sampled.of, layout),
    ...shareLines("Choices with logprobs", sampled.scored, sampled.choices, layout),
  ];
};

const shareLines = (title: string, part: number, of: number, { width, glyphs }: Layout): readonly string[] => {
  if (of === 0) return [];
  const text = `${part} of ${of}, ${Math.round((part / of) * 100)}%`;
  const room = width - text.length - 4;
  const full = Math.round((part / of) * room);
  return [title, `  ${glyphs.cells.charAt(0).repeat(full)}${glyphs.emptyCell.repeat(room - full)}  ${text}`];
};

/** A bar of a share of the room: whole cells, then a part of one; something is never nothing. */
const drawBar = (share: number, room: number, { cells }: Glyphs): string => {
  const parts = Math.round(share * room * cells.length);
  const rest = parts % cells.length;
  const bar =
    cells.charAt(0).repeat(Math.floor(parts / cells.length)) + (rest === 0 ? "" : cells.charAt(cells.length - rest));
  return bar === "" && share > 0 ? cells.slice(-1) : bar;
};

/** A bar for each value, or for each bin with round edges over the bulk of the values; the first and last also have those far outside. */
const computeBars = (
  distribution: Distribution,
  glyphs: Glyphs,
): readonly { readonly name: string; readonly count: number }[] => {
  const { weights, least, most, count } = distribution;
  if (weights.length <= maxBars) return weights.map((one) => ({ name: numberText(one.value), count: one.count }));
  const [low, high] = [quantile(weights, count * 0.01), quantile(weights, count * 0.99)];
  const isFar = high > low && most - least > (high - low) * maxStretch;
  const [from, to] = isFar ? [low, high] : [least, most];
  const rough = (to - from) / (maxBars - 2);
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = (roundSteps.find((one) => one * magnitude >= rough) ?? 10) * magnitude;
  const start = Math.floor(from / step) * step;
  const bins = Math.max(1, Math.ceil((to - start) / step + 1e-9));
  const edge = (at: number): string => numberText(start + at * step);
  return countByBin(weights, { start, step, bins }).map((own, at) => ({
    name: `${edge(at)} ${glyphs.rangeDash} ${edge(at + 1)}`,
    count: own,
  }));
};

/** How many times wider than its bulk a distribution is drawn. */
const maxStretch = 10;

const roundSteps = [1, 2, 2.5, 5, 10];

const quantile = (weights: Distribution["weights"], passed: number): number => {
  let sum = 0;
  for (const { value, count } of weights) {
    sum += count;
    if (sum >= passed) return value;
  }
  return weights.at(-1)?.value ?? 0;
};

const countByBin = (
  weights: Distribution["weights"],
  { start, step, bins }: { readonly start: number; readonly step: number; readonly bins: number },
): readonly number[] => {
  const counts = Array.from({ length: bins }, () => 0);
  for (const { value, count } of weights) {
    // A value on an edge belongs to the bin that begins there, whatever a division makes of it.
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((value - start) / step + 1e-9)));
    counts[bin] = (counts[bin] ?? 0) + count;
  }
  return counts;
};

const lengthLines = (lengths: Distributions["lengths"], { width, glyphs }: Layout): readonly string[] => {
  const rows = lengths.map(({ name, distribution }) => {
    const { least, most, median } = distribution;
    return { name, least: numberText(least), tail: `${numberText(most)}, median ${numberText(median)}`, distribution };
  });
  const name = widest(rows.map((row) => row.name));
  const least = widest(rows.map((row) => row.least));
  const room = width - name - least - 6 - widest(rows.map((row) => row.tail));
  return [
    "Lengths",
    ...rows.map((row) => {
      const heights = room < 4 ? "" : drawHeights(row.distribution, Math.min(room, 40), glyphs);
      return `  ${row.name.padEnd(name)}  ${row.least.padStart(least)} ${heights} ${row.tail}`;
    }),
  ];
};

const drawHeights = ({ least, most, weights }: Distribution, columns: number, { heights }: Glyphs): string => {
  if (most === least) return heights.slice(-1);
  // Lengths are whole numbers: no column is between two of them.
  const bins = Math.min(columns, most - least + 1);
  const counts = countByBin(weights, { start: least, step: (most - least + 1) / bins, bins });
  const highest = Math.max(...counts);
  return counts
    .map((count) => (count === 0 ? " " : heights.charAt(Math.ceil((count / highest) * heights.length) - 1)))
    .join("");
};

/** Columns of a metric's name next to which its least and its most are shown, and those that it always has. */
const minNameWithRange = 16;
const minName = 8;

const metricLines = (metrics: Distributions["metrics"], { width, glyphs, clean }: Layout): readonly string[] => {
  if (metrics.length === 0) return [];
  const rows = metrics.slice(0, maxMetrics).map(({ name, distribution }) => ({
    name: clean(name),
    mean: meanText(distribution, glyphs),
    range: `${numberText(distribution.least)} ${glyphs.rangeDash} ${numberText(distribution.most)}`,
  }));
  const mean = widest(rows.map((row) => row.mean));
  const range = widest(rows.map((row) => row.range));
  const longest = widest(rows.map((row) => row.name));
  const isNarrow = width - mean - range - 6 < Math.min(longest, minNameWithRange);
  const name = Math.max(minName, Math.min(longest, width - mean - (isNarrow ? 4 : range + 6)));
  const left = metrics.length - rows.length;
  return [
    `Metrics, mean ${glyphs.plusMinus} spread${isNarrow ? "" : `, least ${glyphs.rangeDash} most`}`,
    ...rows.map((row) => {
      const label = truncate(row.name, name);
      const own = `  ${label}${" ".repeat(name - measureWidth(label))}  ${row.mean.padEnd(mean)}`;
      return `${own}  ${isNarrow ? "" : row.range}`.trimEnd();
    }),
    ...(left > 0 ? [`  and ${left} more`] : []),
  ];
};

const meanText = ({ mean, spread }: Distribution, glyphs: Glyphs): string =>
  `${numberText(mean)} ${glyphs.plusMinus} ${numberText(spread)}`;

/** A number in four digits. */
const numberText = (value: number): string => {
  const short = Number(value.toPrecision(4));
  return Math.abs(short) >= 1e7 || (short !== 0 && Math.abs(short) < 1e-4) ? short.toExponential() : String(short);
};
