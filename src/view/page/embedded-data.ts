/** Answers from the data of an exported page. */
import { listSpellings } from "../../json/spellings.ts";
import type { Answers, GroupData, PageData } from "../answers.ts";
import { findMatch } from "../match.ts";
import { type Query, rowsPerPage } from "../query.ts";
import { findNeighbors, type GroupColumns, selectGroups } from "../select.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const openEmbeddedAnswers = ({ state, charts, findings: { findings, others }, rows: all }: PageData): Answers => {
  const rows = new Map(all.map((one) => [one.row.group, one]));
  const groupOf = (group: number): GroupData | undefined => {
    const text = textOf(`group-${group}`);
    return text === undefined ? undefined : JSON.parse(text);
  };
  const columns: GroupColumns = {
    count: state.summary?.groups.read ?? 0,
    value: (key, group) => {
      const row = rows.get(group)?.row;
      return key === "trainable" ? Number(row?.untrainable === null) : (row?.[key] ?? Number.NaN);
    },
    rewardsOf: (group) => rows.get(group)?.rewards.map((reward) => reward ?? Number.NaN) ?? [],
    rulesOf: (group) => rows.get(group)?.rules ?? [],
    fileOf: (group) => rows.get(group)?.file ?? "",
  };
  let searched: { readonly text: string; readonly found: ReadonlySet<number> } | undefined;
  const search = (text: string): ReadonlySet<number> => {
    const spellings = listSpellings(text);
    const has = (group: number) =>
      groupOf(group)?.trajectories.some((one) => spellings.some((spelled) => one.includes(spelled)));
    if (searched?.text !== text) searched = { text, found: new Set([...rows.keys()].filter(has)) };
    return searched.found;
  };
  const matchOf = (group: number, { text }: Query) =>
    text === undefined ? {} : { match: findMatch(groupOf(group)?.trajectories ?? [], text) };
  const orderOf = (query: Query) => {
    const found = query.text === undefined ? rows : search(query.text);
    return { found, order: selectGroups(columns, query, (group) => found.has(group)) };
  };
  return {
    state: async () => state,
    charts: async () => charts,
    problems: async ({ problems }) => ({
      findings: findings.filter(({ rule }) => problems === "any" || rule === problems),
      others,
    }),
    rows: async (query) => {
      const { order, found } = orderOf(query);
      const from = (query.page - 1) * rowsPerPage;
      const shown = [...order.subarray(from, from + rowsPerPage)].flatMap((group) => {
        const row = rows.get(group)?.row;
        return row === undefined ? [] : { ...row, ...matchOf(group, query) };
      });
      const progress = query.text === undefined ? null : { share: 1, found: found.size };
      return { selected: order.length, of: rows.size, rows: shown, searched: progress };
    },
    group: async (query) => {
      const { group = 0 } = query;
      const detail = groupOf(group - 1)?.detail;
      const neighbors = findNeighbors(orderOf(query).order, group - 1, columns.count);
      return detail && { ...detail, ...matchOf(detail.group, query), ...neighbors };
    },
    trajectory: async ({ group = 0, trajectory = 0 }) => groupOf(group - 1)?.trajectories[trajectory - 1],
  };
};

const data = textOf("data");

/** Undefined for a served page. */
export const embeddedAnswers = data === undefined ? undefined : openEmbeddedAnswers(JSON.parse(data));
