/** The groups of a dataset, which are read on request and measured in the background. */
import type { Problem } from "../failure.ts";
import * as grouping from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import { createAnswers } from "./answer-queries.ts";
import type { Finding, GroupFacts, GroupStore, RewardBounds, Summary, UntrainableReason } from "./answers.ts";
import { computeCharts } from "./charts.ts";
import { readGroupContent, readGroupHead, type ViewInput } from "./detail.ts";

const maxFiles = 200;

export type ViewSession = ReturnType<typeof openSession>;

export const openSession = (input: ViewInput) => {
  const { dataset, logged, inputOptions } = input;
  const { problems } = dataset;
  const { count } = dataset.groups;
  const findings = problems.sorted().map((problem) => toFinding(dataset, problem));
  const measures = createMeasures(dataset);
  const groups = listGroups(dataset, findings, measures);
  const searches = openSearches(dataset, groups);
  const summary = summarizeDataset(dataset, groups);
  let measured = 0;
  let isMeasured = false;
  const store: GroupStore<GroupFacts> = {
    count,
    groups,
    findings: { findings, counts: problems.counts },
    state: () => ({ progress: { phase: isMeasured ? "read" : "measuring", done: measured, of: count }, summary }),
    charts: () => computeCharts(groups, summary.reward.scale),
    search: searches.search,
    readRow: async ({ group, file, size, untrainable, rules, rewards, mean, spread }) => {
      const facts = { group, file, size, untrainable, rules, rewards, mean, spread };
      const head = readGroupHead(dataset, group, inputOptions.groupBy);
      return { ...facts, ...head, logged: logged?.[group] ?? null };
    },
    readContent: async (group) => ({
      ...(await readGroupContent(input, group)),
      findings: findings.filter((finding) => finding.group === group),
    }),
    readTrajectories: async (group) =>
      (await grouping.readGroupTrajectories(dataset, group)).map(({ bytes }) => bytes.toString("utf8")),
  };
  return {
    ...createAnswers(store),
    store,
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      for await (const { group, rewards } of grouping.readRewards(dataset, signal)) {
        measured = group + 1;
        measures.rewards.set(rewards, measures.firsts[group]);
        if (rewards.length === 0 || !rewards.every(Number.isFinite)) continue;
        ({ mean: measures.means[group], deviation: measures.deviations[group] } = grouping.computeMoments(rewards));
      }
      measured = count;
      isMeasured = true;
    },
    async close(): Promise<void> {
      searches.end();
      await dataset.close();
    },
  };
};

/** Creates columns for the measured numbers. `firsts` has the index in `rewards` of the first reward of each group. */
const createMeasures = ({ groups }: grouping.Dataset) => {
  let trajectories = 0;
  const firsts = Array.from({ length: groups.count }, (_, group) => {
    const first = trajectories;
    trajectories += groups.trajectoriesOf(group);
    return first;
  });
  const newColumn = (length: number) => new Float64Array(length).fill(Number.NaN);
  return {
    firsts,
    rewards: newColumn(trajectories),
    means: newColumn(groups.count),
    deviations: newColumn(groups.count),
  };
};

type Measures = ReturnType<typeof createMeasures>;

/** Lists facts of groups. Getters read columns, because properties of 100,000 groups would take 20 MB. */
const listGroups = (
  dataset: grouping.Dataset,
  findings: readonly Finding[],
  measures: Measures,
): readonly GroupFacts[] => {
  const { groups } = dataset;
  const rules = new Map<number | null, string[]>();
  for (const { group, rule } of findings) {
    const groupRules = rules.get(group);
    if (groupRules === undefined) rules.set(group, [rule]);
    else groupRules.push(rule);
  }
  class Facts implements GroupFacts {
    readonly group: number;
    readonly file: string;
    constructor(group: number) {
      this.group = group;
      this.file = grouping.locateGroup(dataset, group).file;
    }
    get size() {
      return groups.trajectoriesOf(this.group);
    }
    get untrainable() {
      return findUntrainableReason(dataset, this.group);
    }
    get rules() {
      return rules.get(this.group) ?? [];
    }
    get rewards() {
      const first = measures.firsts[this.group] ?? 0;
      return Array.from(measures.rewards.subarray(first, first + this.size)).filter(Number.isFinite);
    }
    get mean() {
      return toNullable(measures.means[this.group]);
    }
    get spread() {
      return toNullable(measures.deviations[this.group]);
    }
  }
  return Array.from({ length: groups.count }, (_, group) => new Facts(group));
};

const toNullable = (value = Number.NaN): number | null => (Number.isNaN(value) ? null : value);

const findUntrainableReason = (dataset: grouping.Dataset, group: number): UntrainableReason | null => {
  if (!dataset.groups.isValid(group)) return "invalid";
  const trajectories = dataset.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "one trajectory";
  if (grouping.hasZeroVariance(dataset, group)) return "equal rewards";
  return grouping.hasNoSampledTurn(dataset, group) ? "no sampled turn" : null;
};

const summarizeDataset = (dataset: grouping.Dataset, facts: readonly GroupFacts[]): Summary => {
  const { groups, trajectories } = checkResult(dataset);
  const { rewards } = grouping.collectDistributions(dataset);
  const inputNames = dataset.sources.map(({ name, origin }) => origin?.files[0] ?? name);
  const groupFiles = [...new Set(facts.map(({ file }) => file))];
  return {
    files: (groupFiles.length > inputNames.length ? groupFiles : inputNames).slice(0, maxFiles),
    groupFiles: groupFiles.length,
    groups,
    trajectories,
    rules: dataset.problems.counts,
    trainable: facts.filter(({ untrainable }) => untrainable === null).length,
    reward: { mean: rewards.mean, spread: rewards.spread, scale: findScale(rewards) },
    filteredOut: Object.entries(dataset.filteredOut ?? {}).flatMap(([by, counts]) =>
      counts.trajectories + counts.groups === 0 ? [] : [{ by, ...counts }],
    ),
  };
};

/** Finds the bounds of rewards without outliers. An outlier is farther from the `middle` than the `middle` is wide. */
const findScale = ({ weights, middle: [low, high], least, most }: grouping.Distributions["rewards"]): RewardBounds => {
  const [from, to] = [low - (high - low), high + (high - low)];
  const inside = low < high ? weights.filter(({ value }) => value >= from && value <= to) : [];
  const [first, last] = [inside.at(0)?.value ?? least, inside.at(-1)?.value ?? most];
  return [least < from ? first : least, most > to ? last : most];
};

const toFinding = (dataset: grouping.Dataset, problem: Problem): Finding => {
  const { rule, severity, message, advice = "", file, line = 1, column = null } = problem;
  const place = file === undefined ? null : { file, line, column };
  const {
    group = null,
    trajectory = null,
    message: message_at = null,
  } = grouping.findProblemSubject(dataset, problem) ?? {};
  return { rule, severity, message, advice, place, group, trajectory, message_at };
};

const maxSearches = 4;

const openSearches = (dataset: grouping.Dataset, groups: readonly GroupFacts[]) => {
  const searches = new Map<string, Search>();
  return {
    /** Returns the matches so far. The first call for a query starts the search. @throws as `GroupStore.search` */
    async search({ text, where }: grouping.SearchQuery) {
      if (text === undefined && where === undefined) return { has: () => true, searched: null };
      if (where !== undefined) await grouping.checkFilter(where);
      const key = JSON.stringify([text, where]);
      const search = searches.get(key) ?? startSearch(dataset, { text, where }, groups);
      // The most recent search is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest = ""] = searches.keys();
      if (searches.size > maxSearches) {
        searches.get(oldest)?.ending.abort();
        searches.delete(oldest);
      }
      if (search.failure !== undefined) throw search.failure.thrown;
      return { has: (group: number) => search.groups.has(group), searched: { share: search.share } };
    },
    end: (): void => {
      for (const { ending } of searches.values()) ending.abort();
    },
  };
};

interface Search {
  readonly ending: AbortController;
  readonly groups: Set<number>;
  /** Progress from 0 to 1. */
  share: number;
  failure?: { readonly thrown: unknown };
}

const startSearch = (
  dataset: grouping.Dataset,
  sought: grouping.SearchQuery,
  groups: readonly GroupFacts[],
): Search => {
  const search: Search = { ending: new AbortController(), groups: new Set(), share: 0 };
  const onFound = (group: number) => search.groups.add(group);
  const onProgress = (share: number) => {
    search.share = share;
  };
  const rewardsOf = (group: number) => {
    const { rewards = [], size } = groups[group] ?? {};
    return rewards.length === size ? rewards : undefined;
  };
  grouping.searchGroups(dataset, sought, { signal: search.ending.signal, onFound, onProgress, rewardsOf }).then(
    () => onProgress(1),
    (thrown: unknown) => {
      search.failure = { thrown };
    },
  );
  return search;
};
