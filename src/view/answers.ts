/** The query in the page's URL, and its answers. Ordinals begin at 1. */
import * as z from "zod/mini";

export const rowsPerPage = 100;

/** In characters. */
export const maxSearchLength = 20_000;

const SortKey = z.enum(["group", "size", "mean", "spread", "trainable", "problems"]);
export type SortKey = z.output<typeof SortKey>;

const bounds = [z.number(), z.number()] as const;

/** Includes both numbers, unless `below` excludes the second. */
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
  /** Selects groups with a problem of this rule, or `any`. */
  rule: text,
  file: text,
  text,
  /** A CEL expression, as for `--where`. */
  where: text,
  /** A rule whose problems are shown, or `any`. */
  problems: text,
  group: z.optional(ordinal),
  trajectory: z.optional(ordinal),
});
export type Query = Readonly<z.output<typeof Query>>;

export const allGroups: Query = { sort: "group", descending: false, page: 1 };

const defaults = new Map<string, unknown>(Object.entries(allGroups));

/** Omits default values. */
export const formatQuery = (query: Query) =>
  JSON.stringify(query, (key, value) => (defaults.get(key) === value ? undefined : value));

/** Returns undefined for an invalid query. An empty text selects all groups. */
export const parseQuery = (json: string): Query | undefined => {
  try {
    return Query.safeParse(JSON.parse(json || "{}")).data;
  } catch {
    return undefined;
  }
};

const innerViews = ["trajectory", "group", "problems"] as const;

export const selectView = (query: Query): (typeof innerViews)[number] | "groups" =>
  innerViews.find((view) => query[view] !== undefined) ?? "groups";

/** The parent of a filtered table is the table of all groups. */
export const parentQuery = (query: Query): Query => {
  if (selectView(query) !== "groups") return { ...query, [selectView(query)]: undefined };
  const { sort, descending, page, ...filters } = query;
  return { sort, descending, page: formatQuery({ ...allGroups, ...filters }) === "{}" ? page : 1 };
};

export type AnswerTypes = Readonly<{
  state: PageState;
  charts: Charts;
  problems: Findings;
  rows: GroupRows;
  group: GroupDetail;
  /** JSON of the input. */
  trajectory: string;
}>;

export type Answers = {
  readonly [Name in keyof AnswerTypes]: (query: Query) => Promise<AnswerTypes[Name] | undefined>;
};

/** The input of the server, or the data of an exported page. */
export interface GroupStore<Facts extends GroupFacts> {
  /** Groups of the input. A page can contain fewer. */
  readonly count: number;
  readonly groups: readonly Facts[];
  readonly findings: Findings;
  state(): PageState;
  charts(): Charts;
  /** Returns the matches so far. `share` is from 0 to 1. @throws Failure `invalid-filter`, `input-changed` */
  search(query: Query): Promise<{ found: ReadonlySet<number>; share: number }>;
  readRow(facts: Facts): Promise<GroupRow>;
  readContent(group: number): Promise<GroupContent>;
  readTrajectories(group: number): Promise<readonly string[]>;
}

/** In bytes of the input while `reading`, and in groups while `measuring`. */
export type Progress = Readonly<{
  phase: "opening" | "reading" | "measuring" | "read";
  done: number;
  of: number;
}>;

export type PageState = Readonly<{
  progress: Progress;
  /** Absent until all input is read. */
  summary?: Summary;
  written?: { at: string; groups: number };
}>;

export type Summary = Readonly<{
  /** The names of the first files. */
  files: readonly string[];
  fileCount: number;
  groupFiles: number;
  groups: { read: number; rejected: number };
  trajectories: { read: number; rejected: number };
  rules: Findings["counts"];
  trainable: number;
  /** `spread` is the standard deviation. `scale` excludes outliers. */
  reward: { mean: number; spread: number; scale: RewardBounds };
  filteredOut: readonly { by: string; trajectories: number; groups: number }[];
}>;

export type RewardBounds = readonly [from: number, to: number];

export type Charts = Readonly<{
  /** `mean` is the mean of the group means; null if no group is measured. */
  files: readonly { file: string; groups: number; trainable: number; mean: number | null }[];
  rewards: readonly { range: Range; count: number }[];
  /** A dot represents similar groups. */
  dots: readonly { mean: Range; spread: Range; groups: number }[];
}>;

export type GroupRows = Readonly<{
  selected: number;
  of: number;
  rows: readonly GroupRow[];
  /** Null without a search. */
  searched: { share: number } | null;
}>;

/** A group that is invalid or not measured yet has no rewards. */
export type GroupFacts = {
  /** Index in the input, from 0. */
  group: number;
  file: string;
  size: number;
  untrainable: "invalid" | "no trajectories" | "one trajectory" | "equal rewards" | "no sampled turn" | null;
  /** Rules of problems. */
  rules: readonly string[];
  rewards: readonly number[];
  mean: number | null;
  spread: number | null;
};

export type GroupRow = GroupFacts &
  Readonly<{
    /** For example a task id. */
    key: string | null;
    /** The start, on one line; empty without a prompt. */
    prompt: string;
    /** Null for a group of a file. */
    logged: LoggedGroup | null;
    match?: SearchMatch | null;
  }>;

export type LoggedGroup = Readonly<{
  model: string;
  split: string;
  /** Milliseconds since 1970. */
  loggedAt: number;
  callIds: readonly string[];
}>;

export type SearchMatch = Readonly<{
  trajectory: number;
  before: string;
  text: string;
  after: string;
}>;

export type SourcePosition = { readonly file: string; readonly line: number };

export type Findings = Readonly<{
  findings: readonly Finding[];
  /** Includes problems that `findings` lacks. */
  counts: readonly { rule: string; severity: "error" | "warning"; count: number }[];
}>;

export type Finding = Readonly<{
  rule: string;
  severity: "error" | "warning";
  message: string;
  advice: string;
  place: (SourcePosition & { column: number | null }) | null;
  group: number | null;
  trajectory: number | null;
  /** Index in `messages_and_choices`, from 0. */
  message_at: number | null;
}>;

export type TrajectorySummary = Readonly<{
  place: SourcePosition;
  bytes: number;
  reward: number | null;
  /** In standard deviations of the group; null without a reward, or if rewards are equal. */
  advantage: number | null;
  metrics: Readonly<Record<string, number | boolean>>;
  messages: number;
}>;

export type GroupContent = Readonly<{
  place: SourcePosition;
  /** If false, the bytes of the group are the only trajectory. */
  isReadable: boolean;
  members: readonly TrajectorySummary[];
  exceptions: readonly string[];
  /** Messages at the start that all trajectories share. */
  common: number;
  findings: readonly Finding[];
  /** Null for a group that is invalid or from stdin. */
  command: string | null;
}>;

export type GroupDetail = GroupRow &
  GroupContent &
  Readonly<{
    of: number;
    /** Index in the table; null if filtered out. */
    at: number | null;
    /** Indexes of the neighbors. */
    before: number | null;
    after: number | null;
  }>;

/** An exported page without the content of groups. */
export type PageData = Readonly<{
  state: PageState;
  charts: Charts;
  findings: Findings;
  rows: readonly GroupRow[];
}>;

export type GroupData = { readonly content: GroupContent; readonly trajectories: readonly string[] };
