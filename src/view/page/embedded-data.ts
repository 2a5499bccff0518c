/** Answers from the data of an exported page. */
import { listSpellings } from "../../json/spellings.ts";
import type { Answers, GroupData, PageData } from "../answers.ts";
import { findMatch } from "../match.ts";
import { type Query, rowsPerPage } from "../query.ts";
import { findNeighbors, type GroupColumns, selectGroups } from "../select.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const openEmbeddedAnswers = ({ state, charts, findings: { findings, others }, rows }: PageData): Answers => {
  // Read now, because the page replaces the content of the document.
  const blocks = new Map(rows.map(({ row: { group } }) => [group, textOf(`group-${group}`) ?? ""]));
  const groupOf = (group = 0): GroupData | undefined => {
    const text = blocks.get(group - 1);
    return text === undefined ? undefined : JSON.parse(text);
  };
  const columns: GroupColumns = {
    count: rows.length,
    value: (key, at) => {
      const row = rows[at]?.row;
      return key === "trainable" ? Number(row?.untrainable === null) : (row?.[key] ?? Number.NaN);
    },
    rewardsOf: (at) => rows[at]?.rewards.map((reward) => reward ?? Number.NaN) ?? [],
    rulesOf: (at) => rows[at]?.rules ?? [],
    fileOf: (at) => rows[at]?.file ?? "",
  };
  let searched: { readonly text: string; readonly found: ReadonlySet<number> } | undefined;
  const search = (text: string): ReadonlySet<number> => {
    if (searched?.text === text) return searched.found;
    const spellings = listSpellings(text);
    const has = (group: number) =>
      groupOf(group + 1)?.trajectories.some((one) => spellings.some((spelled) => one.includes(spelled)));
    searched = { text, found: new Set([...blocks.keys()].filter(has)) };
    return searched.found;
  };
  const matchOf = (group: number, { text }: Query) =>
    text === undefined ? {} : { match: findMatch(groupOf(group + 1)?.trajectories ?? [], text) };
  const orderOf = (query: Query) => {
    const found = query.text === undefined ? undefined : search(query.text);
    const order = selectGroups(columns, query, (at) => found?.has(rows[at]?.row.group ?? -1) ?? true);
    return { order, searched: found === undefined ? null : { share: 1, found: found.size } };
  };
  return {
    state: async () => state,
    charts: async () => charts,
    problems: async ({ problems }) => ({
      findings: findings.filter(({ rule }) => problems === "any" || rule === problems),
      others,
    }),
    rows: async (query) => {
      const { order, searched: progress } = orderOf(query);
      const from = (query.page - 1) * rowsPerPage;
      const shown = Array.from(order.subarray(from, from + rowsPerPage)).flatMap((at) => {
        const row = rows[at]?.row;
        return row === undefined ? [] : { ...row, ...matchOf(row.group, query) };
      });
      return { selected: order.length, of: rows.length, rows: shown, searched: progress };
    },
    group: async (query) => {
      const detail = groupOf(query.group)?.detail;
      const own = rows.findIndex(({ row }) => row.group === detail?.group);
      const { at, before, after } = findNeighbors(orderOf(query).order, own, rows.length);
      const numberOf = (position: number | null) => (position === null ? null : (rows[position]?.row.group ?? null));
      return (
        detail && { ...detail, ...matchOf(detail.group, query), at, before: numberOf(before), after: numberOf(after) }
      );
    },
    trajectory: async ({ group, trajectory = 0 }) => groupOf(group)?.trajectories[trajectory - 1],
  };
};

const data = textOf("data");

/** Undefined for a served page. */
export const embeddedAnswers = data === undefined ? undefined : openEmbeddedAnswers(JSON.parse(data));
