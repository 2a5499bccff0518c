/** The charts: rewards as bars, groups as dots, and a line for each run. A click filters the table. */
import type { ComponentChildren } from "preact";
import type { Bar, Dot, FileSummary } from "../answers.ts";
import { formatQuery, type Query, type Range } from "../query.ts";
import { relativePosition } from "../select.ts";
import { counted, formatCount, formatEdge, formatMeasure, formatRange } from "./format.ts";
import { linkTo } from "./navigation.ts";
import { RewardLegend, useRewardStyle } from "./rewards.tsx";

interface ChartProps {
  readonly name: string;
  /** Replaces the name above the chart. */
  readonly caption?: string;
  readonly isMeasured?: boolean;
  /** The texts at the start, in the middle and at the end of the horizontal axis. */
  readonly x: readonly ComponentChildren[];
  /** The name of the vertical axis, and its texts from top to bottom. */
  readonly y: readonly [name: string, top: string, bottom: string];
  readonly legend?: ComponentChildren;
  readonly children: ComponentChildren;
}

const Chart = ({ name, caption = name, isMeasured = true, x, y, legend, children }: ChartProps) => (
  <figure>
    <figcaption>
      <b>{caption}</b>
      {!isMeasured && ", measuring…"} {legend}
    </figcaption>
    <div class="axis y">
      {y[1]}
      <span>{y[0]}</span>
      {y[2]}
    </div>
    {/* biome-ignore lint/a11y/useSemanticElements: a fieldset contains no drawing, and a picture no links */}
    <svg role="group" aria-label={name}>
      {children}
    </svg>
    <div class="axis x">
      {x.map((text, at) => (
        <span key={at}>{text}</span>
      ))}
    </div>
  </figure>
);

interface FilterLinkProps {
  readonly name: string;
  readonly query: Query;
  readonly filter: Partial<Query>;
  readonly children: ComponentChildren;
}

/** A shape that adds or removes a filter of the table. */
const FilterLink = ({ name, query, filter, children }: FilterLinkProps) => {
  const isActive = formatQuery({ ...query, ...filter }) === formatQuery(query);
  const cleared: Partial<Query> = Object.fromEntries(Object.keys(filter).map((key) => [key, undefined]));
  const url = linkTo({ ...query, page: 1, ...(isActive ? cleared : filter) });
  return (
    <a href={url} aria-label={name} class={isActive ? "on" : ""}>
      <title>{name}</title>
      {children}
    </a>
  );
};

type ChartState = { readonly query: Query; readonly isMeasured: boolean };

/** Positions in percent, with a margin so that dots are inside the chart. */
const toX = (share: number): string => `${2 + share * 96}%`;
const toY = (share: number): string => `${90 - share * 76}%`;

const middleOf = ([from, to]: Range): number => from / 2 + to / 2;

/** Characters of counts that fit above the bars. */
const maxCountCharacters = 64;

/** Bars up to this number have their own reward below them. */
const maxNamedBars = 8;

/** The number of trajectories by reward. */
export const RewardChart = ({ bars, query, isMeasured }: ChartState & { readonly bars: readonly Bar[] }) => {
  const styleOf = useRewardStyle();
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const width = 100 / Math.max(1, bars.length);
  const own = Math.min(width * 0.84, 12);
  const edges = [formatMeasure(bars[0]?.range[0]), "reward", formatMeasure(bars.at(-1)?.range[1])];
  const isCounted = bars.length * formatCount(most).length <= maxCountCharacters;
  const isNamed = bars.length <= maxNamedBars && bars.every(({ range: [from, to] }) => from === to);
  return (
    <Chart
      name="trajectories by reward"
      isMeasured={isMeasured}
      x={isNamed ? [] : edges}
      y={["", formatCount(most), "0"]}
      legend={<RewardLegend />}
    >
      {bars.map(({ range, count }, at) => {
        if (count === 0) return null;
        const title = `${counted(count, "trajectory")} with a reward of ${formatRange(range)}`;
        const height = Math.max(1.5, (count / most) * 84);
        const middle = `${(at + 0.5) * width}%`;
        return (
          <FilterLink key={at} name={title} query={query} filter={{ reward: range }}>
            <rect fill="transparent" x={`${at * width}%`} y={0} width={`${width}%`} height="100%" />
            <rect
              class="bar"
              style={styleOf(middleOf(range))}
              x={`${(at + 0.5) * width - own / 2}%`}
              y={`${100 - height}%`}
              width={`${own}%`}
              height={`${height}%`}
            />
            {isCounted && (
              <text x={middle} y={`${98 - height}%`}>
                {formatCount(count)}
              </text>
            )}
            {isNamed && (
              <text class="below" x={middle} y="100%" dy="1.3em">
                {formatEdge(range[0])}
              </text>
            )}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

/** Dots up to this number have their count next to them. */
const maxCountedDots = 24;

/** Groups by the mean (x) and the spread (y) of their rewards. */
export const SpreadChart = ({ dots, query, isMeasured }: ChartState & { readonly dots: readonly Dot[] }) => {
  const styleOf = useRewardStyle();
  const means = dots.flatMap(({ mean: [from, to] }) => [from, to]);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const widest = Math.max(...dots.map(({ spread }) => spread[1]), 0);
  const largest = Math.max(...dots.map(({ groups }) => groups), 1);
  return (
    <Chart
      name="groups by mean and spread"
      caption="groups"
      isMeasured={isMeasured}
      x={[formatMeasure(least), "mean", formatMeasure(most)]}
      y={["spread", formatMeasure(widest), "0"]}
      legend={"larger: more groups, hollow: equal rewards"}
    >
      {dots.map(({ mean, spread, groups }) => {
        const range = `a mean of ${formatRange(mean)} and a spread of ${formatRange(spread)}`;
        const title = `${counted(groups, "group")} with ${range}`;
        const x = toX(relativePosition(middleOf(mean), least, most));
        const y = toY(relativePosition(middleOf(spread), 0, widest || 1));
        const radius = 2.5 + 6 * Math.sqrt(groups / largest);
        return (
          <FilterLink key={`${mean} ${spread}`} name={title} query={query} filter={{ mean, spread }}>
            <circle
              class="dot"
              style={{ ...styleOf(middleOf(mean)), ...(spread[1] === 0 && { fill: "transparent" }) }}
              cx={x}
              cy={y}
              r={radius}
            />
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

/** Maximum runs in the legend. */
const maxNamedRuns = 12;

/** The color of a run. Hues a golden angle apart differ for any number of runs. */
const colorOf = (run: number) => ({ class: "run", style: { "--hue": `${208 + run * 137.5}` } });

/** The mean reward of each file, with a line for each run over its steps. */
export const RunChart = ({ files, of, query }: { files: readonly FileSummary[]; of: number; query: Query }) => {
  const means = files.flatMap(({ mean }) => mean ?? []);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const steps = files.flatMap(({ step }) => step ?? []);
  const areSteps = steps.length === files.length && files.length > 0;
  const runs = [...new Set(files.map(({ run }) => run))].map((run) => files.filter((file) => file.run === run));
  const [first, last] = areSteps
    ? [Math.min(...steps), Math.max(...steps)]
    : [0, Math.max(...runs.map(({ length }) => length - 1))];
  const lines = runs.map((own) =>
    own.flatMap(({ mean, ...file }, at) => {
      if (mean === null) return [];
      const x = toX(relativePosition((areSteps ? file.step : null) ?? at, first, last));
      return [{ ...file, mean, x, y: toY(relativePosition(mean, least, most)) }];
    }),
  );
  const names = lines.flatMap(([one]) => one?.run ?? []);
  const nameOf = (file: FileSummary | undefined) => file?.file.split("/").at(-1);
  const some =
    files.length > 0 && files.length < of ? `, the first ${formatCount(files.length)} of ${counted(of, "file")}` : "";
  return (
    <div>
      <Chart
        name="mean reward by file"
        caption={`mean reward by file${some}`}
        x={
          areSteps
            ? [formatCount(first), "number in the name", formatCount(last)]
            : [nameOf(files[0]), nameOf(files.at(-1))]
        }
        y={["mean", formatMeasure(most), formatMeasure(least)]}
      >
        {lines.map((line, run) => (
          <g key={line[0]?.file} {...colorOf(run)}>
            {line.slice(1).map(({ file, x, y }, at) => (
              <line key={file} class="step" x1={line[at]?.x} y1={line[at]?.y} x2={x} y2={y} />
            ))}
            {line.map(({ file, mean, groups, trainable, x, y }) => {
              const share = `${trainable} of ${counted(groups, "group")} trainable`;
              const name = `${file}: a mean of ${formatMeasure(mean)}, ${share}`;
              return (
                <FilterLink key={file} name={name} query={query} filter={{ file }}>
                  <circle class="dot" cx={x} cy={y} r={5} />
                </FilterLink>
              );
            })}
          </g>
        ))}
      </Chart>
      {names.length > 1 && (
        <ul class="rules" aria-label="runs">
          {names.slice(0, maxNamedRuns).map((name, at) => (
            <li key={name} {...colorOf(at)}>
              {name}
            </li>
          ))}
          {names.length > maxNamedRuns && <li class="quiet">and {formatCount(names.length - maxNamedRuns)} more</li>}
        </ul>
      )}
    </div>
  );
};
