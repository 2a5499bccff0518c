/** Answers from the data of an exported page. */
import { listSpellings } from "../../json/spellings.ts";
import { createAnswers } from "../answer-queries.ts";
import type { Answers, GroupData, PageData } from "../answers.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const openEmbeddedAnswers = ({ state, charts, findings, rows: all }: PageData): Answers => {
  const rows = new Map(all.map((one) => [one.row.group, one]));
  const groupOf = (group: number): GroupData | undefined => {
    const text = textOf(`group-${group}`);
    return text === undefined ? undefined : JSON.parse(text);
  };
  let found: { readonly text: string; readonly groups: ReadonlySet<number> } | undefined;
  const search = (text: string): ReadonlySet<number> => {
    const spellings = listSpellings(text);
    const has = (group: number) =>
      groupOf(group)?.trajectories.some((one) => spellings.some((spelled) => one.includes(spelled)));
    if (found?.text !== text) found = { text, groups: new Set([...rows.keys()].filter(has)) };
    return found.groups;
  };
  return createAnswers({
    count: state.summary?.groups.read ?? 0,
    groupsInPage: rows.size,
    findings,
    state: () => state,
    charts: () => charts,
    value: (key, group) => {
      const row = rows.get(group)?.row;
      return key === "trainable" ? Number(row?.untrainable === null) : (row?.[key] ?? Number.NaN);
    },
    rewardsOf: (group) => rows.get(group)?.rewards.map((reward) => reward ?? Number.NaN) ?? [],
    rulesOf: (group) => rows.get(group)?.rules ?? [],
    fileOf: (group) => rows.get(group)?.file ?? "",
    search: async ({ text }) => {
      const groups = text === undefined ? rows : search(text);
      return {
        has: (group) => groups.has(group),
        searched: text === undefined ? null : { share: 1, found: groups.size },
      };
    },
    readRow: async (group) => rows.get(group)?.row,
    readDetail: async (group) => groupOf(group)?.detail,
    readTrajectories: async (group) => groupOf(group)?.trajectories ?? [],
  });
};

const data = textOf("data");

/** Undefined for a served page. */
export const embeddedAnswers = data === undefined ? undefined : openEmbeddedAnswers(JSON.parse(data));
