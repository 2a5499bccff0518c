/** Draws charts with links that filter the table. */
import type { ComponentChildren } from "preact";
import { relativePosition } from "../answer-queries.ts";
import type { Charts, Query, Range, RewardBounds } from "../answers.ts";
import { moveFocus, useFilter, usePage } from "./navigation.tsx";
import { formatCount, formatMeasure, formatRange, pluralizeCount, useRewardStyle } from "./numbers.tsx";

interface ChartProps {
  name: string;
  caption?: string;
  x: readonly ComponentChildren[];
  y: readonly [name: string, top: string, bottom: string];
  legend?: ComponentChildren;
  children: ComponentChildren;
}

/** A chart is one tab stop, so arrow keys move the focus inside the chart. */
const onArrowKey = (event: KeyboardEvent & { currentTarget: SVGSVGElement }) => {
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
    {/* biome-ignore lint/a11y: a drawing with links needs the role group and a tab stop */}
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

type FilterLinkProps = { name: string; filter: Partial<Query>; children: ComponentChildren };

const FilterLink = ({ name, filter, children }: FilterLinkProps) => {
  const { href, ...link } = useFilter(filter);
  return (
    <a href={href} {...link} aria-label={name} tabindex={-1}>
      <title>{name}</title>
      {children}
    </a>
  );
};

const toX = (value: number, from: number, to: number) => `${2 + relativePosition(value, from, to) * 96}%`;
const toY = (value: number, from: number, to: number) => `${90 - relativePosition(value, from, to) * 76}%`;

const middleOf = ([from, to]: Range) => from / 2 + to / 2;

const findEnds = (values: readonly number[], [from, to]: RewardBounds) => {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const [min, max] = [Math.max(first, from), Math.min(last, to)];
  const start = `${first < min ? "≤ " : ""}${formatMeasure(min)}`;
  return { min, max, start, end: `${last > max ? "≥ " : ""}${formatMeasure(max)}` };
};

const maxLabels = 8;
const maxCountCharacters = 40;

export const RewardChart = ({ bars }: { bars: Charts["rewards"] }) => {
  const { scale } = usePage();
  const styleOf = useRewardStyle();
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  const slotWidth = 100 / Math.max(1, bars.length);
  const width = Math.min(slotWidth * 0.84, 12);
  const isCounted = bars.length * formatCount(highest).length <= maxCountCharacters;
  const isLabeled = bars.length <= maxLabels;
  const { start, end } = findEnds([...bars.flatMap(({ range: [from, to] }) => [from, to]), ...scale], scale);
  return (
    <Chart
      name="trajectories by reward"
      x={isLabeled ? [] : [start, "reward", end]}
      y={["", formatCount(highest), "0"]}
      legend={[start, <i class="gradient" />, end]}
    >
      {bars.map(({ range, count }, at) => {
        if (count === 0) return null;
        const height = Math.max(1.5, (count / highest) * 84);
        const middle = (at + 0.5) * slotWidth;
        const [x, y] = [`${middle - width / 2}%`, `${100 - height}%`];
        const name = `${pluralizeCount(count, "trajectory")} with a reward of ${formatRange(range)}`;
        return (
          <FilterLink key={at} name={name} filter={{ reward: range }}>
            <rect fill="transparent" x={`${at * slotWidth}%`} width={`${slotWidth}%`} height="100%" />
            <rect class="bar" style={styleOf(middleOf(range))} x={x} y={y} width={`${width}%`} height={`${height}%`} />
            {isCounted && (
              <text x={`${middle}%`} y={`${98 - height}%`}>
                {formatCount(count)}
              </text>
            )}
            {isLabeled && (
              <text x={`${middle}%`} y="100%" dy="1.3em">
                {formatRange(range)}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

export const SpreadChart = ({ dots }: { dots: Charts["dots"] }) => {
  const styleOf = useRewardStyle();
  const { scale } = usePage();
  const means = findEnds(
    dots.flatMap(({ mean: [from, to] }) => [from, to]),
    scale,
  );
  const spreads = findEnds([0, ...dots.map(({ spread }) => spread[1])], [0, scale[1] / 2 - scale[0] / 2]);
  const sorted = dots.toSorted((a, b) => b.groups - a.groups);
  const largest = sorted[0]?.groups ?? 1;
  return (
    <Chart
      name="groups by mean and spread"
      caption="groups"
      x={[means.start, "mean", means.end]}
      y={["spread", spreads.end, "0"]}
      legend="A larger dot has more groups. A hollow dot has equal rewards."
    >
      {sorted.map(({ mean, spread, groups }) => {
        const range = `a mean of ${formatRange(mean)} and a spread of ${formatRange(spread)}`;
        const [x, y] = [toX(middleOf(mean), means.min, means.max), toY(middleOf(spread), 0, spreads.max || 1)];
        const radius = 2.5 + 6 * Math.sqrt(groups / largest);
        const style = { ...styleOf(middleOf(mean)), ...(spread[1] === 0 && { fill: "transparent" }) };
        return (
          <FilterLink key={range} name={`${pluralizeCount(groups, "group")} with ${range}`} filter={{ mean, spread }}>
            <circle class="dot" style={style} cx={x} cy={y} r={radius} />
            {dots.length <= maxLabels && (
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

/** `of` includes files that the chart omits. */
export const FileChart = ({ files, of }: { files: Charts["files"]; of: number }) => {
  const styleOf = useRewardStyle();
  const means = files.flatMap(({ mean }) => mean ?? []);
  const { min, max, start, end } = findEnds(means, usePage().scale);
  const dots = files.flatMap(({ mean, ...file }, at) =>
    mean === null ? [] : [{ ...file, mean, x: toX(at, 0, files.length - 1), y: toY(mean, min, max) }],
  );
  const isPart = files.length > 0 && files.length < of;
  return (
    <Chart
      name="mean reward by file"
      legend={isPart && `the first ${formatCount(files.length)} of ${pluralizeCount(of, "file")}`}
      x={[files[0], files.at(-1)].map((file) => file?.file.split("/").at(-1))}
      y={["mean", end, start]}
    >
      {dots.slice(1).map(({ file, x, y }, at) => (
        <line key={file} class="step" x1={dots[at]?.x} y1={dots[at]?.y} x2={x} y2={y} />
      ))}
      {dots.map(({ file, mean, groups, trainable, x, y }) => {
        const name = `${file}: a mean of ${formatMeasure(mean)}, ${trainable} of ${pluralizeCount(groups, "group")} trainable`;
        return (
          <FilterLink key={file} name={name} filter={{ file }}>
            <circle class="dot" style={styleOf(mean)} cx={x} cy={y} r={5} />
          </FilterLink>
        );
      })}
    </Chart>
  );
};
