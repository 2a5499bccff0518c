/** The groups of one input, which are read on request and measured in the background. */
import type { Problem } from "../failure.ts";
import {
  checkFilter,
  collectDistributions,
  type Dataset,
  findProblemSubject,
  locateGroup,
  readGroupTrajectories,
  type SearchQuery,
  searchGroups,
} from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import { createAnswers, type GroupStore, selectStripRewards } from "./answer-queries.ts";
import type { Finding, GroupRows, Summary } from "./answers.ts";
import { readGroupDetail, readGroupHead, type ViewInput } from "./detail.ts";
import { computeDots, countRewards, createMeasures, findUntrainableReason, summarizeFiles } from "./measures.ts";

const maxFiles = 200;

export type ViewSession = ReturnType<typeof openSession>;

export const openSession = (shown: ViewInput) => {
  const { dataset, logged } = shown;
  const { groups, problems, sources } = dataset;
  const { count } = groups;
  const measures = createMeasures(dataset);
  const findings = problems.sorted(sources.map(({ name }) => name)).map((problem) => toFinding(dataset, problem));
  const findingsByGroup = new Map<number | null, Finding[]>();
  for (const finding of findings) {
    const own = findingsByGroup.get(finding.group) ?? [];
    findingsByGroup.set(finding.group, own);
    own.push(finding);
  }
  const findingsOf = (group: number): readonly Finding[] => findingsByGroup.get(group) ?? [];
  const files = Array.from({ length: count }, (_, group) => locateGroup(dataset, group).file);
  const searches = openSearches(dataset);
  const summary = summarizeDataset(dataset, [...new Set(files)]);
  let isMeasured = false;
  const readFacts = async (group: number) => ({
    group,
    ...(await readGroupHead(dataset, group, shown.inputOptions.groupBy)),
    // In JSON, NaN is null.
    mean: measures.mean[group] ?? null,
    spread: measures.spread[group] ?? null,
    untrainable: findUntrainableReason(dataset, group),
  });
  const store: GroupStore = {
    count,
    groupsInPage: count,
    findings: { findings, others: problems.counts.reduce((sum, own) => sum + own.count, 0) - findings.length },
    state: () => ({
      progress: { phase: isMeasured ? "read" : "measuring", done: measures.done(), of: count },
      summary,
    }),
    charts: () => ({
      files: summarizeFiles(dataset, files, measures),
      rewards: countRewards(measures.rewards),
      dots: computeDots(measures),
    }),
    value: (key, group) => {
      if (key === "size") return groups.trajectoriesOf(group);
      if (key === "problems") return findingsOf(group).length;
      if (key === "trainable") return findUntrainableReason(dataset, group) === null ? 1 : 0;
      return measures[key][group] ?? Number.NaN;
    },
    rewardsOf: measures.rewardsOf,
    rulesOf: (group) => findingsOf(group).map(({ rule }) => rule),
    fileOf: (group) => files[group] ?? "",
    async search(query) {
      if (query.where !== undefined) await checkFilter(query.where);
      const search = searches.for(query);
      return { has: (group) => search?.has(group) ?? true, searched: search?.readProgress() ?? null };
    },
    readRow: async (group) => ({
      ...(await readFacts(group)),
      size: groups.trajectoriesOf(group),
      rewards: selectStripRewards(measures.rewardsOf(group)),
      problems: findingsOf(group).length,
      split: logged?.[group]?.split ?? null,
    }),
    readDetail: async (group) => ({
      ...(await readFacts(group)),
      ...(await readGroupDetail(shown, group)),
      findings: findingsOf(group),
    }),
    readTrajectories: async (group) =>
      (await readGroupTrajectories(dataset, group)).map(({ bytes }) => bytes.toString("utf8")),
  };
  return {
    ...createAnswers(store),
    dataset,
    store,
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

const toFinding = (dataset: Dataset, problem: Problem): Finding => {
  const { rule, severity, message, advice = "", file, line = 1, column = null } = problem;
  const place = file === undefined ? null : { file, line, column };
  const { group = null, trajectory = null, message: message_at = null } = findProblemSubject(dataset, problem) ?? {};
  return { rule, severity, message, advice, place, group, trajectory, message_at };
};

const maxSearches = 4;

const openSearches = (dataset: Dataset) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  return {
    /** Returns a search, which starts at the first call; undefined if the query has none. */
    for({ text, where }: SearchQuery) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const search = searches.get(key) ?? startSearch(dataset, { text, where });
      // The most recent search is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest = ""] = searches.keys();
      if (searches.size > maxSearches) {
        searches.get(oldest)?.end();
        searches.delete(oldest);
      }
      return search;
    },
    end: (): void => {
      for (const { end } of searches.values()) end();
    },
  };
};

const startSearch = (dataset: Dataset, sought: SearchQuery) => {
  const ending = new AbortController();
  const groups = new Set<number>();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  const search = searchGroups(dataset, sought, {
    signal: ending.signal,
    onFound: (group) => groups.add(group),
    onProgress: (done) => {
      // 1 means that the search has ended.
      share = Math.min(done, 0.999);
    },
  });
  void search.then(
    () => {
      share = 1;
    },
    (thrown: unknown) => {
      failure = { thrown };
    },
  );
  return {
    has: (group: number): boolean => groups.has(group),
    /** @throws its failure: `invalid-filter`, `input-changed` */
    readProgress(): NonNullable<GroupRows["searched"]> {
      if (failure !== undefined) throw failure.thrown;
      return { share, found: groups.size };
    },
    end: () => ending.abort(),
  };
};
