/** Answers queries about one input. Reads rows, groups and trajectories from the input on request. */
import type { Problem } from "../failure.ts";
import {
  checkFilter,
  collectDistributions,
  type Dataset,
  findProblemSubject,
  locateGroup,
  readGroupTrajectories,
} from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import type { Answers, Finding, Findings, GroupFacts, GroupRow, SearchMatch, Summary } from "./answers.ts";
import { computeDots, countRewards, summarizeFiles } from "./charts.ts";
import { readGroupDetail, type ViewInput } from "./detail.ts";
import { findMatch } from "./match.ts";
import { createMeasures, findUntrainableReason } from "./measures.ts";
import { readGroupHead } from "./prompt.ts";
import { allGroups, type Query, rowsPerPage } from "./query.ts";
import { openSearches } from "./searches.ts";
import { findNeighbors, type GroupColumns, selectGroups, selectStripRewards } from "./select.ts";

/** Maximum names of files, and problems, in an answer. */
const maxFiles = 200;
const maxFindings = 500;

export type ViewSession = ReturnType<typeof openSession>;

export const openSession = (shown: ViewInput) => {
  const { dataset, logged } = shown;
  const measures = createMeasures(dataset);
  const findings = indexFindings(dataset);
  const { count } = measures;
  const files = Array.from({ length: count }, (_, group) => locateGroup(dataset, group).file);
  const searches = openSearches(dataset, measures.knownRewards);
  const summary = summarizeDataset(dataset, [...new Set(files)]);
  const columns: GroupColumns = {
    count,
    value: (key, group) => {
      if (key === "size") return dataset.groups.trajectoriesOf(group);
      if (key === "problems") return findings.of(group).length;
      if (key === "trainable") return findUntrainableReason(dataset, group) === null ? 1 : 0;
      return measures[key][group] ?? Number.NaN;
    },
    rewardsOf: measures.rewardsOf,
    rulesOf: (group) => findings.of(group).map(({ rule }) => rule),
    fileOf: (group) => files[group] ?? "",
  };
  let isMeasured = false;
  const orderOf = (query: Query) => {
    const search = searches.for(query);
    const searched = search?.readProgress() ?? null;
    return { searched, order: selectGroups(columns, query, (group) => search?.has(group) ?? true) };
  };
  const matches = new Map<string, SearchMatch | null>();
  /** Finds the match of a searched text. The page polls, so matches stay in memory. */
  const matchOf = async (group: number, text: string): Promise<SearchMatch | null> => {
    const key = `${group} ${text}`;
    const known = matches.get(key);
    if (known !== undefined) return known;
    const trajectories = await readGroupTrajectories(dataset, group);
    const match = findMatch(
      trajectories.map(({ bytes }) => bytes.toString("utf8")),
      text,
    );
    matches.set(key, match);
    return match;
  };
  const factsOf = async (group: number, { text }: Query): Promise<GroupFacts> => ({
    group,
    ...(await readGroupHead(dataset, group, shown.inputOptions.groupBy)),
    // In JSON, NaN is null.
    mean: measures.mean[group] ?? null,
    spread: measures.spread[group] ?? null,
    untrainable: findUntrainableReason(dataset, group),
    ...(text === undefined ? {} : { match: await matchOf(group, text) }),
  });
  const rowOf = async (group: number, query: Query): Promise<GroupRow> => ({
    ...(await factsOf(group, query)),
    size: dataset.groups.trajectoriesOf(group),
    rewards: selectStripRewards(measures.rewardsOf(group)),
    problems: findings.of(group).length,
    split: logged?.[group]?.split ?? null,
  });
  const answers: Answers = {
    state: async () => ({
      progress: { phase: isMeasured ? "read" : "measuring", done: measures.done(), of: count },
      summary,
    }),
    charts: async () => ({
      files: summarizeFiles(dataset, files, measures),
      rewards: countRewards(measures.rewards),
      dots: computeDots(measures),
    }),
    problems: async ({ problems }) => findings.list(problems === "any" ? undefined : problems, maxFindings),
    async rows(query) {
      if (query.where !== undefined) await checkFilter(query.where);
      const { searched, order } = orderOf(query);
      const rows: GroupRow[] = [];
      const from = (query.page - 1) * rowsPerPage;
      for (const group of order.subarray(from, from + rowsPerPage)) rows.push(await rowOf(group, query));
      return { selected: order.length, of: count, rows, searched };
    },
    async group(query) {
      const { group: number = 0 } = query;
      if (number < 1 || number > count) return undefined;
      const group = number - 1;
      const neighbors = () => {
        try {
          return findNeighbors(orderOf(query).order, group, count);
        } catch {
          // The expression in the URL is invalid.
          return findNeighbors(orderOf(allGroups).order, group, count);
        }
      };
      const facts = await factsOf(group, query);
      return { ...facts, ...(await readGroupDetail(shown, group)), ...neighbors(), findings: findings.of(group) };
    },
    async trajectory({ group = 0, trajectory = 0 }) {
      if (group < 1 || group > count) return undefined;
      return (await readGroupTrajectories(dataset, group - 1))[trajectory - 1]?.bytes.toString("utf8");
    },
  };
  return {
    ...answers,
    dataset,
    row: async (group: number): Promise<GroupRow> => await rowOf(group, allGroups),
    findings: (max: number): Findings => findings.list(undefined, max),
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      await measures.measure(signal);
      isMeasured = true;
    },
    end: searches.end,
  };
};

const summarizeDataset = (dataset: Dataset, groupFiles: readonly string[]): Summary => {
  const { groups, trajectories } = checkResult(dataset);
  const { mean, spread, least, most } = collectDistributions(dataset).rewards;
  const read = dataset.sources.map(({ name, origin }) => origin?.files[0] ?? name);
  let trainable = 0;
  for (let group = 0; group < dataset.groups.count; group++) {
    if (findUntrainableReason(dataset, group) === null) trainable++;
  }
  return {
    // Several files of another tool are one source.
    files: (groupFiles.length > read.length ? groupFiles : read).slice(0, maxFiles),
    groupFiles: groupFiles.length,
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
    const own = byGroup.get(finding.group);
    if (own === undefined) byGroup.set(finding.group, [finding]);
    else own.push(finding);
  }
  return {
    of: (group: number): readonly Finding[] => byGroup.get(group) ?? [],
    /** The first problems of a rule, or of all rules. */
    list: (rule: string | undefined, max: number): Findings => {
      const wanted = all.filter((finding) => rule === undefined || finding.rule === rule);
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
