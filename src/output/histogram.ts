/** Draws distributions for a person: rewards as bars, lengths as a line of heights, metrics as a table; to the terminal's width. */
import type { Screen } from "./screen/screen.ts";
import { type Glyphs, glyphsOf, type Paint } from "./screen/style.ts";
import { cut, widthOf } from "./screen/width.ts";

/** A distribution: values in their order, and how often each came. */
export interface Distribution {
  readonly count: number;
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  /** Standard deviation. */
  readonly spread: number;
  readonly median: number;
  readonly weights: readonly { readonly value: number; readonly count: number }[];
}

/** What is drawn of trajectories. */
export interface Picture {
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
  readonly lengths: readonly { readonly name: string; readonly distribution: Distribution }[];
  readonly metrics: readonly { readonly name: string; readonly distribution: Distribution }[];
}

/** Draws distributions below a page. */
export const printHistograms = async (screen: Screen, picture: Picture): Promise<void> => {
  const { host, width, safe } = screen;
  const layout = { width, glyphs: glyphsOf(host), paint: await screen.paint(), clean: safe.line };
  const drawn = pictureLines(picture, layout);
  if (drawn.length > 0) await screen.print([`\n${drawn.join("\n")}\n`], { kind: "lines", paged: false });
};

interface PictureLayout {
  readonly width: number;
  readonly glyphs: Glyphs;
  readonly paint: Paint;
  /** Makes text from outside fit for one line. */
  readonly clean: (text: string) => string;
}

/** Different rewards that have a bar each; more of them share bars. */
const mostBars = 8;

const mostMetrics = 20;

/** The lines of a picture; none where there is nothing to draw, or no room. */
const pictureLines = (picture: Picture, layout: PictureLayout): readonly string[] => {
  if (picture.rewards.count === 0 || layout.width < narrowest) return [];
  return [...rewardLines(picture, layout), ...lengthLines(picture, layout), ...metricLines(picture, layout)]
    .map((line) => cut(line, layout.width))
    .map((line) => (line.startsWith(" ") || line === "" ? line : layout.paint("strong", line)));
};

const narrowest = 30;

const rewardLines = ({ rewards, groups, sampled }: Picture, { width, glyphs }: PictureLayout): readonly string[] => {
  const rows = barsOf(rewards, glyphs);
  const label = Math.max(...rows.map(({ name }) => widthOf(name)));
  const number = Math.max(...rows.map(({ count }) => String(count).length));
  const room = width - label - number - 6;
  const most = Math.max(...rows.map(({ count }) => count));
  const shares: readonly Share[] = [
    { title: "Groups whose rewards differ", part: groups.withSignal, of: groups.of },
    { title: "Trajectories with a choice", part: sampled.trajectories, of: sampled.of },
    { title: "Choices with logprobs", part: sampled.scored, of: sampled.choices },
  ];
  const [mean, median] = [`Rewards: ${meanText(rewards, glyphs)}`, `median ${numberText(rewards.median)}`];
  return [
    ...(widthOf(`${mean}, ${median}`) <= width ? [`${mean}, ${median}`] : [`${mean},`, `  ${median}`]),
    ...rows.map(({ name, count }) => {
      const bar = barOf(count / most, room, glyphs);
      return `  ${name.padStart(label)}  ${bar}${" ".repeat(room - widthOf(bar))}  ${String(count).padStart(number)}`;
    }),
    ...shares.flatMap((share) => (share.of === 0 ? [] : shareLines(share, { width, glyphs }))),
  ];
};

/** Some of a number, as a bar: `title` says which. */
interface Share {
  readonly title: string;
  readonly part: number;
  readonly of: number;
}

const shareLines = (
  { title, part, of }: Share,
  { width, glyphs }: Pick<PictureLayout, "width" | "glyphs">,
): readonly string[] => {
  const text = `${part} of ${of}, ${Math.round((part / of) * 100)}%`;
  const room = width - text.length - 4;
  const full = Math.round((part / of) * room);
  const bar = (glyphs.cells[0] ?? "#").repeat(full) + glyphs.rest.repeat(room - full);
  return [title, `  ${bar}  ${text}`];
};

/** A bar of a share of the room: whole cells, then a part of one; something is never nothing. */
const barOf = (share: number, room: number, { cells }: Glyphs): string => {
  const parts = Math.round(share * room * cells.length);
  const whole = Math.floor(parts / cells.length);
  const rest = parts % cells.length;
  const bar = (cells[0] ?? "#").repeat(whole) + (rest === 0 ? "" : (cells[cells.length - rest] ?? ""));
  return bar === "" && share > 0 ? (cells.at(-1) ?? "") : bar;
};

interface Bar {
  readonly name: string;
  readonly count: number;
}

const barsOf = (distribution: Distribution, glyphs: Glyphs): readonly Bar[] => {
  const { weights } = distribution;
  if (weights.length <= mostBars) return weights.map(({ value, count }) => ({ name: numberText(value), count }));
  const { start, step, count } = binsOf(distribution);
  const counts = binned(distribution, { start, step, count });
  const edge = (at: number): string => numberText(start + at * step);
  return counts.map((own, at) => ({ name: `${edge(at)} ${glyphs.to} ${edge(at + 1)}`, count: own }));
};

interface Bins {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** Bins with round edges over the bulk of a distribution; what is far outside is counted in the first and last. */
const binsOf = ({ weights, least, most, count }: Distribution): Bins => {
  const low = quantile(weights, count * 0.01);
  const high = quantile(weights, count * 0.99);
  const isFar = high > low && most - least > (high - low) * farTimes;
  const [from, to] = isFar ? [low, high] : [least, most];
  const rough = (to - from) / (mostBars - 2);
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = (roundSteps.find((one) => one * magnitude >= rough) ?? 10) * magnitude;
  const start = Math.floor(from / step) * step;
  return { start, step, count: Math.max(1, Math.ceil((to - start) / step + 1e-9)) };
};

/** How many times wider than its bulk a distribution is drawn. */
const farTimes = 10;

const roundSteps = [1, 2, 2.5, 5, 10];

const quantile = (weights: Distribution["weights"], passed: number): number => {
  let sum = 0;
  for (const { value, count } of weights) {
    sum += count;
    if (sum >= passed) return value;
  }
  return weights.at(-1)?.value ?? 0;
};

const binned = ({ weights }: Distribution, { start, step, count }: Bins): readonly number[] => {
  const counts = Array.from({ length: count }, () => 0);
  for (const { value, count: own } of weights) {
    // A value on an edge belongs to the bin that begins there, whatever a division makes of it.
    const bin = Math.min(count - 1, Math.max(0, Math.floor((value - start) / step + 1e-9)));
    counts[bin] = (counts[bin] ?? 0) + own;
  }
  return counts;
};

const lengthLines = ({ lengths }: Picture, { width, glyphs }: PictureLayout): readonly string[] => {
  const name = Math.max(...lengths.map((one) => one.name.length));
  const least = Math.max(...lengths.map(({ distribution }) => numberText(distribution.least).length));
  const rows = lengths.map((one) => {
    const { distribution } = one;
    const tail = `${numberText(distribution.most)}, median ${numberText(distribution.median)}`;
    return { name: one.name, least: numberText(distribution.least), tail, distribution };
  });
  const room = width - name - least - 6 - Math.max(...rows.map(({ tail }) => tail.length));
  return [
    "Lengths",
    ...rows.map((row) => {
      const heights = room < 4 ? "" : heightsOf(row.distribution, Math.min(room, 40), glyphs);
      return `  ${row.name.padEnd(name)}  ${row.least.padStart(least)} ${heights} ${row.tail}`;
    }),
  ];
};

const heightsOf = (distribution: Distribution, columns: number, { heights }: Glyphs): string => {
  const { least, most } = distribution;
  if (most === least) return heights.at(-1) ?? "";
  // Lengths are whole numbers: no column stands between two of them.
  const bins = Math.min(columns, most - least + 1);
  const counts = binned(distribution, { start: least, step: (most - least + 1) / bins, count: bins });
  const highest = Math.max(...counts);
  return counts
    .map((count) => (count === 0 ? " " : (heights[Math.ceil((count / highest) * heights.length) - 1] ?? "")))
    .join("");
};

const metricLines = ({ metrics }: Picture, { width, glyphs, clean }: PictureLayout): readonly string[] => {
  if (metrics.length === 0) return [];
  const rows = metrics.slice(0, mostMetrics).map(({ name, distribution }) => ({
    name: clean(name),
    mean: meanText(distribution, glyphs).slice("mean ".length),
    range: `${numberText(distribution.least)} ${glyphs.to} ${numberText(distribution.most)}`,
  }));
  const mean = Math.max(...rows.map((row) => widthOf(row.mean)));
  const range = Math.max(...rows.map((row) => widthOf(row.range)));
  const longest = Math.max(...rows.map((row) => widthOf(row.name)));
  const isNarrow = width - mean - range - 6 < Math.min(longest, fewestOfName);
  const name = Math.max(8, Math.min(longest, width - mean - (isNarrow ? 4 : range + 6)));
  const left = metrics.length - rows.length;
  return [
    `Metrics, mean ${glyphs.spread} spread${isNarrow ? "" : `, least ${glyphs.to} most`}`,
    ...rows.map((row) => {
      const label = cut(row.name, name);
      return `  ${label}${" ".repeat(name - widthOf(label))}  ${row.mean.padEnd(mean)}  ${isNarrow ? "" : row.range}`.trimEnd();
    }),
    ...(left > 0 ? [`  and ${left} more`] : []),
  ];
};

/** Columns that a metric's name has before the least and the most of it are shown too. */
const fewestOfName = 16;

const meanText = ({ mean, spread }: Distribution, glyphs: Glyphs): string =>
  `mean ${numberText(mean)} ${glyphs.spread} ${numberText(spread)}`;

/** A number in four digits. */
const numberText = (value: number): string => {
  const short = Number(value.toPrecision(4));
  return Math.abs(short) >= 1e7 || (short !== 0 && Math.abs(short) < 1e-4) ? short.toExponential() : String(short);
};
