/** The first view: the summary, the charts, and the table of groups. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { GroupRow, PageState, Summary } from "../answers.ts";
import { allGroups, formatQuery, type Query, rowsPerPage, type SortKey } from "../query.ts";
import { RewardChart, RunChart, SpreadChart } from "./charts.tsx";
import { counted, formatCount, formatMeasure, formatPercent, formatRange } from "./format.ts";
import { moveFocus, useKeys } from "./keys.tsx";
import { Snippet } from "./match.tsx";
import { linkTo, replaceQuery } from "./navigation.ts";
import { Reward, RewardStrip } from "./rewards.tsx";
import { SearchField } from "./search.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { useAnswer } from "./use-answer.ts";

export const Groups = ({ state, query }: { readonly state: PageState; readonly query: Query }) => {
  const { summary, progress } = state;
  const isMeasured = progress.phase === "read";
  const { latest: charts = { runs: [], rewards: [], dots: [] } } = useAnswer("charts", allGroups, {
    edition: editionOf(state),
  });
  if (summary === undefined) return null;
  const { groups, runs, trajectories } = summary;
  return (
    <>
      <SummaryFacts summary={summary} query={query} />
      <FilteredOut summary={summary} groupsInPage={state.written?.groups ?? groups.read} />
      {groups.read === 0 ? (
        <p class="quiet">the input contains no groups</p>
      ) : (
        <div class="overview">
          {trajectories.read > trajectories.rejected && (
            <div class="charts">
              <RewardChart bars={charts.rewards} query={query} isMeasured={isMeasured} />
              <SpreadChart dots={charts.dots} query={query} isMeasured={isMeasured} />
              {runs > 1 && <RunChart files={charts.runs} of={runs} query={query} />}
            </div>
          )}
          <div>
            <Filters query={query} hasWhere={state.written === undefined} />
            <GroupTable state={state} query={query} />
          </div>
        </div>
      )}
    </>
  );
};

/** Maximum updates of the table and the charts during the measuring. */
const maxEditions = 20;

/** The twentieth that is measured, so that the table and the charts are updated. */
const editionOf = ({ progress: { phase, done, of } }: PageState): number =>
  phase === "read" ? maxEditions : Math.floor((done / Math.max(1, of)) * maxEditions);

/** Returns the columns of the table. Optional columns exist if a row has a value. */
const columnsOf = (query: Query, rows: readonly GroupRow[]): readonly TableColumn<GroupRow>[] => {
  const has = (name: "key" | "split" | "tokens" | "cost") => rows.some((row) => row[name] !== null);
  const column = (key: SortKey, cell: TableColumn<GroupRow>["cell"], own = "n"): TableColumn<GroupRow> => {
    const isOn = query.sort === key;
    // Numbers are sorted in descending order first.
    const descending = isOn ? !query.descending : key !== "group";
    const order = query.descending ? ("descending" as const) : ("ascending" as const);
    const sortAddress = linkTo({ ...query, sort: key, descending, page: 1 });
    return { name: key, class: own, cell, sortLink: sortAddress, order: isOn ? order : undefined };
  };
  const prompt = ({ group, words, match }: GroupRow) => (
    <div class="prompt">
      <a href={linkTo({ ...query, group: group + 1 })}>{words === "" ? <i>no prompt</i> : words}</a>
      {match && <Snippet match={match} />}
    </div>
  );
  const tokens = column("tokens", (row) => row.tokens !== null && formatCount(row.tokens));
  const cost = column("cost", (row) => row.cost !== null && Number(row.cost.toPrecision(6)));
  return [
    column("group", ({ group }) => formatCount(group + 1)),
    { name: "prompt", class: "words", cell: prompt },
    column("mean", ({ mean }) => <Reward value={mean} />),
    { name: "rewards", class: "strips", cell: ({ rewards }) => <RewardStrip rewards={rewards} /> },
    column("spread", ({ spread }) => formatMeasure(spread)),
    column("size", ({ size }) => formatCount(size)),
    ...(has("key")
      ? [{ name: "key", class: "why", cell: ({ key }: GroupRow) => <span title={key ?? ""}>{key}</span> }]
      : []),
    ...(has("split") ? [{ name: "split", class: "n", cell: ({ split }: GroupRow) => split }] : []),
    column("trainable", ({ untrainable }) => untrainable ?? "yes", "why"),
    column("problems", ({ problems }) => (problems === 0 ? "" : formatCount(problems))),
    ...(has("tokens") ? [tokens] : []),
    ...(has("cost") ? [cost] : []),
  ];
};

/** The state of the table that is restored on return. `group` was opened last. */
const lastTable = { table: "", top: 0, group: 0 };

export const rememberGroup = (group: number): void => {
  lastTable.group = group;
};

const GroupTable = ({ state, query }: { readonly state: PageState; readonly query: Query }) => {
  const { latest, error } = useAnswer("rows", query, {
    isComplete: ({ searched }) => searched === null || searched.share === 1,
    edition: editionOf(state),
  });
  const found = error === undefined ? latest : undefined;
  const { selected = 0, searched = null, rows = [] } = found ?? {};
  const box = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  /** The direction of the key that turned the page, until the new page gets the focus. */
  const turned = useRef<1 | -1 | undefined>(undefined);
  const isComplete = state.progress.phase === "read" && (searched === null || searched.share === 1);
  const pages = Math.max(1, Math.ceil(selected / rowsPerPage));
  const turnPage = (by: 1 | -1): void => {
    if (query.page + by < 1 || query.page + by > pages) return;
    turned.current = by;
    replaceQuery({ ...query, page: query.page + by });
  };
  const go = (by: 1 | -1) => () => moveFocus(body.current, "a", by) || turnPage(by);
  useKeys({ j: go(1), k: go(-1) });
  const table = formatQuery({ ...query, page: 1 });
  const isBack = useRef(lastTable.table === table);
  useLayoutEffect(() => () => void Object.assign(lastTable, { table, top: box.current?.scrollTop ?? 0 }), [table]);
  useLayoutEffect(() => {
    if (!isBack.current) box.current?.scrollTo({ top: 0 });
  }, [table, query.page]);
  useEffect(() => {
    if (turned.current !== undefined) moveFocus(body.current, "a", turned.current);
    turned.current = undefined;
    if (rows.length === 0 || !isBack.current) return;
    isBack.current = false;
    box.current?.scrollTo({ top: lastTable.top });
    const at = rows.findIndex(({ group }) => group + 1 === lastTable.group);
    const link = body.current?.rows[at]?.querySelector("a");
    link?.focus({ preventScroll: true });
    link?.scrollIntoView({ block: "nearest" });
  }, [rows]);
  return (
    <section aria-label="groups">
      <p class="count" role="status">
        {found !== undefined && `${formatCount(selected)} of ${formatCount(found.of)} groups`}
        {found === undefined && (error === undefined ? "reading…" : "no groups:")}
        {searched !== null && searched.share < 1 && ` · searched ${formatPercent(searched.share, 1)}`}
        {error !== undefined && <b class="trouble"> {error}</b>}
      </p>
      <div class="rows" ref={box}>
        <Table
          name="groups"
          columns={columnsOf(query, rows)}
          rows={rows}
          body={body}
          first={(query.page - 1) * rowsPerPage}
          count={selected}
          classOf={({ untrainable }) => (untrainable === null ? "" : "flat")}
        />
        {found?.selected === 0 && (
          <p class="quiet none">
            {isComplete ? "no group matches the filters and the search" : "no match yet, still reading"}
          </p>
        )}
      </div>
      {pages > 1 && <Pages query={query} pages={pages} />}
    </section>
  );
};

const Pages = ({ query, pages }: { query: Query; pages: number }) => {
  const { page } = query;
  return (
    <nav class="pages" aria-label="pages">
      {page > 1 && <a href={linkTo({ ...query, page: page - 1 })}>‹ previous</a>}
      page {formatCount(page)} of {formatCount(pages)}
      {page < pages && <a href={linkTo({ ...query, page: page + 1 })}>next ›</a>}
    </nav>
  );
};

const SummaryFacts = ({ summary, query }: { readonly summary: Summary; readonly query: Query }) => {
  const { files, groups, trajectories, rules, trainable, reward } = summary;
  const problems = rules.reduce((sum, { count }) => sum + count, 0);
  const [first = "nothing", ...others] = files;
  const invalid = [
    ...(groups.rejected > 0 ? [counted(groups.rejected, "group")] : []),
    ...(trajectories.rejected > 0 ? [counted(trajectories.rejected, "trajectory")] : []),
  ];
  const facts = [
    ...(trajectories.read > trajectories.rejected
      ? [["mean reward", `${formatMeasure(reward.mean)} ± ${formatMeasure(reward.spread)}`]]
      : []),
    ...(groups.read > 0 ? [["trainable", `${formatCount(trainable)} of ${counted(groups.read, "group")}`]] : []),
    ["trajectories", formatCount(trajectories.read)],
    ...(invalid.length > 0 ? [["invalid", invalid.join(", ")]] : []),
  ];
  return (
    <section class="facts" aria-label="summary">
      <h1 title={files.join("\n")}>
        {first}
        {others.length > 0 && <span class="quiet"> and {counted(others.length, "other file")}</span>}
      </h1>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>problems</dt>
          <dd>
            {problems === 0 ? "none" : <a href={linkTo({ ...query, problems: "any" })}>{formatCount(problems)}</a>}
          </dd>
        </div>
      </dl>
      {problems > 0 && (
        <ul class="rules">
          {rules.map(({ rule, severity, count }) => (
            <li key={rule} class={severity}>
              <a href={linkTo({ ...query, problems: rule })}>{rule}</a> {formatCount(count)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
};

const FilteredOut = ({ summary, groupsInPage: held }: { readonly summary: Summary; readonly groupsInPage: number }) => {
  const left = summary.leftOut.map(({ by, trajectories, groups }) => {
    const complete = groups === 0 ? "" : ` and ${counted(groups, "group")}`;
    return `--${by} filtered out ${counted(trajectories, "trajectory")}${complete}`;
  });
  const { read } = summary.groups;
  if (held < read) left.push(`this page contains ${formatCount(held)} of ${counted(read, "group")}`);
  return left.length === 0 ? null : <p class="quiet">{left.join(", ")}</p>;
};

/** The filters. An exported page has no filter by an expression. */
const Filters = ({ query, hasWhere: withWhere }: { query: Query; hasWhere: boolean }) => {
  const { reward, mean, spread, trainable, rule, file, text, where } = query;
  const link = (name: string, changed: Partial<Query>, isOn = true) => (
    <a class={isOn ? "on" : ""} href={linkTo({ ...query, page: 1, ...changed })}>
      {name}
    </a>
  );
  const search = (changed: Partial<Query>) => replaceQuery({ ...query, page: 1, ...changed });
  return (
    <nav class="filters" aria-label="filters">
      {link("trainable", { trainable: trainable === true ? undefined : true }, trainable === true)}
      {link("not trainable", { trainable: trainable === false ? undefined : false }, trainable === false)}
      {link("with problems", { rule: rule === "any" ? undefined : "any" }, rule === "any")}
      <SearchField
        label="search text"
        keyName="/"
        sought={text}
        search={(typed) => search({ text: typed || undefined })}
      />
      {withWhere && (
        <SearchField
          label="where (CEL), such as reward > 0.5, then Enter"
          isExpression
          sought={where}
          search={(typed) => search({ where: typed || undefined })}
        />
      )}
      {file !== undefined && link(`${file.split("/").at(-1)} ×`, { file: undefined })}
      {reward !== undefined && link(`a reward of ${formatRange(reward)} ×`, { reward: undefined })}
      {mean !== undefined &&
        spread !== undefined &&
        link(`mean ${formatRange(mean)}, spread ${formatRange(spread)} ×`, { mean: undefined, spread: undefined })}
    </nav>
  );
};
