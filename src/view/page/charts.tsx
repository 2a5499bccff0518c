/** The charts: bars of rewards, dots of groups by mean and spread, and a line for each run. A click filters the table. */
import type { ComponentChildren } from "preact";
import type { Bar, Dot, Run } from "../answers.ts";
import { formatQuery, type Query, type Range } from "../query.ts";
import { shareIn } from "../select.ts";
import { addressOf } from "./address.ts";
import { counted, measure, number, rangeText } from "./text.ts";

interface ChartProps {
  readonly name: string;
  readonly caption: string;
  /** The texts below it: at its start, in the middle, and at its end. */
  readonly axis: readonly ComponentChildren[];
  readonly children: ComponentChildren;
}

const Chart = ({ name, caption, axis, children }: ChartProps) => (
  <figure>
    <figcaption>{caption}</figcaption>
    {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot contain a drawing; its marks are links, so it is a group and no picture */}
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

interface MarkProps {
  readonly name: string;
  readonly query: Query;
  readonly filter: Partial<Query>;
  readonly children: ComponentChildren;
}

/** A mark that filters the table by what it stands for, or removes that filter. */
const Mark = ({ name, query, filter, children }: MarkProps) => {
  const isOn = formatQuery({ ...query, ...filter }) === formatQuery(query);
  const cleared: Partial<Query> = Object.fromEntries(Object.keys(filter).map((key) => [key, undefined]));
  const address = addressOf({ ...query, page: 1, ...(isOn ? cleared : filter) });
  return (
    <a href={address} aria-label={name} class={isOn ? "on" : ""}>
      <title>{name}</title>
      {children}
    </a>
  );
};

interface Drawn {
  readonly query: Query;
  readonly isMeasured: boolean;
}

/** Positions in a chart: dots stay round, and are inside of it. */
const across = (share: number): string => `${2 + share * 96}%`;
const up = (share: number): string => `${93 - share * 86}%`;

/** How many trajectories have which reward. */
export const RewardChart = ({ bars, query, isMeasured }: Drawn & { readonly bars: readonly Bar[] }) => {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const width = 100 / Math.max(1, bars.length);
  const name = "rewards of trajectories";
  const axis = [measure(bars[0]?.range[0]), "reward", measure(bars.at(-1)?.range[1])];
  return (
    <Chart name={name} caption={`${name}${isMeasured ? "" : ", measuring…"}`} axis={axis}>
      {bars.map(({ range, count }, at) => {
        if (count === 0) return null;
        const title = `${counted(count, "trajectory")} with a reward of ${rangeText(range)}`;
        const height = Math.max(1.5, (count / most) * 94);
        const [x, y, own] = [at * width + width * 0.08, 100 - height, width * 0.84].map((share) => `${share}%`);
        return (
          <Mark key={at} name={title} query={query} filter={{ reward: range }}>
            <rect class="room" x={`${at * width}%`} y={0} width={`${width}%`} height="100%" />
            <rect class="bar" x={x} y={y} width={own} height={`${height}%`} />
          </Mark>
        );
      })}
    </Chart>
  );
};

/** Which groups have signal: their mean to the right, their spread up. */
export const SpreadChart = ({ dots, query, isMeasured }: Drawn & { readonly dots: readonly Dot[] }) => {
  const means = dots.flatMap(({ mean: [from, to] }) => [from, to]);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const widest = Math.max(...dots.map(({ spread }) => spread[1]), 0);
  const largest = Math.max(...dots.map(({ groups }) => groups), 1);
  const middle = ([from, to]: Range): number => from / 2 + to / 2;
  const name = "groups by mean and spread";
  const axis = [measure(least), `mean; spread up to ${measure(widest)}`, measure(most)];
  return (
    <Chart name={name} caption={`${name}${isMeasured ? "" : ", measuring…"}`} axis={axis}>
      {dots.map(({ mean, spread, groups }) => {
        const title = `${counted(groups, "group")} with a mean of ${rangeText(mean)} and a spread of ${rangeText(spread)}`;
        return (
          <Mark key={`${mean} ${spread}`} name={title} query={query} filter={{ mean, spread }}>
            <circle
              class={spread[1] === 0 ? "dot flat" : "dot"}
              cx={across(shareIn(middle(mean), least, most))}
              cy={up(shareIn(middle(spread), 0, widest || 1))}
              r={2.5 + 6 * Math.sqrt(groups / largest)}
            />
          </Mark>
        );
      })}
    </Chart>
  );
};

/** Runs that are named. */
const maxNamed = 12;

/** The color of a run: hues a golden angle apart stay different, however many there are. */
const colorOf = (run: number) => ({ class: "run", style: { "--hue": `${208 + run * 137.5}` } });

/** How the mean reward changes from file to file: over the steps of each run, or from run to run. */
export const RunChart = ({ files, of, query }: { files: readonly Run[]; of: number; query: Query }) => {
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
      const x = across(shareIn((areSteps ? file.step : null) ?? at, first, last));
      return [{ ...file, mean, x, y: up(shareIn(mean, least, most)) }];
    }),
  );
  const names = lines.flatMap(([one]) => one?.run ?? []);
  const nameOf = (file: Run | undefined) => file?.file.split("/").at(-1);
  const some =
    files.length > 0 && files.length < of ? `, the first ${number(files.length)} of ${counted(of, "file")}` : "";
  return (
    <div>
      <Chart
        name="mean reward by file"
        caption={`mean reward by file, ${measure(least)} to ${measure(most)}${some}`}
        axis={areSteps ? [number(first), "by number", number(last)] : [nameOf(files[0]), "", nameOf(files.at(-1))]}
      >
        {lines.map((line, run) => (
          <g key={line[0]?.file} {...colorOf(run)}>
            {line.slice(1).map(({ file, x, y }, at) => (
              <line key={file} class="step" x1={line[at]?.x} y1={line[at]?.y} x2={x} y2={y} />
            ))}
            {line.map(({ file, mean, groups, withSignal, x, y }) => {
              const name = `${file}: a mean of ${measure(mean)}, ${withSignal} of ${counted(groups, "group")} with signal`;
              return (
                <Mark key={file} name={name} query={query} filter={{ file }}>
                  <circle class="dot" cx={x} cy={y} r={5} />
                </Mark>
              );
            })}
          </g>
        ))}
      </Chart>
      {names.length > 1 && (
        <ul class="rules" aria-label="runs">
          {names.slice(0, maxNamed).map((name, at) => (
            <li key={name} {...colorOf(at)}>
              {name}
            </li>
          ))}
          {names.length > maxNamed && <li class="quiet">and {number(names.length - maxNamed)} more</li>}
        </ul>
      )}
    </div>
  );
};
