/** Answers queries about one input. Reads rows, groups and trajectories from the input on request. */

import type { Problem } from "../failure.ts";
import {
  checkFilter,
  collectDistributions,
  type Dataset,
  findProblemSubject,
  type KnownRewards,
  readGroupStart,
  readGroupTrajectories,
  type SearchQuery,
  searchGroups,
} from "../groups/index.ts";
import { isObject, listMemberSpans, parseJson, skipWhite, sliceText, walkElements } from "../json/walk.ts";
import { checkResult } from "../send/index.ts";
import type { Answers, Finding, Findings, GroupRow, GroupRows, PageState, SearchMatch, Summary } from "./answers.ts";
import { computeBars, computeDots } from "./charts.ts";
import { readGroupDetail, type ViewInput } from "./detail.ts";
import { findMatch } from "./match.ts";
import { createMeasures, findUntrainableReason } from "./measures.ts";
import { allGroups, type Query, rowsPerPage } from "./query.ts";
import { type GroupFiles, indexFiles, summarizeFiles } from "./runs.ts";
import { findNeighbors, type GroupColumns, selectGroups } from "./select.ts";

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
  const rewardsKnown = (group: number) => (measures.isMeasured(group) ? measures.rewardsOf(group) : undefined);
  const searches = openSearches(dataset, rewardsKnown);
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
  const matchOf = async (group: number, text: string | undefined) => {
    if (text === undefined) return {};
    const key = `${group} ${text}`;
    const known = matches.get(key);
    if (known !== undefined) return { match: known };
    const trajectories = await readGroupTrajectories(dataset, group);
    const match = findMatch(
      trajectories.map(({ bytes }) => bytes.toString("utf8")),
      text,
    );
    if (matches.size >= maxMatches) matches.clear();
    matches.set(key, match);
    return { match };
  };
  const rowOf = async (group: number, text?: string): Promise<GroupRow> => {
    const number = (column: Float64Array): number | null => {
      const value = column[group] ?? Number.NaN;
      return Number.isFinite(value) ? value : null;
    };
    const { mean, spread, least, most, tokens, cost } = measures;
    return {
      group,
      words: await readPromptStart(dataset, group),
      size: dataset.groups.trajectoriesOf(group),
      mean: number(mean),
      spread: number(spread),
      least: number(least),
      most: number(most),
      untrainable: findUntrainableReason(dataset, group) ?? null,
      problems: findings.of(group).length,
      tokens: number(tokens),
      cost: number(cost),
      split: logged?.[group]?.split ?? null,
      ...(await matchOf(group, text)),
    };
  };
  /** The position of a query's group; undefined if it does not exist. */
  const groupOf = ({ group = 0 }: Query): number | undefined => (group > 0 && group <= count ? group - 1 : undefined);
  const answers: Answers = {
    state: async () => {
      const recorded: PageState["recorded"] = (["tokens", "cost"] as const).filter(
        (key) => isMeasured && measures[key].some((value) => !Number.isNaN(value)),
      );
      return {
        progress: { phase: isMeasured ? "read" : "measuring", done: measures.done(), of: count },
        summary,
        recorded: logged === undefined ? recorded : [...recorded, "split"],
      };
    },
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
      for (const group of selected.subarray(from, from + rowsPerPage)) rows.push(await rowOf(group, query.text));
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
      const { command, ...detail } = await readGroupDetail(shown, group);
      const match = await matchOf(group, query.text);
      const words = await readPromptStart(dataset, group);
      return { ...detail, words, ...neighbors(), findings: findings.of(group), ...match, command };
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
  let withSignal = 0;
  for (let group = 0; group < dataset.groups.count; group++) {
    if (findUntrainableReason(dataset, group) === undefined) withSignal++;
  }
  return {
    // Several files of another tool are one source.
    files: (names.length > read.length ? names : read).slice(0, maxFiles),
    runs: names.length < 2 ? 0 : names.length,
    groups,
    trajectories,
    rules: dataset.problems.counts,
    withSignal,
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

/** Bytes of a group that are searched for its prompt before the whole group is read. */
const beginningBytes = 2 ** 16;

/** Maximum characters of the prompt in a row. */
const maxCharacters = 200;

/** Reads the start of a group's prompt. @throws Failure `input-changed` */
const readPromptStart = async (dataset: Dataset, group: number): Promise<string> => {
  const early = parsePromptStart(await readGroupStart(dataset, group, beginningBytes));
  if (early !== undefined || !dataset.groups.isValid(group)) return early ?? "";
  const [first] = await readGroupTrajectories(dataset, group);
  return first === undefined ? "" : (parsePromptStart(first.bytes) ?? "");
};

/** Parses the first user message, or the first message; undefined if the bytes end before its end. */
const parsePromptStart = (bytes: Buffer): string | undefined => {
  const own = listMemberSpans(bytes, { start: skipWhite(bytes, 0) });
  const all = own.get("trajectories");
  const [trajectory] = all === undefined ? [] : walkElements(bytes, all.start);
  const messages = (trajectory === undefined ? own : listMemberSpans(bytes, trajectory)).get("messages_and_choices");
  if (messages === undefined) return undefined;
  let first = "";
  for (const span of walkElements(bytes, messages.start)) {
    const message = parseJson(sliceText(bytes, span))?.value;
    if (message === undefined) return undefined;
    if (!isObject(message)) continue;
    const words = shorten(joinText(message.content));
    if (message.role === "user" && words !== "") return words;
    first ||= words;
  }
  return first;
};

const joinText = (content: unknown): string => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join(" ");
};

/** Shortens a text to one line, without splitting a surrogate pair. */
const shorten = (text: string): string => {
  const line = text
    .slice(0, maxCharacters * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  return [...line].slice(0, maxCharacters).join("");
};

/** Maximum searches that run at once, for several tabs. */
const maxSearches = 4;

/** A search ends after this time without a request. A page sends several per second. */
const searchTimeoutMs = 2000;

/** Searches in the background. The page polls their progress. */
const openSearches = (dataset: Dataset, rewardsKnown: KnownRewards) => {
  const searches = new Map<string, ReturnType<typeof startSearch>>();
  return {
    /** Returns a search, which starts at the first call; undefined if the query has none. */
    for({ text, where }: SearchQuery) {
      if (text === undefined && where === undefined) return undefined;
      const key = JSON.stringify([text, where]);
      const known = searches.get(key);
      const isRunning = known?.ending.signal.aborted === false;
      const search = isRunning ? known : startSearch(dataset, { text, where }, rewardsKnown);
      // The most recent search is last in the map.
      searches.delete(key);
      searches.set(key, search);
      const [oldest = ""] = searches.keys();
      if (searches.size > maxSearches) {
        searches.get(oldest)?.ending.abort();
        searches.delete(oldest);
      }
      return search;
    },
    end: (): void => {
      for (const { ending } of searches.values()) ending.abort();
    },
  };
};

const startSearch = (dataset: Dataset, sought: SearchQuery, rewardsKnown: KnownRewards) => {
  const ending = new AbortController();
  const groups = new Set<number>();
  let share = 0;
  let failure: { readonly thrown: unknown } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = async (): Promise<void> => {
    const found = (group: number) => void groups.add(group);
    const progress = (done: number): void => {
      // 1 means that the search has ended.
      share = Math.min(done, 0.999);
    };
    try {
      await searchGroups(dataset, sought, {
        signal: ending.signal,
        onFound: found,
        onProgress: progress,
        knownRewards: rewardsKnown,
      });
      share = 1;
    } catch (thrown) {
      failure = { thrown };
    }
    clearTimeout(timer);
  };
  void run();
  return {
    has: (group: number): boolean => groups.has(group),
    /** @throws its failure: `invalid-filter`, `input-changed` */
    readProgress(): NonNullable<GroupRows["searched"]> {
      if (failure !== undefined) throw failure.thrown;
      clearTimeout(timer);
      if (share < 1) timer = setTimeout(() => ending.abort(), searchTimeoutMs).unref();
      return { share, found: groups.size };
    },
    ending,
  };
};
