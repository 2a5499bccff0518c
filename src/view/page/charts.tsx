/** The charts: rewards as bars, and groups and files as dots. A click filters the table. */
import type { ComponentChildren } from "preact";
import { relativePosition } from "../answer-queries.ts";
import type { Dot, FileSummary, RewardBounds, RewardCount } from "../answers.ts";
import type { Query, Range } from "../query.ts";
import { counted, formatCount, formatEdge, formatMeasure, formatRange } from "./format.ts";
import { moveFocus } from "./navigation.tsx";
import { useFilter, usePage } from "./page-context.ts";
import { useRewardStyle } from "./rewards.tsx";

interface ChartProps {
  readonly name: string;
  readonly caption?: string;
  readonly x: readonly ComponentChildren[];
  readonly y: readonly [name: string, top: string, bottom: string];
  readonly legend?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Moves the focus to the next or previous link of a chart, because a chart is one tab stop. */
const onArrowKey = (event: KeyboardEvent & { readonly currentTarget: SVGSVGElement }): void => {
  if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  moveFocus(event.currentTarget, "a", /Right|Down/.test(event.key) ? 1 : -1);
};

const Chart = ({ name, caption = name, x, y: [axis, top, bottom], legend, children }: ChartProps) => (
  <figure>
    <figcaption>
      <b>{caption}</b> {legend}
    </figcaption>
    <div class="axis y">
      {top}
      <span>{axis}</span>
      {bottom}
    </div>
    {/* biome-ignore lint/a11y: a fieldset holds no drawing, role img hides links, and the drawing is a tab stop */}
    <svg role="group" aria-label={name} tabindex={0} onKeyDown={onArrowKey}>
      {children}
    </svg>
    <div class="axis x">
      {x.map((text, at) => (
        <span key={at}>{text}</span>
      ))}
    </div>
  </figure>
);

type FilterLinkProps = { readonly name: string; readonly filter: Partial<Query>; readonly children: ComponentChildren };

const FilterLink = ({ name, filter, children }: FilterLinkProps) => {
  const { href, ...link } = useFilter(filter);
  return (
    <a href={href} {...link} aria-label={name} tabindex={-1}>
      <title>{name}</title>
      {children}
    </a>
  );
};

/** Positions have a margin, so that dots are inside the chart. */
const toX = (value: number, from: number, to: number): string => `${2 + relativePosition(value, from, to) * 96}%`;
const toY = (value: number, from: number, to: number): string => `${90 - relativePosition(value, from, to) * 76}%`;

const middleOf = ([from, to]: Range): number => from / 2 + to / 2;

/** Returns the bounds of the numbers inside the scale, and the labels of these bounds. */
const findEnds = (values: readonly number[], [from, to]: RewardBounds) => {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const [least, most] = [Math.max(first, from), Math.min(last, to)];
  const start = `${first < least ? "≤ " : ""}${formatMeasure(least)}`;
  return { least, most, start, end: `${last > most ? "≥ " : ""}${formatMeasure(most)}` };
};

const maxCountCharacters = 40;
const maxNamedBars = 8;

export const RewardChart = ({ bars }: { readonly bars: readonly RewardCount[] }) => {
  const { scale } = usePage();
  const styleOf = useRewardStyle();
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  const slotWidth = 100 / Math.max(1, bars.length);
  const width = Math.min(slotWidth * 0.84, 12);
  const isCounted = bars.length * formatCount(highest).length <= maxCountCharacters;
  const isByValue = bars.every(({ range: [from, to] }) => from === to);
  const isNamed = bars.length <= maxNamedBars && isByValue;
  const bounds = bars.flatMap(({ range: [from, to] }) => [from, to]);
  const axis = findEnds(bounds, isByValue ? [-Infinity, Infinity] : scale);
  const { start, end } = findEnds([...bounds, ...scale], scale);
  return (
    <Chart
      name="trajectories by reward"
      x={isNamed ? [] : [axis.start, "reward", axis.end]}
      y={["", formatCount(highest), "0"]}
      legend={[start, <i class="gradient" />, end]}
    >
      {bars.map(({ range, count }, at) => {
        if (count === 0) return null;
        const title = `${counted(count, "trajectory")} with a reward of ${formatRange(range)}`;
        const height = Math.max(1.5, (count / highest) * 84);
        const middle = (at + 0.5) * slotWidth;
        const [x, y] = [`${middle - width / 2}%`, `${100 - height}%`];
        return (
          <FilterLink key={at} name={title} filter={{ reward: range }}>
            <rect fill="transparent" x={`${at * slotWidth}%`} y={0} width={`${slotWidth}%`} height="100%" />
            <rect class="bar" style={styleOf(middleOf(range))} x={x} y={y} width={`${width}%`} height={`${height}%`} />
            {isCounted && (
              <text x={`${middle}%`} y={`${98 - height}%`}>
                {formatCount(count)}
              </text>
            )}
            {isNamed && (
              <text x={`${middle}%`} y="100%" dy="1.3em">
                {formatEdge(range[0])}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

const maxCountedDots = 8;

export const SpreadChart = ({ dots }: { readonly dots: readonly Dot[] }) => {
  const styleOf = useRewardStyle();
  const { scale } = usePage();
  const bounds = dots.flatMap(({ mean: [from, to] }) => [from, to]);
  const means = findEnds(bounds, scale);
  const spreads = findEnds([0, ...dots.map(({ spread }) => spread[1])], [0, scale[1] / 2 - scale[0] / 2]);
  const sorted = dots.toSorted((a, b) => b.groups - a.groups);
  const largest = Math.max(...dots.map(({ groups }) => groups), 1);
  return (
    <Chart
      name="groups by mean and spread"
      caption="groups"
      x={[means.start, "mean", means.end]}
      y={["spread", spreads.end, "0"]}
      legend={"larger: more groups, hollow: equal rewards"}
    >
      {sorted.map(({ mean, spread, groups }) => {
        const range = `a mean of ${formatRange(mean)} and a spread of ${formatRange(spread)}`;
        const [x, y] = [toX(middleOf(mean), means.least, means.most), toY(middleOf(spread), 0, spreads.most || 1)];
        const radius = 2.5 + 6 * Math.sqrt(groups / largest);
        const style = { ...styleOf(middleOf(mean)), ...(spread[1] === 0 && { fill: "transparent" }) };
        return (
          <FilterLink
            key={`${mean} ${spread}`}
            name={`${counted(groups, "group")} with ${range}`}
            filter={{ mean, spread }}
          >
            <circle class="dot" style={style} cx={x} cy={y} r={radius} />
            {dots.length <= maxCountedDots && (
              <text x={x} y={y} dy={-radius - 3}>
                {formatCount(groups)}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

/** The mean reward of each file. `of` is the number of all files. */
export const FileChart = ({ files, of }: { readonly files: readonly FileSummary[]; readonly of: number }) => {
  const styleOf = useRewardStyle();
  const means = files.flatMap(({ mean }) => mean ?? []);
  const { least, most, start, end } = findEnds(means, usePage().scale);
  const dots = files.flatMap(({ mean, ...file }, at) =>
    mean === null ? [] : [{ ...file, mean, x: toX(at, 0, files.length - 1), y: toY(mean, least, most) }],
  );
  const isPart = files.length > 0 && files.length < of;
  const partText = isPart ? `, the first ${formatCount(files.length)} of ${counted(of, "file")}` : "";
  return (
    <Chart
      name="mean reward by file"
      caption={`mean reward by file${partText}`}
      x={[files[0], files.at(-1)].map((file) => file?.file.split("/").at(-1))}
      y={["mean", end, start]}
    >
      {dots.slice(1).map(({ file, x, y }, at) => (
        <line key={file} class="step" x1={dots[at]?.x} y1={dots[at]?.y} x2={x} y2={y} />
      ))}
      {dots.map(({ file, mean, groups, trainable, x, y }) => {
        const share = `${trainable} of ${counted(groups, "group")} trainable`;
        return (
          <FilterLink key={file} name={`${file}: a mean of ${formatMeasure(mean)}, ${share}`} filter={{ file }}>
            <circle class="dot" style={styleOf(mean)} cx={x} cy={y} r={5} />
          </FilterLink>
        );
      })}
    </Chart>
  );
};
