/** What a page in a file answers by itself, as the server would. */
import { spellingsOf } from "../../json/spellings.ts";
import { selectionIn } from "../query.ts";
import { isWithin } from "../range.ts";
import { type Columns, ordered } from "../selected.ts";
import type { Findings, Held, HeldGroup, Rows, Selection } from "../shapes.ts";
import { allGroups } from "./routes.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const held = ((text): Held | undefined => (text === undefined ? undefined : JSON.parse(text)))(textOf("held"));

/** Whether the page holds what it shows, and asks nobody. */
export const isHeld = held !== undefined;

// The page draws over its document: its blocks are taken out of it first.
const blocks = new Map(held?.rows.map(({ row: { group } }) => [group, textOf(`group-${group}`) ?? ""]));

const groupOf = (group: number): HeldGroup | undefined => {
  const text = blocks.get(group);
  return text === undefined ? undefined : JSON.parse(text);
};

/** What the page's server would answer; undefined where there is one. */
export const heldAnswer = async (address: string): Promise<Response | undefined> => {
  if (held === undefined) return undefined;
  const [path = "", query = ""] = address.split("?");
  const [, noun, group, trajectory] = path.split("/");
  const parameters = new URLSearchParams(query);
  if (noun === "state") return json(held.state);
  if (noun === "charts") return json(held.charts);
  if (noun === "problems") return json(problemsOf(held, parameters.get("rule")));
  if (noun === "rows") return json(rowsOf(held, parameters));
  const own = groupOf(Number(group));
  if (trajectory === undefined) return json(own?.detail);
  return own === undefined ? json(undefined) : new Response(own.trajectories[Number(trajectory)] ?? "");
};

const json = (value: unknown): Response =>
  value === undefined
    ? new Response(JSON.stringify({ detail: "this page does not hold that group" }), { status: 404 })
    : new Response(JSON.stringify(value));

const problemsOf = ({ findings: { findings, others } }: Held, rule: string | null): Findings => ({
  findings: findings.filter((finding) => rule === null || finding.rule === rule),
  others,
});

const rowsOf = ({ rows }: Held, parameters: URLSearchParams): Rows => {
  const selection = selectionIn(parameters) ?? allGroups;
  const found = foundBy(selection);
  const isFound = (at: number) => found?.has(rows[at]?.row.group ?? -1) ?? true;
  const order = ordered(columnsOf(rows), { selection, isFound });
  const [from, count] = [Number(parameters.get("from")), Number(parameters.get("count"))];
  return {
    selected: order.length,
    of: rows.length,
    rows: Array.from(order.subarray(from, from + count)).flatMap((at) => rows[at]?.row ?? []),
    searched: found === undefined ? null : { share: 1, found: found.size },
  };
};

const columnsOf = (rows: Held["rows"]): Columns => ({
  count: rows.length,
  value: (key, at) => {
    const row = rows[at]?.row;
    if (key === "trainable") return row?.untrainable === null ? 1 : 0;
    return row?.[key] ?? Number.NaN;
  },
  hasReward: (at, range) => rows[at]?.rewards.some((reward) => reward !== null && isWithin(reward, range)) === true,
  hasProblem: (at, rule) => rows[at]?.rules.some((own) => rule === "any" || own === rule) === true,
  isOf: (at, file) => rows[at]?.file === file,
});

/** The last text that was searched for, and the groups that hold it. */
let searched: { readonly text: string; readonly found: ReadonlySet<number> } | undefined;

const foundBy = ({ text }: Selection): ReadonlySet<number> | undefined => {
  if (text === undefined || searched?.text === text) return text === undefined ? undefined : searched?.found;
  const spellings = spellingsOf(text);
  const found = new Set<number>();
  for (const group of blocks.keys()) {
    const trajectories = groupOf(group)?.trajectories ?? [];
    if (trajectories.some((one) => spellings.some((spelled) => one.includes(spelled)))) found.add(group);
  }
  searched = { text, found };
  return found;
};
