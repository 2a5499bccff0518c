/** Answers queries from a store of groups: the input of the server, or the data of an exported page. */
import { listSpellings } from "../json/spellings.ts";
import type { Answers, Charts, Findings, GroupRow, GroupRows, PageState, SearchMatch, StoredGroup } from "./answers.ts";
import { allGroups, type Query, type Range, rowsPerPage, type SortKey } from "./query.ts";

export interface GroupStore {
  /** Number of groups of the input. An exported page can lack some of them. */
  readonly count: number;
  readonly groupsInPage: number;
  /** All problems that are listed, and the number of the others. */
  readonly findings: Findings;
  state(): PageState;
  charts(): Charts;
  value(key: Exclude<SortKey, "group">, group: number): number;
  rewardsOf(group: number): Iterable<number>;
  rulesOf(group: number): readonly string[];
  fileOf(group: number): string;
  /** @throws Failure `invalid-filter`, `input-changed` */
  search(query: Query): Promise<{ readonly has: (group: number) => boolean; readonly searched: GroupRows["searched"] }>;
  readRow(group: number): Promise<GroupRow | undefined>;
  readDetail(group: number): Promise<StoredGroup | undefined>;
  readTrajectories(group: number): Promise<readonly string[]>;
}

const maxFindings = 500;

export const createAnswers = (store: GroupStore): Answers => {
  const { count, groupsInPage } = store;
  const orderOf = async (query: Query) => {
    const { has, searched } = await store.search(query);
    return { searched, order: selectGroups(store, query, has) };
  };
  const matches = new Map<string, SearchMatch | null>();
  /** Finds the match of a searched text. The page polls, so matches stay in memory. */
  const matchOf = async (group: number, { text }: Query): Promise<{ readonly match?: SearchMatch | null }> => {
    if (text === undefined) return {};
    const key = `${group} ${text}`;
    const match = matches.get(key) ?? findMatch(await store.readTrajectories(group), text);
    matches.set(key, match);
    return { match };
  };
  return {
    state: async () => store.state(),
    charts: async () => store.charts(),
    problems: async ({ problems }) => listFindings(store.findings, problems ?? "any", maxFindings),
    async rows(query) {
      const { searched, order } = await orderOf(query);
      const rows: GroupRow[] = [];
      const from = (query.page - 1) * rowsPerPage;
      for (const group of order.subarray(from, from + rowsPerPage)) {
        const row = await store.readRow(group);
        if (row !== undefined) rows.push({ ...row, ...(await matchOf(group, query)) });
      }
      return { selected: order.length, of: groupsInPage, rows, searched };
    },
    async group(query) {
      const group = (query.group ?? 0) - 1;
      if (group < 0 || group >= count) return undefined;
      const detail = await store.readDetail(group);
      const { order } = await orderOf(query).catch(async () => await orderOf(allGroups));
      return detail && { ...detail, ...(await matchOf(group, query)), ...findNeighbors(order, group, count) };
    },
    async trajectory({ group = 0, trajectory = 0 }) {
      if (group < 1 || group > count) return undefined;
      return (await store.readTrajectories(group - 1))[trajectory - 1];
    },
  };
};

/** Lists the first problems of a rule, or of all rules if it is `any`. */
export const listFindings = ({ findings, others }: Findings, rule: string, max: number): Findings => {
  const wanted = findings.filter((finding) => rule === "any" || finding.rule === rule);
  return { findings: wanted.slice(0, max), others: Math.max(0, wanted.length - max) + others };
};

const selectGroups = (store: GroupStore, query: Query, isMatch: (group: number) => boolean): Uint32Array => {
  const { sort, descending } = query;
  const selected = new Uint32Array(store.count)
    .map((_, group) => group)
    .filter((group) => isMatch(group) && isSelected(store, query, group));
  if (sort === "group") return descending ? selected.reverse() : selected;
  const value = (group: number) => store.value(sort, group);
  return selected.sort((a, b) => compareNumbers(value(a), value(b), descending) || a - b);
};

/** Compares numbers. NaN is last in both directions. */
export const compareNumbers = (a: number, b: number, isDescending: boolean): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return isDescending ? b - a : a - b;
};

const isSelected = (store: GroupStore, query: Query, group: number): boolean => {
  const { reward, mean, spread, trainable, rule, file } = query;
  return (
    (reward === undefined || Array.from(store.rewardsOf(group)).some((one) => isWithin(one, reward))) &&
    (mean === undefined || isWithin(store.value("mean", group), mean)) &&
    (spread === undefined || isWithin(store.value("spread", group), spread)) &&
    (trainable === undefined || (store.value("trainable", group) === 1) === trainable) &&
    (rule === undefined || store.rulesOf(group).some((one) => rule === "any" || one === rule)) &&
    (file === undefined || store.fileOf(group) === file)
  );
};

const isWithin = (value: number, [from, to, end]: Range): boolean =>
  value >= from && (end === undefined ? value <= to : value < to);

/** Finds a group and the adjacent groups in an order. A group outside the order has its neighbors in the input. */
const findNeighbors = (order: Uint32Array, group: number, count: number) => {
  const at = order.indexOf(group);
  const [before, after] = at < 0 ? [group - 1, group + 1] : [order[at - 1] ?? -1, order[at + 1] ?? count];
  return { at: at < 0 ? null : at, before: before < 0 ? null : before, after: after < count ? after : null };
};

const maxStripRewards = 16;

/** Returns the rewards that a strip draws: all of them in ascending order, or an even selection. */
export const selectStripRewards = (rewards: ArrayLike<number>): readonly number[] => {
  const sorted = Float64Array.from(rewards).filter(Number.isFinite).sort();
  const count = Math.min(sorted.length, maxStripRewards);
  const step = (sorted.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, at) => sorted[Math.round(at * step)] ?? 0);
};

/** The position of a number between two others, from 0 to 1; 0.5 if these are equal. */
export const relativePosition = (value: number, from: number, to: number): number => {
  // Halves, because the width of a wide range exceeds a double.
  const share = from === to ? 0.5 : (value / 2 - from / 2) / (to / 2 - from / 2);
  return Math.min(1, Math.max(0, share));
};

/** Maximum characters of JSON before and after a match. */
const maxContext = { before: 16, after: 120 };

/** Finds the first trajectory with a text, and the characters around it. Null if no trajectory contains it. */
const findMatch = (trajectories: readonly string[], text: string): SearchMatch | null => {
  const spellings = listSpellings(text);
  for (const [trajectory, json] of trajectories.entries()) {
    const positions = spellings.map((spelled) => ({ at: json.indexOf(spelled), length: spelled.length }));
    const [first] = positions.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at);
    if (first === undefined) continue;
    const { at, length } = first;
    const [before = ""] = /(?:\\.|[^"\\])*$/s.exec(json.slice(Math.max(0, at - maxContext.before), at)) ?? [];
    const [after = ""] = /^(?:\\.|[^"\\])*/s.exec(json.slice(at + length, at + length + maxContext.after)) ?? [];
    return { trajectory, before: decodeEscapes(before), text, after: decodeEscapes(after) };
  }
  return null;
};

/** Decodes the escapes of a part of a JSON string, which may begin or end within an escape, to one line. */
const decodeEscapes = (part: string): string =>
  part
    .replaceAll(/\\+(?:u([0-9a-f]{4})|(.))/gi, (_, code?: string, letter?: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return letter === undefined || /[nrtbf]/.test(letter) ? " " : letter;
    })
    .replaceAll(/\s+/g, " ");
