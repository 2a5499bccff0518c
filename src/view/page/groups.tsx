/** Draws the summary, the charts and the table. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { formatPercent } from "../../text/units.ts";
import { parsePosition } from "../answer-queries.ts";
import * as answers from "../answers.ts";
import { RewardChart, SeriesChart } from "./charts.tsx";
import { Filter, Filters, Snippet } from "./filters.tsx";
import { isNarrow, linkTo, remSize, replaceQuery, useLink, usePage, useWidth } from "./navigation.tsx";
import * as numbers from "./numbers.tsx";
import { PendingAnswer, ProblemList } from "./problems.tsx";
import { Facts, type PageColumn, Table } from "./sortable-table.tsx";
import { useAnswer } from "./use-answer.ts";

type GroupsProps = { state: answers.PageState; summary: answers.Summary };

export const Groups = ({ state, summary }: GroupsProps) => {
  const filters = answers.filtersOf(usePage().query);
  const isWhole = state.progress.phase === "read";
  const { latest: charts } = useAnswer("charts", isWhole ? filters : undefined);
  const { groups, trajectories } = summary;
  return (
    <>
      <SummaryFacts state={state} summary={summary} isWhole={isWhole} selected={charts?.selected ?? null} />
      {trajectories.read > trajectories.rejected && (
        <div class="charts" style={{ visibility: charts ? "visible" : "hidden" }}>
          <RewardChart bars={charts?.rewards ?? []} />
          {summary.series.map((by) => (
            <SeriesChart key={by} by={by} charts={charts} summary={summary} />
          ))}
        </div>
      )}
      {groups.read > 0 ? <GroupTable state={state} summary={summary} /> : <p>the input contains no groups</p>}
    </>
  );
};

type GroupColumn = PageColumn<answers.GroupRow>;

/** The columns in the order in which they leave a table that is too narrow. */
const optionalColumns = "trainable,problems,key,spread,size,file,tool errors,finish reason,failed,step,rewards".split(
  ",",
);

/** In rem: 40 characters. A narrow screen shows the prompt below the other columns. */
const promptWidth = () => (isNarrow() ? 0 : 23);

/** Hides columns until the others fit. The column that sorts the rows stays. */
const fitColumns = (columns: readonly GroupColumn[], { by, width }: { by: string; width: number }) => {
  const used = columns.reduce((sum, column) => sum + (column.width ?? promptWidth()), 0);
  let excess = used - width / remSize();
  const hidden = optionalColumns.flatMap((name) => {
    const column = columns.find((each) => each.name === name && name !== by);
    if (!column || excess <= 0) return [];
    excess -= column.width ?? 0;
    return column;
  });
  return { shown: columns.filter((column) => !hidden.includes(column)), hidden };
};

/** An empty table keeps the columns of the previous rows, so that nothing moves. */
let lastRows: readonly answers.GroupRow[] = [];

const columnsOf = (
  query: answers.Query,
  rows: readonly answers.GroupRow[],
  { files, groupFiles, stepName, all }: answers.Summary,
): readonly GroupColumn[] => {
  if (rows.length > 0) lastRows = rows;
  const sorting = (name: answers.SortKey, width: number) => {
    const descending = query.sort === name ? !query.descending : name !== "group" && name !== "mean";
    const sort = () => replaceQuery({ ...query, sort: name, descending, page: 1 });
    return { name, class: "n", width, sort };
  };
  const promptCell = ({ group, prompt, match }: answers.GroupRow) => (
    <div class="prompt">
      <a href={linkTo({ ...query, group: group + 1 })}>{prompt || <i>no prompt</i>}</a>
      {match && <Snippet match={match} />}
    </div>
  );
  const folder = commonFolder(files);
  const isKnown = (fact: (row: answers.GroupRow) => unknown) => lastRows.some((row) => fact(row) !== null);
  const failedCell = ({ failures }: answers.GroupRow) =>
    failures > 0 && <span class="trouble">{numbers.formatCount(failures)}</span>;
  const stepCell = ({ step }: answers.GroupRow) => step && <span title={step}>{step}</span>;
  const column = (name: string, text: (row: answers.GroupRow) => string | null) => {
    const classOf = ({ truncated }: answers.GroupRow) => (name === "finish reason" && truncated > 0 ? "trouble" : "");
    const cell = (row: answers.GroupRow) => (
      <span class={classOf(row)} title={text(row) ?? ""}>
        {text(row)}
      </span>
    );
    return lastRows.some((row) => text(row)) ? [{ name, class: "why", width: 8.4, cell }] : [];
  };
  const fileCell = ({ file }: answers.GroupRow) => (
    <span title={file}>{file.startsWith(folder) ? file.slice(folder.length) : file}</span>
  );
  const prompts: GroupColumn = { name: "prompt", class: "words", cell: promptCell };
  const stepWidth = Math.max(3.8, 1.2 + 0.62 * stepName.length);
  const steps: GroupColumn = { ...sorting("step", stepWidth), title: stepName, class: "n why", cell: stepCell };
  const errors: GroupColumn = {
    ...sorting("tool errors", 6.2),
    cell: ({ toolErrors }) => numbers.formatFact(toolErrors),
  };
  return [
    { ...sorting("group", 4), cell: ({ group }) => numbers.formatCount(group + 1) },
    prompts,
    { ...sorting("mean", 6.2), cell: ({ mean }) => <numbers.Reward value={mean} /> },
    { name: "rewards", width: 7.5, cell: ({ rewards }) => <numbers.RewardStrip rewards={rewards} /> },
    { ...sorting("spread", 5), cell: ({ spread }) => numbers.formatMeasure(spread) },
    { ...sorting("size", 3.8), cell: ({ size }) => numbers.formatCount(size) },
    ...column("key", ({ key }) => key),
    ...(groupFiles > 1 ? [{ name: "file", class: "why", width: 8.4, cell: fileCell }] : []),
    ...(isKnown(({ step }) => step) ? [steps] : []),
    ...column("finish reason", ({ finish }) => finish),
    ...(all.failures > 0 ? [{ ...sorting("failed", 4), cell: failedCell }] : []),
    ...(isKnown(({ toolErrors }) => toolErrors) ? [errors] : []),
    { ...sorting("trainable", 8.4), class: "why", cell: ({ untrainable }) => untrainable ?? "yes" },
    { ...sorting("problems", 6.2), cell: ({ rules }) => rules.length > 0 && numbers.formatCount(rules.length) },
  ];
};

export const commonFolder = ([first = "", ...others]: readonly string[]) => {
  const folders = first.split("/").slice(0, -1);
  const isShared = (at: number) => others.every((file) => file.split("/")[at] === folders[at]);
  const end = folders.findIndex((_, at) => !isShared(at));
  return folders
    .slice(0, end < 0 ? folders.length : end)
    .map((folder) => `${folder}/`)
    .join("");
};

export const GroupTable = ({ state, summary }: GroupsProps) => {
  const { query } = usePage();
  const { value, latest, error } = useAnswer("rows", query);
  const answer = error === undefined ? latest : value;
  const { selected = 0, of = 0, searched = 1, rows = [] } = answer ?? {};
  const box = useRef<HTMLDivElement>(null);
  const pages = Math.max(1, Math.ceil(selected / answers.rowsPerPage));
  const { page, sort, descending } = query;
  const link = useLink();
  const { shown, hidden } = fitColumns(columnsOf(query, rows, summary), { by: sort, width: useWidth(box) });
  useListPosition(box, rows);
  return (
    <section aria-label="groups">
      <Filters summary={summary}>
        <p class="count" role="status">
          {answer && `${numbers.formatCount(selected)} of ${numbers.pluralizeCount(of, "group")}`}
          {searched < 1 && ` · searched ${formatPercent(searched, 1)}`}
          {!answer && error === undefined && "reading…"}
        </p>
      </Filters>
      {!answer && error !== undefined && <PendingAnswer error={error} />}
      <div class="rows" ref={box} tabIndex={-1}>
        <Table
          name="groups"
          columns={shown}
          rows={rows}
          classOf={({ untrainable }) => (untrainable === null ? "" : "flat")}
          by={sort}
          isDescending={descending}
        />
        {answer && selected === 0 && searched === 1 && <p class="quiet">{explainEmptyTable(query, state)}</p>}
      </div>
      {answer && (hidden.length > 0 || pages > 1) && (
        <div class="tools">
          {hidden.length > 0 && (
            <p class="parts">
              hidden columns:{" "}
              {hidden.map(({ name, title = name, sort: sortBy }, at) => [
                at > 0 && ", ",
                sortBy ? (
                  <button type="button" class="sort" title={`sort by ${title}`} onClick={sortBy}>
                    {title}
                  </button>
                ) : (
                  title
                ),
              ])}
            </p>
          )}
          {pages > 1 && (
            <nav class="pages" aria-label="pages">
              {page > 1 && <a href={link({ page: page - 1 })}>‹ previous</a>}
              page {numbers.formatCount(page)} of {numbers.formatCount(pages)}
              {page < pages && <a href={link({ page: page + 1 })}>next ›</a>}
            </nav>
          )}
        </div>
      )}
    </section>
  );
};

const explainEmptyTable = ({ text, ...query }: answers.Query, { summary, written }: answers.PageState) => {
  const { step } = query;
  const own = written?.steps.find((each) => each.step === step);
  const filtered = answers.formatQuery(answers.filtersOf(query)) === "{}" ? [] : ["matches the filters"];
  const searched = text ? [`${parsePosition(text) ? "is at" : "contains"} “${text}”`] : [];
  if (own?.groups !== 0) return `no group ${[...filtered, ...searched].join(" and ")}`;
  return `${numbers.pluralizeCount(own.of, "group")} ${own.of === 1 ? "has" : "have"} ${summary?.stepName} ${step}, none is in this file`;
};

/** The positions of the list that the reader left, and of its page. */
let left = { list: "", rowsTop: 0, top: 0 };

/** The list keeps its position, and the row of the opened group, when the reader comes back. */
const useListPosition = (box: RefObject<HTMLElement | null>, rows: readonly answers.GroupRow[]) => {
  const { query, openedGroup } = usePage();
  const list = answers.formatQuery(query);
  const opened = useRef(openedGroup);
  useLayoutEffect(() => {
    const { current } = box;
    const isBack = left.list === list && opened.current !== undefined;
    current?.scrollTo({ top: isBack ? left.rowsTop : 0 });
    if (isBack) scrollTo(0, left.top);
    return () => {
      left = { list, rowsTop: current?.scrollTop ?? 0, top: scrollY };
    };
  }, [list]);
  useEffect(() => {
    if (rows.length === 0 || opened.current === undefined) return;
    const href = linkTo({ ...query, group: opened.current });
    box.current?.querySelector<HTMLElement>(`a[href="${CSS.escape(href)}"]`)?.focus();
    opened.current = undefined;
  }, [rows]);
};

type FactsProps = GroupsProps & { isWhole: boolean; selected: answers.Slice | null };

const SummaryFacts = ({ state, summary, isWhole, selected }: FactsProps) => {
  const { files, fileCount, findings, groups, trajectories, rules, all } = summary;
  const notes = [...describeOmitted(state, summary), ...summary.notes].join("; ");
  const style = { visibility: isWhole ? "visible" : "hidden" };
  const show = (cell: (slice: answers.Slice) => ComponentChildren) => [
    cell(selected ?? all),
    " ",
    <span class="all quiet" hidden={selected === null}>
      all: {cell(all)}
    </span>,
  ];
  const invalid = [
    groups.rejected > 0 && numbers.pluralizeCount(groups.rejected, "group"),
    trajectories.rejected > 0 && numbers.pluralizeCount(trajectories.rejected, "trajectory"),
  ].filter(Boolean);
  return (
    <section class="facts" aria-label="summary">
      <h1 title={files.join("\n")}>
        {files[0] ?? "nothing"}
        {fileCount > 1 && <span class="quiet"> and {numbers.formatCount(fileCount - 1)} more</span>}
      </h1>
      <Facts
        style={style}
        facts={{
          "mean reward": trajectories.read > trajectories.rejected && show((slice) => <numbers.Moments {...slice} />),
          invalid: invalid.length > 0 && <span class="trouble">{invalid.join(", ")}</span>,
          exceptions:
            all.failures > 0 &&
            show((slice) => {
              const count = numbers.formatCount(slice.failures);
              return slice === all && selected !== null ? count : <Filter name={count} filter={{ failed: true }} />;
            }),
          trainable:
            groups.read > 0 &&
            show((slice) => {
              const of = slice === all ? groups.read : slice.groups;
              return `${numbers.formatCount(slice.trainable)} of ${numbers.formatCount(of)}`;
            }),
          trajectories: show((slice) => numbers.formatCount(slice === all ? trajectories.read : slice.trajectories)),
        }}
      />
      <Facts
        style={style}
        facts={{
          "all problems":
            rules.length === 0
              ? "none"
              : rules.map(({ rule, severity, count }, at) => (
                  <span key={rule} class={severity}>
                    {at > 0 && ", "}
                    <Filter name={rule} filter={{ rule }} /> {numbers.formatCount(count)}
                  </span>
                )),
          "notes on all": notes !== "" && notes,
        }}
      />
      <ProblemList findings={findings} />
    </section>
  );
};

const describeOmitted = ({ written }: answers.PageState, { groups, stepName }: answers.Summary) => {
  const isPart = written && written.groups < groups.read;
  const known = written?.steps.filter((each) => each.groups > 0 && each.step !== null).reverse() ?? [];
  const steps = known.map((each) => `${each.groups} of ${stepName} ${each.step}`).join(", ");
  const count = `${numbers.formatCount(written?.groups ?? 0)} of ${numbers.pluralizeCount(groups.read, "group")}`;
  return [
    ...(isPart
      ? [`this page contains ${count}${steps && `: ${steps}`}`, "the numbers and plots are those of all"]
      : []),
    ...(written?.lacksLogprobs ? ["this page lacks the log probabilities"] : []),
  ];
};
