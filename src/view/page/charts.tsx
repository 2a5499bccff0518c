/** Draws charts with links that filter the table: rewards, and the means of steps or files. */
import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { formatShare } from "../../text/units.ts";
import { relativePosition } from "../answer-queries.ts";
import type { Charts, Query, RewardBounds, SeriesKey, Slice, Summary } from "../answers.ts";
import { moveFocus, remSize, useFilter, usePage, useWidth } from "./navigation.tsx";
import { formatCount, formatMeasure, formatRange, pluralizeCount, useRewardStyle } from "./numbers.tsx";

interface ChartProps {
  name: string;
  box: RefObject<SVGSVGElement | null>;
  legend?: ComponentChildren;
  children: ComponentChildren;
}

/** A chart is one tab stop, so arrow keys move the focus inside the chart. */
const onArrowKey = (event: KeyboardEvent & { currentTarget: SVGSVGElement }) => {
  if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  moveFocus(event.currentTarget, "a", /Right|Down/.test(event.key) ? 1 : -1);
};

const Chart = ({ name, box, legend, children }: ChartProps) => (
  <figure>
    <figcaption>
      <b>{name}</b> {legend}
    </figcaption>
    {/* biome-ignore lint/a11y: a drawing with links needs the role group and a tab stop */}
    <svg role="group" aria-label={name} tabindex={0} onKeyDown={onArrowKey} ref={box}>
      {children}
    </svg>
  </figure>
);

/** Returns the width of a character of a label, in percent of the chart. */
const useCharacterWidth = (box: RefObject<SVGSVGElement | null>) => (50 * remSize()) / Math.max(1, useWidth(box));

const drawHeight = (text: string, y: string, dy = "0.3em") => (
  <text class="axis y" x="-6" y={y} dy={dy}>
    {text}
  </text>
);

/** The place is in percent. */
type Label = readonly [name: string, place: number];

/** Moves labels by up to half a character, and omits labels that would overlap, but not the last. */
const drawLabels = (labels: readonly Label[], characterWidth: number) => {
  const space = characterWidth / 2;
  const bounds = labels.map(([name, place]) => {
    const width = name.length * characterWidth;
    return { width, own: Math.max(0, Math.min(place - width / 2, 100 - width)) };
  });
  let end = Number.NEGATIVE_INFINITY;
  return labels.map(([name], at) => {
    const { width = 0, own = 0 } = bounds[at] ?? {};
    const start = Math.max(own, end + space);
    const limit = at === labels.length - 1 ? 100 : (bounds.at(-1)?.own ?? 0) - space;
    if (start - own > space || start + width > limit) return null;
    end = start + width;
    return (
      <text key={at} class="axis x" x={`${start + width / 2}%`} y="100%" dy="1.3em">
        {name}
      </text>
    );
  });
};

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

const findEnds = (values: readonly number[], [from, to]: RewardBounds) => {
  const [first, last] = [Math.min(...values), Math.max(...values)];
  const [min, max] = [Math.max(first, from), Math.min(last, to)];
  const start = `${first < min ? "≤ " : ""}${formatMeasure(min)}`;
  return { min, max, start, end: `${last > max ? "≥ " : ""}${formatMeasure(max)}` };
};

/** A count above a gray bar would seem to be that of the gray bar. */
const formatPart = (count: number, of: number) =>
  count < of ? `${formatCount(count)} of ${formatCount(of)}` : formatCount(of);

export const RewardChart = ({ bars }: { bars: Charts["rewards"] }) => {
  const { scale } = usePage();
  const styleOf = useRewardStyle();
  const box = useRef<SVGSVGElement>(null);
  const characterWidth = useCharacterWidth(box);
  const highest = Math.max(1, ...bars.map(({ of }) => of));
  const slotWidth = 100 / Math.max(1, bars.length);
  const width = Math.min(slotWidth * 0.84, 12);
  const isCounted = bars.every(({ count, of }) => formatPart(count, of).length * characterWidth <= slotWidth);
  const { start, end } = findEnds([...bars.flatMap(({ range: [from, to] }) => [from, to]), ...scale], scale);
  const isExact = bars.every(({ range: [from, to] }) => from === to);
  const ofBars = bars.map(({ range }, at): Label => [formatRange(range), (at + 0.5) * slotWidth]);
  const labels: readonly Label[] = isExact
    ? ofBars
    : [
        [start, 0],
        [end, 100],
      ];
  return (
    <Chart name="trajectories by reward" box={box}>
      {drawHeight(formatCount(highest), "16%")}
      {drawHeight("0", "100%")}
      {drawLabels(labels, characterWidth)}
      {bars.map(({ range, count, of }, at) => {
        if (of === 0) return null;
        const heightOf = (rewards: number) => (rewards === 0 ? 0 : Math.max(1.5, (rewards / highest) * 84));
        const middle = (at + 0.5) * slotWidth;
        const bar = (className: string, height: number) => (
          <rect
            class={className}
            style={styleOf(range[0] / 2 + range[1] / 2)}
            x={`${middle - width / 2}%`}
            y={`${100 - height}%`}
            width={`${width}%`}
            height={`${height}%`}
          />
        );
        const name = `${pluralizeCount(count, "trajectory")} with a reward of ${formatRange(range)}`;
        return (
          <FilterLink key={at} name={name} filter={{ reward: range }}>
            <rect class="slot" x={`${at * slotWidth}%`} width={`${slotWidth}%`} />
            {count < of && bar("rest", heightOf(of))}
            {bar("bar", heightOf(count))}
            {isCounted && count > 0 && (
              <text x={`${middle}%`} y={`${98 - heightOf(of)}%`}>
                {formatPart(count, of)}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

type SeriesProps = { by: SeriesKey; charts: Charts | undefined; summary: Summary };

/** Returns positions in percent. Numbers keep their distances, other values are evenly spaced, and null is last. */
const placeValues = (values: readonly (string | null)[]) => {
  const known = values.flatMap((value) => value ?? []);
  const isNumeric = known.every((value) => value.trim() !== "" && Number.isFinite(Number(value)));
  const places = known.map((value, at) => (isNumeric ? Number(value) : at));
  const [first = 0, last = 0] = [places[0], places.at(-1)];
  if (known.length < values.length) places.push(last + ((last - first) / known.length || 1));
  return places.map((place) => 2 + 96 * relativePosition(place, first, places.at(-1) ?? last));
};

/** Draws the mean rewards of steps or files with their intervals, and the shares of truncated and failed rollouts. */
export const SeriesChart = ({ by, charts, summary: { all: whole, stepName } }: SeriesProps) => {
  const { values: given = [], of = 0 } = charts?.series.find((series) => series.by === by) ?? {};
  const isFiltered = Boolean(charts?.selected);
  const styleOf = useRewardStyle();
  const box = useRef<SVGSVGElement>(null);
  const characterWidth = useCharacterWidth(box);
  // Without a filter, the gray values would be behind equal ones.
  const values = isFiltered ? given : given.map(({ value, all }) => ({ value, all, selected: all }));
  // With a filter, the axis stays.
  const means = [whole, ...values.map(({ all }) => all)].flatMap(({ mean, ci95 }) => [mean ?? [], ci95 ?? []].flat());
  const { min, max } = findEnds(means, usePage().scale);
  const places = placeValues(values.map(({ value }) => value));
  const xOf = (at: number) => `${places[at] ?? 0}%`;
  const kinds = shareKinds.filter((kind) => whole[kind] > 0);
  const height = kinds.length > 0 ? 54 : 80;
  const yOf = (value = 0) => `${10 + height * (1 - relativePosition(value, min, max))}%`;
  const shares = values.flatMap(({ all }) => kinds.map((kind) => shareOf(all, kind)));
  const highest = Math.max(0, ...shares) || 1;
  const isCut = values.some(({ selected }) => kinds.some((kind) => shareOf(selected, kind) > highest));
  const nameOf = (value: string | null) => value?.split("/").at(-1) ?? `no ${by}`;
  const labels = values.map(({ value }, at): Label => [nameOf(value), places[at] ?? 0]);
  const drawLine = (key: "all" | "selected") => {
    const points = values.flatMap((value, at) => (value[key]?.mean == null ? [] : { at, y: yOf(value[key].mean) }));
    return points.slice(1).map(({ at, y }, before) => {
      const { at: from = 0, y: y1 } = points[before] ?? {};
      return <line key={at} class={`step ${key}`} x1={xOf(from)} y1={y1} x2={xOf(at)} y2={y} />;
    });
  };
  const drawShares = (key: "all" | "selected") =>
    values.flatMap(({ [key]: slice }, at) =>
      kinds.map((kind, nth) => (
        <line
          key={`${at} ${kind}`}
          class={`share ${key} ${kind}`}
          transform={`translate(${barWidth * (nth - (kinds.length - 1) / 2)})`}
          x1={xOf(at)}
          x2={xOf(at)}
          y1="100%"
          y2={`${100 - 22 * Math.min(1, shareOf(slice, kind) / highest)}%`}
        />
      )),
    );
  const drawInterval = (x: string, key: "all" | "selected", ci95: Slice["ci95"] | undefined) =>
    ci95 && <line class={`interval ${key}`} x1={x} x2={x} y1={yOf(ci95[0])} y2={yOf(ci95[1])} />;
  return (
    <Chart
      name={`mean and 95 % interval by ${by === "step" ? stepName : by}`}
      box={box}
      legend={[
        whole.ci95 && <span title="the 95 % interval of all">┄ all</span>,
        values.length < of && `the first ${formatCount(values.length)} of ${formatCount(of)} values`,
        ...kinds.map((kind) => (
          <span key={kind} class={kind}>
            ■ {kind === "failures" ? "failed" : kind}
          </span>
        )),
      ]}
    >
      {drawHeight(formatMeasure(max), yOf(max))}
      {min < max && drawHeight(formatMeasure(min), yOf(min), "0")}
      {kinds.length > 0 && drawHeight(`${isCut ? "≥ " : ""}${formatShare(highest)}`, "80%")}
      {drawLabels(labels, characterWidth)}
      {whole.ci95?.map((bound, side) => (
        <line key={side} class="band" x1="0" x2="100%" y1={yOf(bound)} y2={yOf(bound)} />
      ))}
      {isFiltered && [drawShares("all"), drawLine("all")]}
      {drawShares("selected")}
      {drawLine("selected")}
      {values.map(({ value, all, selected }, at) => {
        const { mean } = selected ?? all;
        if (mean === null) return null;
        const style = selected ? styleOf(mean) : { "--color": "var(--rest)" };
        const title = by === "step" && value !== null ? `${stepName} ${value}` : (value ?? nameOf(value));
        const [left = 0, right = 0] = [-1, 1].map(
          (side) => ((places[at] ?? 0) + (places[at + side] ?? 50 + 50 * side)) / 2,
        );
        const point = [
          isFiltered && drawInterval(xOf(at), "all", all.ci95),
          drawInterval(xOf(at), "selected", selected?.ci95),
          <circle
            key="dot"
            class={mean < min || mean > max ? "dot outside" : "dot"}
            style={style}
            cx={xOf(at)}
            cy={yOf(mean)}
            r={4}
          />,
        ];
        if (value === null) return <g key={at}>{point}</g>;
        return (
          <FilterLink key={at} name={`${title}: ${describe(selected ?? all)}`} filter={{ [by]: value }}>
            <rect class="slot" x={`${left}%`} width={`${right - left}%`} />
            {point}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

/** In pixels, so that the bars of close steps do not overlap. As in page.css. */
const barWidth = 4;

const shareKinds = ["truncated", "failures"] as const;
type ShareKind = (typeof shareKinds)[number];

const shareOf = (slice: Slice | null, kind: ShareKind) => {
  if (!slice) return 0;
  const rollouts = slice.trajectories + (kind === "failures" ? slice.failures : 0);
  return rollouts === 0 ? 0 : slice[kind] / rollouts;
};

const describe = ({ mean, ci95, trainable, groups, truncated, failures }: Slice) => {
  const interval = ci95 ? ` (${ci95.map(formatMeasure).join(" to ")})` : "";
  const counts = `${trainable} of ${pluralizeCount(groups, "group")} trainable`;
  return `a mean of ${formatMeasure(mean)}${interval}, ${counts}, ${formatCount(truncated)} truncated, ${formatCount(failures)} failed`;
};
