/** The query: one object says what the page shows. Its address has it, and the server, or a page in a file, answers it. */
import * as z from "zod/mini";

/** Rows of a page of the table. */
export const rowsPerPage = 100;

/** Characters of a text or an expression that is searched for: every address of the page has them. */
export const maxSearchLength = 20_000;

/** The columns that a table of groups can be sorted by. */
const SortKey = z.enum(["group", "size", "mean", "spread", "least", "most", "trainable", "problems", "tokens", "cost"]);
export type SortKey = z.output<typeof SortKey>;

const bounds = [z.number(), z.number()] as const;

/** From one number to another: including both, or below the second one. */
const Range = z.readonly(z.union([z.tuple(bounds), z.tuple([...bounds, z.literal("below")])]));
export type Range = z.output<typeof Range>;

const range = z.optional(Range);
const text = z.optional(z.string());
const number = z.optional(z.int().check(z.positive()));

const Query = z.readonly(
  z.object({
    sort: z._default(SortKey, "group"),
    descending: z._default(z.boolean(), false),
    /** The page of the table, from 1. */
    page: z._default(z.int().check(z.positive()), 1),
    /** Groups with a trajectory whose reward is in the range. */
    reward: range,
    mean: range,
    spread: range,
    trainable: z.optional(z.boolean()),
    /** Groups with problems of a rule, or with any problem if it is `any`. */
    rule: text,
    file: text,
    /** Groups whose bytes contain a text. */
    text,
    /** Groups with a trajectory for which an expression is true: CEL, as for `--where`. */
    where: text,
    /** Shows the problems of a rule, or all of them if it is `any`. */
    problems: text,
    /** Shows a group, and one of its trajectories. Numbers count from 1, as people count. */
    group: number,
    trajectory: number,
  }),
);
export type Query = z.output<typeof Query>;

/** All groups, in their order. */
export const allGroups: Query = { sort: "group", descending: false, page: 1 };

/** The query as JSON, without what is the default. */
export const formatQuery = (query: Query): string =>
  JSON.stringify(query, (key, value) =>
    Object.entries(allGroups).some(([name, defaultValue]) => name === key && defaultValue === value)
      ? undefined
      : value,
  );

/** Parses the JSON of a query; undefined if it is invalid. An empty text is all groups. */
export const parseQuery = (json: string): Query | undefined => {
  try {
    return Query.safeParse(JSON.parse(json || "{}")).data;
  } catch {
    return undefined;
  }
};

/** What the page shows: of what is named, the innermost. */
export const selectView = ({ trajectory, group, problems }: Query): "trajectory" | "group" | "problems" | "groups" => {
  if (group !== undefined) return trajectory === undefined ? "group" : "trajectory";
  return problems === undefined ? "groups" : "problems";
};

/** The query of the view above; undefined for the table. */
export const parentQuery = (query: Query): Query | undefined => {
  const view = selectView(query);
  if (view === "groups") return undefined;
  if (view === "trajectory") return { ...query, trajectory: undefined };
  return view === "group" ? { ...query, group: undefined } : { ...query, problems: undefined };
};
