/** Answers queries about one input. Reads rows, groups and trajectories from the input on request. */

import type { Problem } from "../failure.ts";
import {
  checkFilter,
  collectDistributions,
  type Dataset,
  findProblemSubject,
  readGroupTrajectories,
} from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import type { Answers, Finding, Findings, GroupFacts, GroupRow, SearchMatch, Summary } from "./answers.ts";
import { computeBars, computeDots } from "./charts.ts";
import { readGroupDetail, type ViewInput } from "./detail.ts";
import { findMatch } from "./match.ts";
import { createMeasures, findUntrainableReason } from "./measures.ts";
import { readGroupHead } from "./prompt.ts";
import { allGroups, type Query, rowsPerPage } from "./query.ts";
import { type GroupFiles, indexFiles, summarizeFiles } from "./runs.ts";
import { openSearches } from "./searches.ts";
import { findNeighbors, type GroupColumns, selectGroups, selectStripRewards } from "./select.ts";

/** Maximum names of files, and problems, in an answer. */
const maxFiles = 200;
const maxFindings = 500;

/** Maximum matches in memory: several pages of the table. */
const maxMatches = 1000;

export type ViewSession = ReturnType<typeof openSession>;

export const openSession = (shown: ViewInput) => {
  const { dataset, logged } = shown;
  const measures = createMeasures(dataset);
  const findings = indexFindings(dataset);
  const files = indexFiles(dataset);
  const { count } = measures;
  const searches = openSearches(dataset, measures.knownRewards);
  const summary = summaryOf(dataset, files);
  const columns: GroupColumns = {
    count,
    value: (key, group) => {
      if (key === "size") return dataset.groups.trajectoriesOf(group);
      if (key === "problems") return findings.of(group).length;
      if (key === "trainable") return findUntrainableReason(dataset, group) === undefined ? 1 : 0;
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
    const searched = search?.readProgress() ?? null;
    const selection = { ...query, page: 1, group: undefined, trajectory: undefined, problems: undefined };
    // Turning pages and stepping through groups need the same order again.
    const key = JSON.stringify([selection, measures.done(), searched?.found]);
    if (last?.key !== key) {
      last = { key, order: selectGroups(columns, query, (group) => search === undefined || search.has(group)) };
    }
    return { searched, order: last.order };
  };
  const matches = new Map<string, SearchMatch | null>();
  /** Finds the match of a searched text. The page polls, so recent matches stay in memory. */
  const matchOf = async (group: number, text: string): Promise<SearchMatch | null> => {
    const key = `${group} ${text}`;
    const known = matches.get(key);
    if (known !== undefined) return known;
    const trajectories = await readGroupTrajectories(dataset, group);
    const match = findMatch(
      Array.from(trajectories, ({ bytes }) => bytes.toString("utf8")),
      text,
    );
    if (matches.size >= maxMatches) matches.clear();
    matches.set(key, match);
    return match;
  };
  const numberIn = (column: Float64Array, group: number): number | null => {
    const value = column[group] ?? Number.NaN;
    return Number.isFinite(value) ? value : null;
  };
  const factsOf = async (group: number, { text }: Query): Promise<GroupFacts> => ({
    group,
    ...(await readGroupHead(dataset, group, shown.inputOptions.groupBy)),
    mean: numberIn(measures.mean, group),
    spread: numberIn(measures.spread, group),
    untrainable: findUntrainableReason(dataset, group) ?? null,
    ...(text === undefined ? {} : { match: await matchOf(group, text) }),
  });
  const rowOf = async (group: number, query: Query): Promise<GroupRow> => ({
    ...(await factsOf(group, query)),
    size: dataset.groups.trajectoriesOf(group),
    rewards: selectStripRewards(measures.rewardsOf(group)),
    problems: findings.of(group).length,
    tokens: numberIn(measures.tokens, group),
    cost: numberIn(measures.cost, group),
    split: logged?.[group]?.split ?? null,
  });
  /** The position of a query's group; undefined if it does not exist. */
  const groupOf = ({ group = 0 }: Query): number | undefined => (group > 0 && group <= count ? group - 1 : undefined);
  const answers: Answers = {
    state: async () => ({
      progress: { phase: isMeasured ? "read" : "measuring", done: measures.done(), of: count },
      summary,
    }),
    charts: async () => ({
      runs: summarizeFiles(dataset, files, measures),
      rewards: computeBars(measures.rewards),
      dots: computeDots(measures),
    }),
    problems: async ({ problems }) => findings.list(problems === "any" ? undefined : problems, maxFindings),
    async rows(query) {
      if (query.where !== undefined) await checkFilter(query.where);
      const { searched, order: selected } = order(query);
      const from = (query.page - 1) * rowsPerPage;
      const rows: GroupRow[] = [];
      for (const group of selected.subarray(from, from + rowsPerPage)) rows.push(await rowOf(group, query));
      return { selected: selected.length, of: count, rows, searched };
    },
    async group(query) {
      const group = groupOf(query);
      if (group === undefined) return undefined;
      const neighbors = () => {
        try {
          return findNeighbors(order(query).order, group, count);
        } catch {
          // The expression in the URL is invalid.
          return findNeighbors(order(allGroups).order, group, count);
        }
      };
      const facts = await factsOf(group, query);
      return { ...facts, ...(await readGroupDetail(shown, group)), ...neighbors(), findings: findings.of(group) };
    },
    async trajectory(query) {
      const group = groupOf(query);
      if (group === undefined || query.trajectory === undefined) return undefined;
      return (await readGroupTrajectories(dataset, group))[query.trajectory - 1]?.bytes.toString("utf8");
    },
  };
  return {
    ...answers,
    dataset,
    findings: (max: number): Findings => findings.list(undefined, max),
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      await measures.measure(signal);
      isMeasured = true;
    },
    end: searches.end,
  };
};

const summaryOf = (dataset: Dataset, { names }: GroupFiles): Summary => {
  const { groups, trajectories } = checkResult(dataset);
  const { mean, spread, least, most } = collectDistributions(dataset).rewards;
  const read = dataset.sources.map(({ name, origin }) => origin?.files[0] ?? name);
  let trainable = 0;
  for (let group = 0; group < dataset.groups.count; group++) {
    if (findUntrainableReason(dataset, group) === undefined) trainable++;
  }
  return {
    // Several files of another tool are one source.
    files: (names.length > read.length ? names : read).slice(0, maxFiles),
    runs: names.length < 2 ? 0 : names.length,
    groups,
    trajectories,
    rules: dataset.problems.counts,
    trainable,
    reward: { mean, spread, least, most },
    leftOut: Object.entries(dataset.filteredOut ?? {}).flatMap(([by, left]) =>
      left.trajectories + left.groups === 0 ? [] : [{ by, ...left }],
    ),
  };
};

/** Indexes problems by group. */
const indexFindings = (dataset: Dataset) => {
  const { problems, sources } = dataset;
  const all = problems.sorted(sources.map(({ name }) => name)).map((problem) => toFinding(dataset, problem));
  const unlisted = problems.counts.reduce((sum, { count }) => sum + count, 0) - all.length;
  const byGroup = new Map<number | null, Finding[]>();
  for (const finding of all) {
    const own = byGroup.get(finding.group) ?? [];
    byGroup.set(finding.group, own);
    own.push(finding);
  }
  return {
    of: (group: number): readonly Finding[] => byGroup.get(group) ?? [],
    /** The first problems of a rule, or of all rules. */
    list: (rule: string | undefined, max: number): Findings => {
      const wanted = rule === undefined ? all : all.filter((finding) => finding.rule === rule);
      return { findings: wanted.slice(0, max), others: Math.max(0, wanted.length - max) + unlisted };
    },
  };
};

const toFinding = (dataset: Dataset, problem: Problem): Finding => {
  const { rule, severity, message, advice = "", file, line = 1, column = null } = problem;
  const place = file === undefined ? null : { file, line, column };
  const { group = null, trajectory = null, message: message_at = null } = findProblemSubject(dataset, problem) ?? {};
  return { rule, severity, message, advice, place, group, trajectory, message_at };
};
