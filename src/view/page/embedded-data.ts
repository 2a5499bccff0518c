/** Answers from the data of an exported page. */
import { listSpellings } from "../../json/spellings.ts";
import { createAnswers } from "../answer-queries.ts";
import type { Answers, GroupData, GroupRow, PageData } from "../answers.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const readGroup = (group: number): GroupData => JSON.parse(textOf(`group-${group}`) ?? "null");

const openEmbeddedAnswers = ({ state, charts, findings, rows }: PageData): Answers => {
  let found: { readonly text: string; readonly groups: ReadonlySet<number> } | undefined;
  const search = (text: string): ReadonlySet<number> => {
    const spellings = listSpellings(text);
    const has = ({ group }: GroupRow) =>
      readGroup(group).trajectories.some((one) => spellings.some((spelled) => one.includes(spelled)));
    if (found?.text !== text) found = { text, groups: new Set(rows.filter(has).map(({ group }) => group)) };
    return found.groups;
  };
  return createAnswers({
    count: state.summary?.groups.read ?? 0,
    groups: rows,
    findings,
    state: () => state,
    charts: () => charts,
    search: async ({ text }) =>
      text === undefined
        ? { has: () => true, searched: null }
        : { has: (group) => search(text).has(group), searched: { share: 1 } },
    readRow: async (row) => row,
    readContent: async (group) => readGroup(group).content,
    readTrajectories: async (group) => readGroup(group).trajectories,
  });
};

const data = textOf("data");

/** Undefined for a served page. */
export const embeddedAnswers = data === undefined ? undefined : openEmbeddedAnswers(JSON.parse(data));
