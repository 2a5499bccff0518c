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
  /** A second, low drawing with an axis from 0. */
  below?: { top: string; children: ComponentChildren } | undefined;
  children: ComponentChildren;
}

/** A chart is one tab stop, so arrow keys move the focus inside the chart. */
const onArrowKey = (event: KeyboardEvent & { currentTarget: SVGSVGElement }) => {
  if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  moveFocus(event.currentTarget, "a", /Right|Down/.test(event.key) ? 1 : -1);
};

export const Chart = ({ name, caption = name, x, y: [axis, top, bottom], legend, below, children }: ChartProps) => (
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
    {below && [
      <div class="axis y">
        {below.top}
        <span>0</span>
      </div>,
      <svg class="below" aria-hidden="true">
        {below.children}
      </svg>,
    ]}
    <div class="axis x">
      {x.map((text, at) => (
        <span key={at}>{text}</span>
      ))}
    </div>
  </figure>
);

type FilterLinkProps = { name: string; filter: Partial<Query>; children: ComponentChildren };

export const FilterLink = ({ name, filter, children }: FilterLinkProps) => {
  const { href, ...link } = useFilter(filter);
  return (
    <a href={href} {...link} aria-label={name} tabindex={-1}>
      <title>{name}</title>
      {children}
    </a>
  );
};

export const toX = (value: number, from: number, to: number) => `${2 + relativePosition(value, from, to) * 96}%`;
export const toY = (value: number, from: number, to: number) => `${90 - relativePosition(value, from, to) * 76}%`;

const middleOf = ([from, to]: Range) => from / 2 + to / 2;

export const findEnds = (values: readonly number[], [from, to]: RewardBounds) => {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const [min, max] = [Math.max(first, from), Math.min(last, to)];
  const start = `${first < min ? "≤ " : ""}${formatMeasure(min)}`;
  return { min, max, start, end: `${last > max ? "≥ " : ""}${formatMeasure(max)}` };
};

const maxLabels = 8;
export const maxCountCharacters = 40;

/** A count above a gray bar would seem to be that of the gray bar. */
const formatShare = (count: number, of: number) =>
  count < of ? `${formatCount(count)} of ${formatCount(of)}` : formatCount(of);

export const RewardChart = ({ bars }: { bars: Charts["rewards"] }) => {
  const { scale } = usePage();
  const styleOf = useRewardStyle();
  const highest = Math.max(1, ...bars.map(({ of }) => of));
  const slotWidth = 100 / Math.max(1, bars.length);
  const width = Math.min(slotWidth * 0.84, 12);
  const isCounted = bars.map(({ count, of }) => formatShare(count, of)).join("").length <= maxCountCharacters;
  const isLabeled = bars.length <= maxLabels;
  const { start, end } = findEnds([...bars.flatMap(({ range: [from, to] }) => [from, to]), ...scale], scale);
  return (
    <Chart
      name="trajectories by reward"
      x={isLabeled ? [] : [start, "reward", end]}
      y={["", formatCount(highest), "0"]}
      legend={[start, <i class="gradient" />, end]}
    >
      {bars.map(({ range, count, of }, at) => {
        if (of === 0) return null;
        const heightOf = (rewards: number) => (rewards === 0 ? 0 : Math.max(1.5, (rewards / highest) * 84));
        const middle = (at + 0.5) * slotWidth;
        const bar = (className: string, height: number) => (
          <rect
            class={className}
            style={styleOf(middleOf(range))}
            x={`${middle - width / 2}%`}
            y={`${100 - height}%`}
            width={`${width}%`}
            height={`${height}%`}
          />
        );
        const name = `${pluralizeCount(count, "trajectory")} with a reward of ${formatRange(range)}`;
        return (
          <FilterLink key={at} name={name} filter={{ reward: range }}>
            <rect fill="transparent" x={`${at * slotWidth}%`} width={`${slotWidth}%`} height="100%" />
            {count < of && bar("rest", heightOf(of))}
            {bar("bar", heightOf(count))}
            {isCounted && count > 0 && (
              <text x={`${middle}%`} y={`${98 - heightOf(of)}%`}>
                {formatShare(count, of)}
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
  const sorted = dots.toSorted((a, b) => b.of - a.of);
  const largest = sorted[0]?.of ?? 1;
  return (
    <Chart
      name="groups by mean and spread"
      caption="groups"
      x={[means.start, "mean", means.end]}
      y={["spread", spreads.end, "0"]}
      legend="larger: more groups, hollow: equal rewards"
    >
      {sorted.map(({ mean, spread, groups, of }) => {
        const range = `a mean of ${formatRange(mean)} and a spread of ${formatRange(spread)}`;
        const [x, y] = [toX(middleOf(mean), means.min, means.max), toY(middleOf(spread), 0, spreads.max || 1)];
        const radiusOf = (count: number) => 2.5 + 6 * Math.sqrt(count / largest);
        const style = { ...styleOf(middleOf(mean)), ...(spread[1] === 0 && { fill: "transparent" }) };
        return (
          <FilterLink key={range} name={`${pluralizeCount(groups, "group")} with ${range}`} filter={{ mean, spread }}>
            {groups < of && <circle class="rest" cx={x} cy={y} r={radiusOf(of)} />}
            {groups > 0 && <circle class="dot" style={style} cx={x} cy={y} r={radiusOf(groups)} />}
            {dots.length <= maxLabels && groups > 0 && (
              <text x={x} y={y} dy={-radiusOf(of) - 3}>
                {formatShare(groups, of)}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};
