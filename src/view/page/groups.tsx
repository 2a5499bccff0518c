/** The first page: what was read, where its rewards lie, and its groups. */
import { useRef } from "preact/hooks";
import { parametersOf } from "../query.ts";
import type { Charts, Row, Selection, SortKey, State, Summary } from "../shapes.ts";
import { askJson, useAnswer } from "./ask.ts";
import { RewardChart, SpreadChart } from "./charts.tsx";
import { groupAddress, groupsAddress, problemsAddress } from "./routes.ts";
import { RunChart } from "./run-chart.tsx";
import { SearchField } from "./search.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { counted, measure, number, rangeText } from "./text.ts";

export const Groups = ({ state, selection }: { readonly state: State; readonly selection: Selection }) => {
  const { summary, progress } = state;
  const isMeasured = progress.phase === "read";
  // What is measured meanwhile is asked for once all of it is there.
  const charts = useAnswer(`api/charts?${isMeasured ? "all" : "some"}`, askJson<Charts>);
  // What was drawn stays until there is more.
  const last = useRef<Charts>({ runs: [], rewards: [], dots: [] });
  if (charts.state === "there") last.current = charts.value;
  const drawn = last.current;
  if (summary === undefined) return null;
  return (
    <>
      <Facts summary={summary} />
      <LeftOut summary={summary} held={state.written?.groups} />
      {summary.groups.read === 0 ? (
        <p class="quiet">what was read holds no groups</p>
      ) : (
        <div class="overview">
          <div class="charts">
            <RewardChart bars={drawn.rewards} selection={selection} isMeasured={isMeasured} />
            <SpreadChart dots={drawn.dots} selection={selection} isMeasured={isMeasured} />
            {summary.runs > 1 && <RunChart runs={drawn.runs} of={summary.runs} selection={selection} />}
          </div>
          <div>
            <Filters selection={selection} withWhere={state.written === undefined} />
            <GroupTable state={state} selection={selection} isMeasured={isMeasured} />
          </div>
        </div>
      )}
    </>
  );
};

const columns: readonly TableColumn<Row, SortKey>[] = [
  { key: "group", name: "group", class: "n", cell: ({ group }) => number(group + 1) },
  {
    key: undefined,
    name: "prompt",
    class: "words",
    cell: ({ group, words }) => <a href={groupAddress(group)}>{words === "" ? <i>no prompt</i> : words}</a>,
  },
  { key: "size", name: "size", class: "n wide", cell: ({ size }) => number(size) },
  { key: "mean", name: "mean", class: "n", cell: ({ mean }) => measure(mean) },
  { key: "spread", name: "spread", class: "n wide", cell: ({ spread }) => measure(spread) },
  { key: "least", name: "least", class: "n wide", cell: ({ least }) => measure(least) },
  { key: "most", name: "most", class: "n wide", cell: ({ most }) => measure(most) },
  { key: "trainable", name: "trainable", class: "why", cell: ({ untrainable }) => untrainable ?? "yes" },
  {
    key: "problems",
    name: "problems",
    class: "n wide",
    cell: ({ problems }) => (problems === 0 ? "" : number(problems)),
  },
  { key: "tokens", name: "tokens", class: "n wide", cell: ({ tokens }) => tokens !== null && number(tokens) },
  { key: "cost", name: "cost", class: "n wide", cell: ({ cost }) => cost !== null && Number(cost.toPrecision(6)) },
];

/** The columns of what is recorded in any group; of what is in none there would be nothing in them. */
const columnsWith = (recorded: State["recorded"] = []): typeof columns =>
  columns.filter(({ key }) => (key !== "tokens" && key !== "cost") || recorded.includes(key));

const GroupTable = ({
  state: { recorded },
  selection,
  isMeasured,
}: {
  readonly state: State;
  readonly selection: Selection;
  readonly isMeasured: boolean;
}) => (
  <Table<Row, SortKey>
    noun="groups"
    path="api/rows"
    parameters={parametersOf(selection)}
    edition={isMeasured}
    columns={columnsWith(recorded)}
    sort={selection.sort}
    descending={selection.descending}
    addressOf={(sorted) => groupsAddress({ ...selection, ...sorted })}
    opens={({ group }) => groupAddress(group)}
    classOf={({ untrainable }) => (untrainable === null ? "" : "flat")}
    searching="searched"
  />
);

const rejected = ({ read, rejected: wrong }: Summary["groups"], noun: string): string =>
  wrong === 0 ? counted(read, noun) : `${counted(read, noun)}, ${number(wrong)} of them not valid`;

const Facts = ({ summary }: { readonly summary: Summary }) => {
  const { files, groups, trajectories, rules, withSignal, reward } = summary;
  const problems = rules.reduce((sum, { count }) => sum + count, 0);
  const [first = "nothing", ...others] = files;
  return (
    <section class="facts" aria-label="what was read">
      <h1 title={files.join("\n")}>
        {first}
        {others.length > 0 && <span class="quiet"> and {counted(others.length, "other file")}</span>}
      </h1>
      <dl>
        <Fact name="groups" value={rejected(groups, "group")} />
        <Fact name="trajectories" value={rejected(trajectories, "trajectory")} />
        {groups.read > 0 && <Fact name="with signal" value={counted(withSignal, "group")} />}
        {trajectories.read > trajectories.rejected && (
          <Fact name="reward" value={`${measure(reward.mean)} ± ${measure(reward.spread)}`} />
        )}
        <div>
          <dt>problems</dt>
          <dd>{problems === 0 ? "none" : <a href={problemsAddress()}>{number(problems)}</a>}</dd>
        </div>
      </dl>
      {problems > 0 && (
        <ul class="rules">
          {rules.map(({ rule, severity, count }) => (
            <li key={rule} class={severity}>
              <a href={problemsAddress(rule)}>{rule}</a> {number(count)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
};

const LeftOut = ({
  summary: { leftOut, groups },
  held = groups.read,
}: {
  readonly summary: Summary;
  /** How many groups a page in a file holds. */
  readonly held: number | undefined;
}) => {
  const left = leftOut.map(({ by, trajectories, groups: whole }) => {
    const wholly = whole === 0 ? "" : `, ${counted(whole, "group")} as a whole`;
    return `--${by} left out ${counted(trajectories, "trajectory")}${wholly}`;
  });
  if (held < groups.read) left.push(`this page holds ${number(held)} of the ${counted(groups.read, "group")}`);
  return left.length === 0 ? null : <p class="quiet">{left.join("; ")}</p>;
};

const Fact = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

const Filters = ({
  selection,
  withWhere,
}: {
  readonly selection: Selection;
  /** Whether an expression can be asked for: of a page in a file, what is chosen is chosen when it is written. */
  readonly withWhere: boolean;
}) => {
  const { reward, mean, spread, trainable, rule, file, text, where } = selection;
  const to = (changed: Partial<Selection>): string => groupsAddress({ ...selection, ...changed });
  return (
    <nav class="filters" aria-label="filters">
      <a class={trainable === true ? "on" : ""} href={to({ trainable: trainable === true ? undefined : true })}>
        trainable
      </a>
      <a class={trainable === false ? "on" : ""} href={to({ trainable: trainable === false ? undefined : false })}>
        not trainable
      </a>
      <a class={rule === "any" ? "on" : ""} href={to({ rule: rule === "any" ? undefined : "any" })}>
        with problems
      </a>
      <SearchField
        label="search for a text"
        keyName="/"
        sought={text}
        addressOf={(typed) => to({ text: typed || undefined })}
      />
      {withWhere && (
        <SearchField
          label="where: CEL, such as reward > 0.5"
          isExpression
          sought={where}
          addressOf={(typed) => to({ where: typed || undefined })}
        />
      )}
      {file !== undefined && (
        <a class="on" href={to({ file: undefined })}>
          {file.split("/").at(-1)} ×
        </a>
      )}
      {reward !== undefined && (
        <a class="on" href={to({ reward: undefined })}>
          a reward of {rangeText(reward)} ×
        </a>
      )}
      {mean !== undefined && spread !== undefined && (
        <a class="on" href={to({ mean: undefined, spread: undefined })}>
          mean {rangeText(mean)}, spread {rangeText(spread)} ×
        </a>
      )}
    </nav>
  );
};
