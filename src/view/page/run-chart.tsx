/** How the mean reward goes from file to file: a line over the steps of each run, or from run to run. */
import { shareIn } from "../range.ts";
import type { Run, Selection } from "../shapes.ts";
import { Plot } from "./charts.tsx";
import { groupsAddress } from "./routes.ts";
import { counted, measure, number } from "./text.ts";

/** Colours of lines, and runs that are named. */
const colours = 6;
const mostNamed = 12;

/** A file that is drawn, and where. */
interface Placed extends Run {
  readonly x: string;
  readonly y: string;
}

export const RunChart = ({
  runs: files,
  of,
  selection,
}: {
  readonly runs: readonly Run[];
  readonly of: number;
  readonly selection: Selection;
}) => {
  const lines = linesOf(files);
  const means = lines.flat().flatMap(({ mean }) => mean ?? []);
  const names = lines.flatMap(([first]) => first?.run ?? []);
  return (
    <figure>
      <figcaption>
        mean reward by file, {measure(Math.min(...means))} to {measure(Math.max(...means))}
        {files.length > 0 && files.length < of && `, the first ${number(files.length)} of ${counted(of, "file")}`}
      </figcaption>
      <Plot name="mean reward by file">
        {lines.map((line, at) => (
          <Line key={line[0]?.file} line={line} colour={`run-${at % colours}`} selection={selection} />
        ))}
      </Plot>
      <Steps files={files} />
      {names.length > 1 && (
        <ul class="rules" aria-label="runs">
          {names.slice(0, mostNamed).map((name, at) => (
            <li key={name} class={`run-${at % colours}`}>
              {name}
            </li>
          ))}
          {names.length > mostNamed && <li class="quiet">and {number(names.length - mostNamed)} more</li>}
        </ul>
      )}
    </figure>
  );
};

/** The files of each run that have a mean, in their order: by their steps, where all files have one. */
const linesOf = (files: readonly Run[]): readonly (readonly Placed[])[] => {
  const means = files.flatMap(({ mean }) => mean ?? []);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const steps = files.flatMap(({ step }) => step ?? []);
  const areSteps = steps.length === files.length;
  const byRun = [...new Set(files.map(({ run }) => run))].map((run) => files.filter((file) => file.run === run));
  const [first, last] = areSteps
    ? [Math.min(...steps), Math.max(...steps)]
    : [0, Math.max(...byRun.map(({ length }) => length - 1))];
  return byRun.map((own) =>
    own.flatMap((file, at) => {
      if (file.mean === null) return [];
      const x = shareIn((areSteps ? file.step : null) ?? at, first, last);
      return [{ ...file, x: `${2 + x * 96}%`, y: `${93 - shareIn(file.mean, least, most) * 86}%` }];
    }),
  );
};

const Line = ({
  line,
  colour,
  selection,
}: {
  readonly line: readonly Placed[];
  readonly colour: string;
  readonly selection: Selection;
}) => (
  <g class={colour}>
    {line.slice(1).map(({ file, x, y }, at) => (
      <line key={file} class="step" x1={line[at]?.x} y1={line[at]?.y} x2={x} y2={y} />
    ))}
    {line.map(({ file, mean, groups, withSignal, x, y }) => {
      const isOn = selection.file === file;
      const name = `${file}: a mean of ${measure(mean)}, ${withSignal} of ${counted(groups, "group")} with signal`;
      const address = groupsAddress({ ...selection, file: isOn ? undefined : file });
      return (
        <a key={file} href={address} aria-label={name} class={isOn ? "on" : ""}>
          <title>{name}</title>
          <circle class="dot" cx={x} cy={y} r={5} />
        </a>
      );
    })}
  </g>
);

/** The first and the last: step, or file where one has none. */
const Steps = ({ files }: { readonly files: readonly Run[] }) => {
  const steps = files.flatMap(({ step }) => step ?? []);
  const nameOf = (file: Run | undefined) => file?.file.split("/").at(-1);
  const areSteps = steps.length === files.length && files.length > 0;
  return (
    <div class="axis">
      <span>{areSteps ? number(Math.min(...steps)) : nameOf(files[0])}</span>
      <span>{areSteps && "by number"}</span>
      <span>{areSteps ? number(Math.max(...steps)) : nameOf(files.at(-1))}</span>
    </div>
  );
};
