/** The query in the page's URL, which selects the view. Numbers of pages, groups and trajectories begin at 1. */
import * as z from "zod/mini";

export const rowsPerPage = 100;

/** In characters. The searched text or expression is part of the URL. */
export const maxSearchLength = 20_000;

const SortKey = z.enum(["group", "size", "mean", "spread", "trainable", "problems"]);
export type SortKey = z.output<typeof SortKey>;

const bounds = [z.number(), z.number()] as const;

/** A range includes both numbers. With `below`, the range excludes the second number. */
const Range = z.readonly(z.union([z.tuple(bounds), z.tuple([...bounds, z.literal("below")])]));
export type Range = z.output<typeof Range>;

const range = z.optional(Range);
const text = z.optional(z.string());
const ordinal = z.int().check(z.positive());

const Query = z.object({
  sort: z._default(SortKey, "group"),
  descending: z._default(z.boolean(), false),
  page: z._default(ordinal, 1),
  reward: range,
  mean: range,
  spread: range,
  trainable: z.optional(z.boolean()),
  /** Selects groups with a problem of this rule, or of any rule if `any`. */
  rule: text,
  file: text,
  text,
  /** Selects groups with a trajectory that matches this CEL expression, as `--where` does. */
  where: text,
  /** The rule whose problems are shown, or `any`. Independent of `rule`, which selects groups. */
  problems: text,
  group: z.optional(ordinal),
  /** In the group. */
  trajectory: z.optional(ordinal),
});
export type Query = Readonly<z.output<typeof Query>>;

export const allGroups: Query = { sort: "group", descending: false, page: 1 };

const defaults = new Map<string, unknown>(Object.entries(allGroups));

/** Omits default values. */
export const formatQuery = (query: Query) =>
  JSON.stringify(query, (key, value) => (defaults.get(key) === value ? undefined : value));

/** Returns undefined for an invalid query. If `json` is empty, the query selects all groups. */
export const parseQuery = (json: string): Query | undefined => {
  try {
    return Query.safeParse(JSON.parse(json || "{}")).data;
  } catch {
    return undefined;
  }
};

const innerViews = ["trajectory", "group", "problems"] as const;

/** Returns the innermost view that the query names. */
export const selectView = (query: Query): (typeof innerViews)[number] | "groups" =>
  innerViews.find((view) => query[view] !== undefined) ?? "groups";

/** The parent of a filtered table is the table of all groups. */
export const parentQuery = (query: Query): Query => {
  if (selectView(query) !== "groups") return { ...query, [selectView(query)]: undefined };
  const { sort, descending, page, ...filters } = query;
  return { sort, descending, page: formatQuery({ ...allGroups, ...filters }) === "{}" ? page : 1 };
};
