/** The charts: rewards as bars, groups as dots, and a line for each run. A click filters the table. */
import type { ComponentChildren } from "preact";
import type { Bar, Dot, FileSummary } from "../answers.ts";
import { formatQuery, type Query, type Range } from "../query.ts";
import { relativePosition } from "../select.ts";
import { counted, formatCount, formatEdge, formatMeasure, formatRange } from "./format.ts";
import { linkTo } from "./navigation.ts";

interface ChartProps {
  readonly name: string;
  readonly caption: string;
  /** The texts at the start, in the middle and at the end of the axis. */
  readonly axis: readonly ComponentChildren[];
  readonly children: ComponentChildren;
}

const Chart = ({ name, caption, axis, children }: ChartProps) => (
  <figure>
    <figcaption>{caption}</figcaption>
    {/* biome-ignore lint/a11y/useSemanticElements: a fieldset contains no drawing, and a picture no links */}
    <svg role="group" aria-label={name}>
      {children}
    </svg>
    <div class="axis">
      {axis.map((text, at) => (
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

interface ChartState {
  readonly query: Query;
  readonly isMeasured: boolean;
}

/** Positions in percent, with a margin so that dots are inside the chart. */
const toX = (share: number): string => `${2 + share * 96}%`;
const toY = (share: number): string => `${93 - share * 86}%`;

/** The number of trajectories by reward. */
export const RewardChart = ({ bars, query, isMeasured }: ChartState & { readonly bars: readonly Bar[] }) => {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const width = 100 / Math.max(1, bars.length);
  const name = "rewards of trajectories";
  const axis = [formatEdge(bars[0]?.range[0]), "reward", formatEdge(bars.at(-1)?.range[1])];
  return (
    <Chart name={name} caption={`${name}${isMeasured ? "" : ", measuring…"}`} axis={axis}>
      {bars.map(({ range, count }, at) => {
        if (count === 0) return null;
        const title = `${counted(count, "trajectory")} with a reward of ${formatRange(range)}`;
        const height = Math.max(1.5, (count / most) * 94);
        const [x, y, own] = [at * width + width * 0.08, 100 - height, width * 0.84].map((share) => `${share}%`);
        return (
          <FilterLink key={at} name={title} query={query} filter={{ reward: range }}>
            <rect class="room" x={`${at * width}%`} y={0} width={`${width}%`} height="100%" />
            <rect class="bar" x={x} y={y} width={own} height={`${height}%`} />
          </FilterLink>
        );
      })}
    </Chart>
  );
};

/** Groups by the mean (x) and the spread (y) of their rewards. */
export const SpreadChart = ({ dots, query, isMeasured }: ChartState & { readonly dots: readonly Dot[] }) => {
  const means = dots.flatMap(({ mean: [from, to] }) => [from, to]);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const widest = Math.max(...dots.map(({ spread }) => spread[1]), 0);
  const largest = Math.max(...dots.map(({ groups }) => groups), 1);
  const middle = ([from, to]: Range): number => from / 2 + to / 2;
  const name = "groups by mean and spread";
  const axis = [formatEdge(least), `mean (spread up to ${formatEdge(widest)})`, formatEdge(most)];
  return (
    <Chart name={name} caption={`${name}${isMeasured ? "" : ", measuring…"}`} axis={axis}>
      {dots.map(({ mean, spread, groups }) => {
        const range = `a mean of ${formatRange(mean)} and a spread of ${formatRange(spread)}`;
        const title = `${counted(groups, "group")} with ${range}`;
        return (
          <FilterLink key={`${mean} ${spread}`} name={title} query={query} filter={{ mean, spread }}>
            <circle
              class={spread[1] === 0 ? "dot flat" : "dot"}
              cx={toX(relativePosition(middle(mean), least, most))}
              cy={toY(relativePosition(middle(spread), 0, widest || 1))}
              r={2.5 + 6 * Math.sqrt(groups / largest)}
            />
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
        caption={`mean reward by file, ${formatMeasure(least)} to ${formatMeasure(most)}${some}`}
        axis={
          areSteps ? [formatCount(first), "by number", formatCount(last)] : [nameOf(files[0]), "", nameOf(files.at(-1))]
        }
      >
        {lines.map((line, run) => (
          <g key={line[0]?.file} {...colorOf(run)}>
            {line.slice(1).map(({ file, x, y }, at) => (
              <line key={file} class="step" x1={line[at]?.x} y1={line[at]?.y} x2={x} y2={y} />
            ))}
            {line.map(({ file, mean, groups, withSignal, x, y }) => {
              const trainable = `${withSignal} of ${counted(groups, "group")} trainable`;
              const name = `${file}: a mean of ${formatMeasure(mean)}, ${trainable}`;
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
