/** The answers about one reading: rows, groups and trajectories are read from the input when they are asked for. */
import { checkWhere, drawnOf, trajectoriesOf } from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import type { Answers, Findings, Row, State, Summary } from "./answers.ts";
import { barsOf, dotsOf } from "./charts.ts";
import { detailOf, type Shown } from "./detail.ts";
import { findingsOf } from "./findings.ts";
import { newMeasures, untrainable } from "./measures.ts";
import { allGroups, type Query, rowsPerPage } from "./query.ts";
import { type Files, filesOf, runsOf } from "./runs.ts";
import { openSearches } from "./search.ts";
import { type Columns, neighborsOf, selectGroups } from "./select.ts";
import { wordsOf } from "./words.ts";

/** Names of files that a page gets. */
const maxFiles = 200;

/** Problems that a page gets. */
const maxFindings = 500;

/** The answers about a reading that is shown. */
export type Session = ReturnType<typeof openSession>;

export const openSession = (shown: Shown) => {
  const { reading, logged } = shown;
  const measures = newMeasures(reading);
  const findings = findingsOf(reading);
  const files = filesOf(reading);
  const { count } = measures;
  const rewardsKnown = (group: number) => (measures.isMeasured(group) ? measures.rewardsOf(group) : undefined);
  const searches = openSearches(reading, rewardsKnown);
  const summary = summaryOf(reading, files);
  const columns: Columns = {
    count,
    value: (key, group) => {
      if (key === "size") return reading.groups.trajectoriesOf(group);
      if (key === "problems") return findings.of(group).length;
      if (key === "trainable") return untrainable(reading, group) === undefined ? 1 : 0;
      return measures[key][group] ?? Number.NaN;
    },
    rewardsOf: measures.rewardsOf,
    rulesOf: (group) => findings.of(group).map(({ rule }) => rule),
    fileOf: files.of,
  };
  let isMeasured = false;
  let last: { readonly key: string; readonly order: Uint32Array } | undefined;
  const order = (query: Query) => {
    const search = searches.for(query);
    const searched = search?.ask() ?? null;
    const selection = { ...query, page: 1, group: undefined, trajectory: undefined, problems: undefined };
    // Whoever turns pages, or steps through groups, asks for the same order again.
    const key = JSON.stringify([selection, measures.done(), searched?.found]);
    if (last?.key !== key) {
      last = { key, order: selectGroups(columns, query, (group) => search === undefined || search.has(group)) };
    }
    return { searched, order: last.order };
  };
  const rowOf = async (group: number): Promise<Row> => {
    const number = (column: Float64Array): number | null => {
      const value = column[group] ?? Number.NaN;
      return Number.isFinite(value) ? value : null;
    };
    const { mean, spread, least, most, tokens, cost } = measures;
    return {
      group,
      words: await wordsOf(reading, group),
      size: reading.groups.trajectoriesOf(group),
      mean: number(mean),
      spread: number(spread),
      least: number(least),
      most: number(most),
      untrainable: untrainable(reading, group) ?? null,
      problems: findings.of(group).length,
      tokens: number(tokens),
      cost: number(cost),
      split: logged?.[group]?.split ?? null,
    };
  };
  /** The position of the group that a query shows; undefined if there is none. */
  const groupOf = ({ group = 0 }: Query): number | undefined => (group > 0 && group <= count ? group - 1 : undefined);
  const answers: Answers = {
    state: async () => {
      const recorded: State["recorded"] = (["tokens", "cost"] as const).filter(
        (key) => isMeasured && measures[key].some((value) => !Number.isNaN(value)),
      );
      return {
        progress: { phase: isMeasured ? "read" : "measuring", done: measures.done(), of: count },
        summary,
        recorded: logged === undefined ? recorded : [...recorded, "split"],
      };
    },
    charts: async () => ({
      runs: runsOf(reading, files, measures),
      rewards: barsOf(measures.rewards),
      dots: dotsOf(measures),
    }),
    problems: async ({ problems }) => findings.list(problems === "any" ? undefined : problems, maxFindings),
    async rows(query) {
      if (query.where !== undefined) await checkWhere(query.where);
      const { searched, order: selected } = order(query);
      const from = (query.page - 1) * rowsPerPage;
      const rows: Row[] = [];
      for (const group of selected.subarray(from, from + rowsPerPage)) rows.push(await rowOf(group));
      return { selected: selected.length, of: count, rows, searched };
    },
    async group(query) {
      const group = groupOf(query);
      if (group === undefined) return undefined;
      const neighbors = () => {
        try {
          return neighborsOf(order(query).order, group, count);
        } catch {
          // An expression of an address that is invalid selects no groups.
          return neighborsOf(order(allGroups).order, group, count);
        }
      };
      const { command, ...detail } = await detailOf(shown, group);
      return { ...detail, ...neighbors(), findings: findings.of(group), command };
    },
    async trajectory(query) {
      const group = groupOf(query);
      if (group === undefined || query.trajectory === undefined) return undefined;
      return (await trajectoriesOf(reading, group))[query.trajectory - 1]?.bytes.toString("utf8");
    },
  };
  return {
    ...answers,
    reading,
    /** The problems, up to a number. */
    findings: (max: number): Findings => findings.list(undefined, max),
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      await measures.measure(signal);
      isMeasured = true;
    },
    /** Ends its searches. */
    end: searches.end,
  };
};

const summaryOf = (reading: Shown["reading"], { names }: Files): Summary => {
  const { groups, trajectories } = checkResult(reading);
  const { mean, spread, least, most } = drawnOf(reading).rewards;
  const read = reading.sources.map(({ name, origin }) => origin?.files[0] ?? name);
  let withSignal = 0;
  for (let group = 0; group < reading.groups.count; group++) {
    if (untrainable(reading, group) === undefined) withSignal++;
  }
  return {
    // Several files of another tool are read as one.
    files: (names.length > read.length ? names : read).slice(0, maxFiles),
    runs: names.length < 2 ? 0 : names.length,
    groups,
    trajectories,
    rules: reading.problems.counts,
    withSignal,
    reward: { mean, spread, least, most },
    leftOut: Object.entries(reading.leftOut ?? {}).flatMap(([by, left]) =>
      left.trajectories + left.groups === 0 ? [] : [{ by, ...left }],
    ),
  };
};
