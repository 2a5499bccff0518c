/** Draws the summary, the charts and the table. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatPercent } from "../../text/units.ts";
import {
  allGroups,
  formatQuery,
  type GroupRow,
  type GroupRows,
  maxSearchLength,
  type PageState,
  type Query,
  rowsPerPage,
  type SearchMatch,
  type SortKey,
  type Summary,
} from "../answers.ts";
import { FileChart, RewardChart, SpreadChart } from "./charts.tsx";
import { linkTo, parseHash, replaceQuery, useFilter, useKeys, useLink, usePage } from "./navigation.tsx";
import { formatCount, formatMeasure, formatRange, Moments, pluralizeCount, Reward, RewardStrip } from "./numbers.tsx";
import { Facts, type PageColumn, Table } from "./sortable-table.tsx";
import { useAnswer } from "./use-answer.ts";

type GroupsProps = { state: PageState; summary: Summary };

export const Groups = ({ state, summary }: GroupsProps) => {
  const { latest: charts } = useAnswer("charts", allGroups);
  const { groups, groupFiles, trajectories } = summary;
  return (
    <>
      <SummaryFacts summary={summary} />
      <OmittedGroups state={state} summary={summary} />
      {groups.read === 0 ? (
        <p class="quiet">the input contains no groups</p>
      ) : (
        <div class="overview">
          {trajectories.read > trajectories.rejected && (
            <div class="charts" style={{ visibility: charts ? "visible" : "hidden" }}>
              <RewardChart bars={charts?.rewards ?? []} />
              <SpreadChart dots={charts?.dots ?? []} />
              {groupFiles > 1 && <FileChart files={charts?.files ?? []} of={groupFiles} />}
            </div>
          )}
          <div class="list">
            <Filters />
            <GroupTable state={state} />
          </div>
        </div>
      )}
    </>
  );
};

/** An empty table keeps the columns of the previous rows, so that nothing moves. */
let lastRows: readonly GroupRow[] = [];

const columnsOf = (query: Query, rows: readonly GroupRow[], summary?: Summary): readonly PageColumn<GroupRow>[] => {
  const { files = [], groupFiles = 0 } = summary ?? {};
  if (rows.length > 0) lastRows = rows;
  const sorting = (name: SortKey) => {
    const descending = query.sort === name ? !query.descending : name !== "group";
    const sort = () => location.assign(linkTo({ ...query, sort: name, descending, page: 1 }));
    return { name, class: "n", sort };
  };
  const promptCell = ({ group, prompt, match }: GroupRow) => (
    <div class="prompt">
      <a href={linkTo({ ...query, group: group + 1 })}>{prompt || <i>no prompt</i>}</a>
      {match && <Snippet match={match} />}
    </div>
  );
  const folder = commonFolder(files);
  const isKnown = (fact: (row: GroupRow) => unknown) => lastRows.some((row) => fact(row) !== null);
  const stepCell = ({ step }: GroupRow) => step && <span title={step}>{step}</span>;
  const errorsCell = ({ toolErrors }: GroupRow) => toolErrors !== null && formatCount(toolErrors);
  const column = (name: string, text: (row: GroupRow) => string | null | undefined) => {
    const classOf = ({ truncated }: GroupRow) => (name === "finish reason" && truncated > 0 ? "trouble" : "");
    const cell = (row: GroupRow) => (
      <span class={classOf(row)} title={text(row) ?? ""}>
        {text(row)}
      </span>
    );
    return lastRows.some((row) => text(row)) ? [{ name, class: "why", cell }] : [];
  };
  const fileCell = ({ file }: GroupRow) => (
    <span title={file}>{file.startsWith(folder) ? file.slice(folder.length) : file}</span>
  );
  return [
    { ...sorting("group"), cell: ({ group }) => formatCount(group + 1) },
    { name: "prompt", class: "words", cell: promptCell },
    { ...sorting("mean"), cell: ({ mean }) => <Reward value={mean} /> },
    { name: "rewards", class: "strips", cell: ({ rewards }) => <RewardStrip rewards={rewards} /> },
    { ...sorting("spread"), cell: ({ spread }) => formatMeasure(spread) },
    { ...sorting("size"), cell: ({ size }) => formatCount(size) },
    ...column("key", ({ key }) => key),
    ...(groupFiles > 1 ? [{ name: "file", class: "why", cell: fileCell }] : []),
    ...(isKnown(({ step }) => step) ? [{ ...sorting("step"), cell: stepCell }] : []),
    ...column("finish reason", ({ finish }) => finish),
    ...(isKnown(({ toolErrors }) => toolErrors) ? [{ ...sorting("tool errors"), cell: errorsCell }] : []),
    ...column("model", ({ logged }) => logged?.model),
    ...column("split", ({ logged }) => logged?.split),
    ...column("batch", ({ logged }) => logged?.batch),
    { ...sorting("trainable"), class: "why", cell: ({ untrainable }) => untrainable ?? "yes" },
    { ...sorting("problems"), cell: ({ rules }) => rules.length > 0 && formatCount(rules.length) },
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

const GroupTable = ({ state }: { state: PageState }) => {
  const { query } = usePage();
  const { latest, error } = useAnswer("rows", query, { isComplete: isSearched });
  const answer = error ? undefined : latest;
  const { selected = 0, of = 0, searched = null, rows = [] } = answer ?? {};
  const box = useRef<HTMLDivElement>(null);
  const pages = Math.max(1, Math.ceil(selected / rowsPerPage));
  const { page, sort, descending } = query;
  const link = useLink();
  useLayoutEffect(() => box.current?.scrollTo({ top: 0 }), [formatQuery(query)]);
  return (
    <section aria-label="groups">
      <p class="count" role="status">
        {answer && `${formatCount(selected)} of ${formatCount(of)} groups`}
        {!answer && (error === undefined ? "reading…" : "no groups:")}
        {searched !== null && searched.share < 1 && ` · searched ${formatPercent(searched.share, 1)}`}
        {error && <b class="trouble"> {error}</b>}
      </p>
      <div class="rows" ref={box} tabIndex={-1}>
        <Table
          name="groups"
          columns={columnsOf(query, rows, state.summary)}
          rows={rows}
          classOf={({ untrainable }) => (untrainable === null ? "" : "flat")}
          by={sort}
          isDescending={descending}
        />
        {answer?.selected === 0 && isSearched({ searched }) && (
          <p class="quiet">no group matches the filters and the search</p>
        )}
      </div>
      {pages > 1 && (
        <nav class="pages" aria-label="pages">
          {page > 1 && <a href={link({ page: page - 1 })}>‹ previous</a>}
          page {formatCount(page)} of {formatCount(pages)}
          {page < pages && <a href={link({ page: page + 1 })}>next ›</a>}
        </nav>
      )}
    </section>
  );
};

const isSearched = ({ searched }: Pick<GroupRows, "searched">) => searched === null || searched.share === 1;

const SummaryFacts = ({ summary }: { summary: Summary }) => {
  const link = useLink();
  const { files, fileCount, groups, trajectories, rules, trainable, exceptions, reward } = summary;
  const problems = rules.reduce((sum, { count }) => sum + count, 0);
  const invalid = [
    groups.rejected > 0 && pluralizeCount(groups.rejected, "group"),
    trajectories.rejected > 0 && pluralizeCount(trajectories.rejected, "trajectory"),
  ].filter(Boolean);
  return (
    <section class="facts" aria-label="summary">
      <h1 title={files.join("\n")}>
        {files[0] ?? "nothing"}
        {fileCount > 1 && <span class="quiet"> and {pluralizeCount(fileCount - 1, "other file")}</span>}
      </h1>
      <Facts
        facts={{
          "mean reward": trajectories.read > trajectories.rejected && <Moments {...reward} />,
          invalid: invalid.length > 0 && <span class="trouble">{invalid.join(", ")}</span>,
          exceptions: exceptions > 0 && <span class="trouble">{formatCount(exceptions)}</span>,
          problems: problems === 0 ? "none" : <a href={link({ problems: "any" })}>{formatCount(problems)}</a>,
          trainable: groups.read > 0 && `${formatCount(trainable)} of ${pluralizeCount(groups.read, "group")}`,
          trajectories: formatCount(trajectories.read),
          "read first": trajectories.read > trajectories.rejected && <a href={link({ reading: true })}>reading list</a>,
        }}
      />
      {problems > 0 && (
        <ul class="rules">
          {rules.map(({ rule, severity, count }) => (
            <li key={rule} class={severity}>
              <a href={link({ problems: rule })}>{rule}</a> {formatCount(count)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
};

const OmittedGroups = ({ state: { written }, summary }: GroupsProps) => {
  const { filteredOut, groups } = summary;
  const sentences = filteredOut.map(({ by, trajectories, groups: complete }) => {
    const more = complete === 0 ? "" : ` and ${pluralizeCount(complete, "group")}`;
    return `--${by} filtered out ${pluralizeCount(trajectories, "trajectory")}${more}`;
  });
  if (written && written.groups < groups.read) {
    sentences.push(`this page contains ${formatCount(written.groups)} of ${pluralizeCount(groups.read, "group")}`);
  }
  return sentences.length > 0 && <p class="quiet">{sentences.join(", ")}</p>;
};

const Filter = ({ name, filter }: { name: string; filter: Partial<Query> }) => <a {...useFilter(filter)}>{name}</a>;

const Filters = () => {
  const { reward, mean, spread, file } = usePage().query;
  return (
    <nav class="filters" aria-label="filters" tabIndex={-1}>
      <Filter name="trainable" filter={{ trainable: true }} />
      <Filter name="not trainable" filter={{ trainable: false }} />
      <Filter name="truncated" filter={{ truncated: true }} />
      <Filter name="with problems" filter={{ rule: "any" }} />
      <SearchField name="text" label="search text" />
      <SearchField name="where" label="where (CEL), such as reward > 0.5, then Enter" />
      {file !== undefined && <Filter name={`${file.split("/").at(-1)} ×`} filter={{ file }} />}
      {reward !== undefined && <Filter name={`a reward of ${formatRange(reward)} ×`} filter={{ reward }} />}
      {mean !== undefined && spread !== undefined && (
        <Filter name={`mean ${formatRange(mean)}, spread ${formatRange(spread)} ×`} filter={{ mean, spread }} />
      )}
    </nav>
  );
};

/** The delay for texts. Expressions wait for Enter, because an incomplete expression is invalid. */
const searchDelayMs = 250;

const SearchField = ({ name, label }: { name: "text" | "where"; label: string }) => {
  const { query } = usePage();
  const sought = query[name] ?? "";
  const [value, setValue] = useState(sought);
  const field = useRef<HTMLInputElement>(null);
  const searched = useRef(sought);
  useEffect(() => {
    // The own search arrives late, when the user may have typed more.
    if (sought !== searched.current) setValue(sought);
    searched.current = sought;
  }, [sought]);
  const search = () => {
    const refusal = `at most ${formatCount(maxSearchLength)} characters, found ${formatCount(value.length)}`;
    field.current?.setCustomValidity(value.length > maxSearchLength ? refusal : "");
    if (value !== sought && field.current?.reportValidity()) {
      searched.current = value;
      // A filter can have changed the query since the text was typed.
      replaceQuery({ ...parseHash(location.hash), page: 1, [name]: value || undefined });
    }
  };
  useEffect(() => {
    if (name === "where") return undefined;
    const timer = setTimeout(search, searchDelayMs);
    return () => clearTimeout(timer);
  }, [value]);
  useKeys(name === "text" ? { "/": () => field.current?.focus() } : {});
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => setValue(currentTarget.value);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    search();
  };
  return (
    <form noValidate onSubmit={onSubmit}>
      <input ref={field} type="search" aria-label={label} placeholder={label} value={value} onInput={onInput} />
      {name === "where" && value !== sought && <span>press Enter</span>}
    </form>
  );
};

export const Snippet = ({ match: { trajectory, before, text, after } }: { match: SearchMatch }) => (
  <span class="snippet">
    trajectory {trajectory + 1}: {before}
    <mark>{text}</mark>
    {after}
  </span>
);
