/** Draws charts with links that filter the table: rewards, and the means of steps or files. */
import type { ComponentChildren } from "preact";
import { formatShare } from "../../text/units.ts";
import { relativePosition } from "../answer-queries.ts";
import type { Charts, Query, Range, RewardBounds, Slice } from "../answers.ts";
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

const Chart = ({ name, caption = name, x, y: [axis, top, bottom], legend, below, children }: ChartProps) => (
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

/** A count above a gray bar would seem to be that of the gray bar. */
const formatPart = (count: number, of: number) =>
  count < of ? `${formatCount(count)} of ${formatCount(of)}` : formatCount(of);

export const RewardChart = ({ bars }: { bars: Charts["rewards"] }) => {
  const { scale } = usePage();
  const styleOf = useRewardStyle();
  const highest = Math.max(1, ...bars.map(({ of }) => of));
  const slotWidth = 100 / Math.max(1, bars.length);
  const width = Math.min(slotWidth * 0.84, 12);
  const isCounted = bars.map(({ count, of }) => formatPart(count, of)).join("").length <= maxCountCharacters;
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
                {formatPart(count, of)}
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

type Series = Charts["series"][number];

type SeriesProps = Series & { whole: Slice; isFiltered: boolean; stepName: string };

/** Draws the mean rewards of steps or files with their intervals, and the shares of truncated and failed rollouts. */
export const SeriesChart = ({ by, values: given, of, whole, isFiltered, stepName }: SeriesProps) => {
  const styleOf = useRewardStyle();
  // Without a filter, the gray values would be behind equal ones.
  const values = isFiltered ? given : given.map(({ value, all }) => ({ value, all, selected: all }));
  const slices = values.flatMap(({ all, selected }) => (selected ? [all, selected] : [all]));
  const means = [whole, ...slices].flatMap(({ mean, ci95 }) => [mean ?? [], ci95 ?? []].flat());
  const { min, max } = findEnds(means, usePage().scale);
  const xOf = (at: number) => toX(at, 0, values.length - 1);
  const yOf = (value = 0) => toY(value, min, max);
  const nameOf = (value: string | null) => value?.split("/").at(-1) ?? `no ${by}`;
  const names = values.map(({ value }) => nameOf(value));
  const isNamed = names.join(" ").length <= maxCountCharacters;
  const kinds = shareKinds.filter((kind) => whole[kind] > 0);
  const drawLine = (key: "all" | "selected") => {
    const points = values.flatMap((value, at) => (value[key]?.mean == null ? [] : { at, y: yOf(value[key].mean) }));
    return points.slice(1).map(({ at, y }, before) => {
      const { at: from = 0, y: y1 } = points[before] ?? {};
      return <line key={at} class={`step ${key}`} x1={xOf(from)} y1={y1} x2={xOf(at)} y2={y} />;
    });
  };
  const drawInterval = (x: string, key: "all" | "selected", ci95: Slice["ci95"] | undefined) =>
    ci95 && <line class={`interval ${key}`} x1={x} x2={x} y1={yOf(ci95[0])} y2={yOf(ci95[1])} />;
  return (
    <Chart
      name={`mean reward by ${by === "step" ? stepName : by}`}
      legend={[
        whole.ci95 && <span title="the 95 % interval of all">┄ all</span>,
        values.length < of && `the first ${formatCount(values.length)} of ${formatCount(of)} values`,
        ...kinds.map((kind) => (
          <span key={kind} class={kind}>
            ■ {kind === "failures" ? "failed" : kind}
          </span>
        )),
      ]}
      x={isNamed ? names : [names[0], names.at(-1)]}
      y={["mean", formatMeasure(max), formatMeasure(min)]}
      below={kinds.length > 0 ? drawShares(values, kinds) : undefined}
    >
      {whole.ci95?.map((bound, side) => (
        <line key={side} class="band" x1="0" x2="100%" y1={yOf(bound)} y2={yOf(bound)} />
      ))}
      {isFiltered && drawLine("all")}
      {drawLine("selected")}
      {values.map(({ value, all, selected }, at) => {
        const { mean } = selected ?? all;
        if (mean === null) return null;
        const style = selected ? styleOf(mean) : { "--color": "var(--rest)" };
        const title = by === "step" && value !== null ? `${stepName} ${value}` : (value ?? nameOf(value));
        const point = [
          isFiltered && drawInterval(xOf(at), "all", all.ci95),
          drawInterval(xOf(at), "selected", selected?.ci95),
          <circle key="dot" class="dot" style={style} cx={xOf(at)} cy={yOf(mean)} r={4} />,
        ];
        if (value === null) return <g key={at}>{point}</g>;
        return (
          <FilterLink key={at} name={`${title}: ${describe(selected ?? all)}`} filter={{ [by]: value }}>
            {point}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

const shareKinds = ["truncated", "failures"] as const;
type ShareKind = (typeof shareKinds)[number];

const shareOf = (slice: Slice | null, kind: ShareKind) => {
  if (!slice) return 0;
  const rollouts = slice.trajectories + (kind === "failures" ? slice.failures : 0);
  return rollouts === 0 ? 0 : slice[kind] / rollouts;
};

const drawShares = (values: Series["values"], kinds: readonly ShareKind[]) => {
  const slices = values.flatMap(({ all, selected }) => [all, selected]);
  const highest = Math.max(0, ...slices.flatMap((slice) => kinds.map((kind) => shareOf(slice, kind)))) || 1;
  const width = Math.min(30 / values.length, 2);
  const children = values.flatMap(({ all, selected }, at) =>
    kinds.flatMap((kind, nth) =>
      [...new Set([all, selected])].map((slice) => {
        const height = (100 * shareOf(slice, kind)) / highest;
        const x = `calc(${toX(at, 0, values.length - 1)} + ${(nth - kinds.length / 2) * width}%)`;
        const size = { y: `${100 - height}%`, width: `${width}%`, height: `${height}%` };
        return (
          <rect
            key={`${at} ${kind} ${slice === all}`}
            class={slice === selected ? kind : "rest"}
            style={{ x }}
            {...size}
          />
        );
      }),
    ),
  );
  return { top: formatShare(highest), children };
};

const describe = ({ mean, ci95, trainable, groups, truncated, failures }: Slice) => {
  const interval = ci95 ? ` (${ci95.map(formatMeasure).join(" to ")})` : "";
  const counts = `${trainable} of ${pluralizeCount(groups, "group")} trainable`;
  return `a mean of ${formatMeasure(mean)}${interval}, ${counts}, ${formatCount(truncated)} truncated, ${formatCount(failures)} failed`;
};
