/** Summarizes groups, and reads their content on request. */

import { countRead } from "../rollouts/dataset/check-result.ts";
import { hasNoSampledTurn } from "../rollouts/dataset/dataset-problems.ts";
import { searchGroups } from "../rollouts/dataset/group-bytes.ts";
import { findFileOfGroup, type IndexedGroups, locatePart, openSubjects } from "../rollouts/dataset/locate.ts";
import { openRowReader, readExceptionKeys } from "../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { isCutOff } from "../rollouts/facts.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { computeMoments, findBounds, rewardTolerance } from "../rollouts/index/sums.ts";
import { getFacts, type RolloutFact, readGroupFacts } from "../rollouts/stats/fact-rows.ts";
import { Breaks } from "../system/breaks.ts";
import { listByKey } from "../text/lists.ts";
import { sanitizeText } from "../text/sanitize.ts";
import { compareSteps, listSteps, openAnswers, parsePosition } from "./answer-queries.ts";
import type { Finding, GroupFacts, GroupReader, RewardBounds, StepPart, Summary } from "./answers.ts";
import { describeParts, listRewards, listSeries, openCharts } from "./charts.ts";
import { readGroup, sanitizePrompt, type ViewInput } from "./group-content.ts";

const maxFiles = 200;
const maxFindings = 20;
/** Reading the prompt and the key of a row costs as much as reading this many more bytes. */
const bytesPerRow = 2 ** 19;

export type ViewSession = ReturnType<typeof openSession>;

/** The session has the groups that are read so far. `finish` adds what needs all groups. */
export const openSession = (read: IndexedGroups, groupBy: ViewInput["groupBy"], signal: AbortSignal) => {
  const groups: GroupFacts[] = [];
  const breaks = new Breaks(signal);
  const readPrompt = openPrompts(read, groupBy, breaks);
  let findings: FindingsByGroup = new Map();
  let summary: Summary | undefined;
  let charts: ReturnType<typeof openCharts> | undefined;
  let finished: { dataset: Dataset; searches: ReturnType<typeof openSearches> } | undefined;
  const summarize = () => {
    summary ??= { ...summarizeGroups(read, groups.slice(0, maxSummarizedGroups)), ...unfinished };
    return summary;
  };
  const store: GroupReader<GroupFacts> = {
    get count() {
      return groups.length;
    },
    groups,
    state: () => ({ progress: { phase: "read", done: groups.length, of: groups.length }, summary: summarize() }),
    charts: async (selected) => {
      charts ??= openCharts(groups, summarize(), breaks);
      return await (await charts)(selected);
    },
    search: async (text) => finished?.searches.search(text) ?? { found: new Set(), share: 0 },
    readRow: async (facts) => ({ ...facts, ...(await readPrompt(facts.group)) }),
    readGroup: async (group) => await readGroup(read, group, findings.get(group) ?? none),
  };
  return {
    answer: openAnswers(store),
    store,
    /** Takes the groups that were read since the last call. */
    addGroups(isLast: boolean) {
      const end = read.groups.count - (isLast ? 0 : 1);
      if (groups.length < maxSummarizedGroups) summary = undefined;
      while (groups.length < end) groups.push(describeGroup(read, groups.length, none));
    },
    /** @throws the signal's reason */
    async finish({ dataset, notes }: ViewInput) {
      await listGroupFacts(read, groups, breaks);
      findings = listFindings(dataset, groups);
      const all = await describeParts(groups, breaks);
      const series = await listSeries(groups, breaks);
      await breaks.take();
      summary = {
        ...summarizeGroups(read, groups),
        notes: notes.map(sanitizeText),
        findings: findings.get(null)?.slice(0, maxFindings) ?? none,
        series,
        all,
      };
      charts = undefined;
      finished = { dataset, searches: openSearches(dataset, breaks) };
    },
    async close() {
      finished?.searches.end();
      await finished?.dataset.close();
    },
  };
};

const unknownSlice = { groups: 0, trajectories: 0, failures: 0, trainable: 0, truncated: 0, spread: null, ci95: null };
const unfinished = { notes: [], findings: [], rules: [], series: [], all: { ...unknownSlice, mean: null } } as const;

/** Until `finish`, later groups hardly change what the page shows of the summary. */
const maxSummarizedGroups = 4000;

type FindingsByGroup = ReadonlyMap<number | null, readonly Finding[]>;

/** Also sets the rules of each group. */
const listFindings = (dataset: Dataset, groups: readonly GroupFacts[]): FindingsByGroup => {
  const findSubject = openSubjects(dataset);
  const findings = dataset.scan.problems.sorted().map((problem): Finding => {
    const { rule, severity, file, line, column } = problem;
    const { group = null, trajectory = null, message: message_at = null } = findSubject(problem) ?? {};
    const [message, advice] = [sanitizeText(problem.message), problem.advice && sanitizeText(problem.advice)];
    return { rule, severity, message, advice, file, line, column, group, trajectory, message_at };
  });
  const byGroup = listByKey(findings, ({ group }) => group);
  for (const facts of groups) facts.rules = byGroup.get(facts.group)?.map(({ rule }) => rule) ?? none;
  return byGroup;
};

/** Reads each group once, because it can be large. */
const openPrompts = (dataset: IndexedGroups, groupBy: ViewInput["groupBy"], breaks: Breaks) => {
  const readRow = openRowReader(dataset, { groupBy });
  const prompts = new Map<number, ReturnType<typeof sanitizePrompt>>();
  return async (group: number) => {
    const known = prompts.get(group);
    if (!known && breaks.isDue(bytesPerRow + dataset.groups.bytesOf(group))) await breaks.take();
    const read = known ?? sanitizePrompt(readRow(dataset.groups.firstOf(group), 0));
    prompts.set(group, read);
    return read;
  };
};

/** Replaces the facts of groups that later lines changed. */
const listGroupFacts = async (dataset: IndexedGroups, list: GroupFacts[], breaks: Breaks) => {
  for (let group = 0; group < dataset.groups.count; group++) {
    const stepName = getFacts(dataset).stepName ?? "step";
    const hasFailed = dataset.groups.exceptionsOf(group) > 0;
    const failedSteps = hasFailed ? await readExceptionKeys(dataset, group, stepName) : none;
    list[group] = describeGroup(dataset, group, failedSteps);
    if (breaks.isDue(1000 * dataset.groups.trajectoriesOf(group))) await breaks.take();
  }
};

type Steps = readonly (string | undefined)[];

const describeGroup = (dataset: IndexedGroups, group: number, failedSteps: Steps): GroupFacts => {
  const rows = readGroupFacts(dataset, group);
  const rewards = rows.map(({ reward }) => reward);
  // `filter` returns arrays with unused capacity, about 100 MB for 100,000 groups.
  const finite = rewards.every(Number.isFinite) ? rewards : rewards.filter(Number.isFinite);
  const moments = finite.length > 0 ? computeMoments(finite) : undefined;
  const untrainable = findUntrainableReason(dataset, group, finite);
  const sumOf = (name: string) => rows.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0);
  const toolErrors = sumOf("tool_errors");
  return {
    group,
    file: findFileOfGroup(dataset, group),
    size: dataset.groups.trajectoriesOf(group),
    untrainable,
    rules: none,
    rewards: finite,
    mean: moments?.mean ?? null,
    spread: moments?.deviation ?? null,
    failures: dataset.groups.exceptionsOf(group),
    ...describeSteps(rows, failedSteps, untrainable),
    finish: formatFinishReasons(rows),
    truncated: countTruncated(rows),
    toolErrors: toolErrors + sumOf("tool_calls") > 0 ? toolErrors : null,
  };
};

/** An exception without a step has that of all trajectories of its group, as in `stats --by`. */
const describeSteps = (rows: readonly RolloutFact[], failed: Steps, untrainable: StepPart["untrainable"]) => {
  const steps = listByKey(rows, ({ by }) => by);
  const [only, ...others] = steps.keys();
  const failures = failed.map((step) => step ?? (others.length === 0 ? only : undefined));
  for (const step of failures) if (!steps.has(step)) steps.set(step, []);
  const parts = Array.from(steps, ([step, own]): StepPart => {
    const rewards = own.map(({ reward }) => reward).filter(Number.isFinite);
    return {
      step: formatKeyText(step),
      untrainable,
      rewards,
      size: own.length,
      failures: failures.filter((each) => each === step).length,
      truncated: countTruncated(own),
    };
  });
  return { step: parts.flatMap(({ step }) => step ?? []).join(", ") || null, parts: parts.length > 1 ? parts : null };
};

const countTruncated = (rows: readonly RolloutFact[]) =>
  rows.filter(({ finishReason }) => isCutOff(finishReason)).length;

/** Formats as `6 stop, 2 length`, without the count if all trajectories have this reason. Null if none is known. */
const formatFinishReasons = (rows: readonly RolloutFact[]) => {
  const reasons = listByKey(rows, ({ finishReason = "" }) => finishReason);
  reasons.delete("");
  const sorted = [...reasons].sort(([a, one], [b, two]) => two.length - one.length || (a < b ? -1 : 1));
  const names = sorted.map(([name, { length }]) => (length === rows.length ? name : `${length} ${name}`));
  return names.length === 0 ? null : sanitizeText(names.join(", "));
};

/** All groups share this list, because 100,000 empty lists would take 20 MB. */
const none: readonly never[] = [];

const findUntrainableReason = (dataset: IndexedGroups, group: number, finite: readonly number[]) => {
  if (!dataset.groups.isValid(group)) return "invalid";
  const trajectories = dataset.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "one trajectory";
  if (finite.length < 2) return "infinite rewards";
  const { min, max } = findBounds(finite);
  if (max - min <= rewardTolerance) return "equal rewards";
  return hasNoSampledTurn(dataset, group) ? "no sampled turn" : null;
};

const summarizeGroups = (dataset: IndexedGroups, facts: readonly GroupFacts[]) => {
  const inputNames = dataset.sources.map(({ name, originals }) => originals?.files[0] ?? name);
  const groupFiles = [...new Set(facts.map(({ file }) => file))];
  const files = groupFiles.length > inputNames.length ? groupFiles : inputNames;
  return {
    files: files.slice(0, maxFiles),
    fileCount: files.length,
    groupFiles: groupFiles.length,
    ...countRead(dataset.groups),
    rules: dataset.scan.problems.counts,
    stepName: getFacts(dataset).stepName ?? "step",
    lastStep: [...new Set(facts.flatMap(listSteps))].sort(compareSteps).findLast((step) => step !== null) ?? null,
    hasToolErrors: facts.some(({ toolErrors }) => toolErrors),
    scale: findScale(facts),
  };
};

/** Excludes rewards whose distance from the range without 1 % of the rewards at each end exceeds its width. */
const findScale = (groups: readonly GroupFacts[]): RewardBounds => {
  const rewards = listRewards(groups).sort();
  const { min, max } = findBounds(rewards);
  const excluded = Math.max(1, Math.floor(rewards.length / 100));
  const [low = max, high = min] = [rewards.at(excluded), rewards.at(-1 - excluded)];
  const [from, to] = [low - (high - low), high + (high - low)];
  const inside = low < high ? rewards.filter((value) => value >= from && value <= to) : [];
  const [first = min, last = max] = [inside.at(0), inside.at(-1)];
  return [min < from ? first : min, max > to ? last : max];
};

const maxSearches = 4;

const openSearches = (dataset: Dataset, breaks: Breaks) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  const endOldest = (kept: number) => {
    for (const [text, { end }] of searches) {
      if (searches.size <= kept) return;
      end();
      searches.delete(text);
    }
  };
  return {
    async search(text: string) {
      const found = await findAt(dataset, text, breaks);
      if (found.size > 0) return { found, share: 1 };
      const search = searches.get(text) ?? startSearch(dataset, text);
      searches.delete(text);
      searches.set(text, search);
      endOldest(maxSearches);
      return search.read();
    },
    end: () => endOldest(0),
  };
};

const findAt = async (dataset: Dataset, text: string, breaks: Breaks) => {
  const isThere = parsePosition(text);
  const found = new Set<number>();
  for (let at = 0; isThere && at < dataset.scan.parts.count; at++) {
    if (breaks.isDue()) await breaks.take();
    if (isThere(locatePart(dataset, at))) found.add(dataset.groups.groupOf(at));
  }
  return found;
};

const startSearch = (dataset: Dataset, text: string) => {
  const ending = new AbortController();
  const progress = { found: new Set<number>(), share: 0 };
  let read = () => progress;
  searchGroups(dataset, text, { signal: ending.signal, progress }).catch((thrown: unknown) => {
    read = () => {
      throw thrown;
    };
  });
  return { read: () => read(), end: () => ending.abort() };
};
