/** The query in the page's URL, and the types of answers. In a query, all numbers but rewards count from 1. */
import type { FailureLocation, Problem } from "../failure.ts";
import { isObject, type JsonObject, parseJson } from "../json/raw-json.ts";
import type { FactValues } from "../rollouts/facts.ts";

export const rowsPerPage = 100;

/** Another tab can load the page, so that the server reads a changed input again. */
export const readHeader = "Rollcall-Read";

/** The limit of `text`, in UTF-16 units. */
export const maxSearchLength = 2000;

const sortKeys = ["group", "size", "mean", "spread", "step", "failed", "tool errors", "trainable", "problems"] as const;
export type SortKey = (typeof sortKeys)[number];

/** A range includes both numbers, unless `below` excludes the second number. */
export type Range = readonly [from: number, to: number, below?: "below"];

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isTrue = (value: unknown): value is true => value === true;
const isOrdinal = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
const isSortKey = (value: unknown): value is SortKey => sortKeys.some((key) => key === value);
const isRange = (value: unknown): value is Range =>
  Array.isArray(value) &&
  value.slice(0, 2).every(Number.isFinite) &&
  (value.length === 2 || (value.length === 3 && value[2] === "below"));

const members = {
  sort: isSortKey,
  descending: isFlag,
  page: isOrdinal,
  reward: isRange,
  trainable: isFlag,
  /** Selects groups with a trajectory whose last finish reason is `length`. */
  truncated: isTrue,
  /** Selects groups with an exception. */
  failed: isTrue,
  toolErrors: isTrue,
  /** Selects groups that violate this rule. With `any`, selects groups that violate some rule. */
  rule: isText,
  file: isText,
  /** A value of the step column. */
  step: isText,
  text: isText,
  group: isOrdinal,
  trajectory: isOrdinal,
  message: isOrdinal,
};

type QueryMember<Check> = Check extends (value: unknown) => value is infer Value ? Value : never;
type QueryMembers = { readonly [Name in keyof typeof members]?: QueryMember<(typeof members)[Name]> | undefined };
export type Query = QueryMembers & Readonly<{ sort: SortKey; descending: boolean; page: number }>;

export const allGroups: Query = { sort: "group", descending: false, page: 1 };

const defaults = new Map<string, unknown>(Object.entries(allGroups));

/** Omits default values. */
export const formatQuery = (query: Query) =>
  JSON.stringify(query, (key, value) => (defaults.get(key) === value ? undefined : value));

const isQuery = (query: JsonObject): query is Query & JsonObject =>
  Object.entries(members).every(([name, check]) => !(name in query) || check(query[name]));

/** Ignores unknown members. */
export const parseQuery = (json: string): Query | undefined => {
  const { value } = parseJson(json || "{}") ?? {};
  if (!isObject(value)) return undefined;
  // Equal queries have equal JSON, so the order is that of `members`.
  const known = Object.keys(members).flatMap((name) => (Object.hasOwn(value, name) ? [[name, value[name]]] : []));
  const query: JsonObject = { ...allGroups, ...Object.fromEntries(known) };
  return isQuery(query) ? query : undefined;
};

export const selectView = ({ group, trajectory }: Query) =>
  trajectory !== undefined ? "trajectory" : group !== undefined ? "group" : "groups";

/** Returns the filters and the search alone. */
export const filtersOf = ({ group, trajectory, message, ...filters }: Query): Query => ({
  ...filters,
  ...allGroups,
});

/** The parent of a filtered table is the table of all groups. */
export const parentQuery = (query: Query): Query => {
  const view = selectView(query);
  if (view !== "groups") return { ...query, message: undefined, [view]: undefined };
  const { sort, descending, page } = query;
  return { sort, descending, page: formatQuery(filtersOf(query)) === "{}" ? page : 1 };
};

export type AnswerTypes = Readonly<{
  state: PageState;
  charts: Charts & Pick<GroupRows, "searched">;
  rows: GroupRows;
  group: GroupDetail;
  trajectory: string;
}>;

export type AnswerName = keyof AnswerTypes;

/** Returns undefined for a missing group or trajectory. */
export type Answerer = <Name extends AnswerName>(name: Name, query: Query) => Promise<AnswerTypes[Name] | undefined>;

/** The input of the server, or the data of an exported page. */
export interface GroupReader<Facts extends GroupFacts> {
  /** The number of groups in the input. */
  readonly count: number;
  readonly groups: readonly Facts[];
  state(): PageState;
  /** Default: all groups. */
  charts(selected?: readonly Facts[]): Promise<Charts>;
  /** Returns the groups found so far. @throws Failure `input-changed` */
  search(text: string): Promise<{ found: ReadonlySet<number>; share: number }>;
  readRow(facts: Facts): Promise<GroupRow>;
  readGroup(group: number): Promise<GroupData>;
}

/** `done` and `of` count bytes, and groups when the input is read. */
export type ReadProgress = Readonly<{
  phase: "opening" | "reading" | "checking groups" | "summing up" | "read";
  done: number;
  of: number;
}>;

export type PageState = Readonly<{
  progress: ReadProgress;
  /** While the input is read, the summary lacks what needs all groups. */
  summary?: Summary;
  /** True if files have changed, grown or appeared since they were read. */
  hasChanged?: boolean;
  /** The groups of an exported page, and the counts of groups with each step in the page and the input. */
  written?: { at: string; groups: number; lacksLogprobs: boolean; steps: readonly WrittenStep[] };
}>;

type WrittenStep = Readonly<{ step: string | null; groups: number; of: number }>;

export type Summary = Readonly<{
  /** As `rollcall check` prints them. */
  notes: readonly string[];
  /** The names of the first files. */
  files: readonly string[];
  fileCount: number;
  groupFiles: number;
  groups: { read: number; rejected: number };
  trajectories: { read: number; rejected: number };
  /** The counts include problems beyond the first of each rule. */
  rules: readonly { rule: string; severity: "error" | "warning"; count: number }[];
  /** The first problems that concern no group. */
  findings: readonly Finding[];
  all: Slice;
  series: readonly SeriesKey[];
  /** The column of the steps. */
  stepName: string;
  lastStep: string | null;
  /** True if a tool of some trajectory failed. */
  hasToolErrors: boolean;
  /** Excludes outliers of the rewards. */
  scale: RewardBounds;
}>;

export type RewardBounds = readonly [from: number, to: number];

/** The numbers of valid groups. `spread` is the standard deviation of the rewards. */
export type Slice = Readonly<
  Record<"groups" | "trajectories" | "failures" | "trainable" | "truncated", number> & {
    mean: number | null;
    spread: number | null;
    ci95: readonly number[] | null;
  }
>;

/** `of` counts all groups or their rewards, and the other counts those of the selected groups. */
export type Charts = Readonly<{
  /** Null if no group is filtered out. */
  selected: Slice | null;
  rewards: readonly { range: Range; count: number; of: number }[];
  /** Only with several values, of which `of` can count more. */
  series: readonly {
    by: SeriesKey;
    of: number;
    values: readonly { value: string | null; all: Slice; selected: Slice | null }[];
  }[];
}>;

export type SeriesKey = "step" | "file";

export type GroupRows = Readonly<{
  selected: number;
  of: number;
  rows: readonly GroupRow[];
  /** The share of the groups that was searched, from 0 to 1. */
  searched: number;
}>;

/** The trajectories of a group, or those of them with one step. */
export type StepPart = Pick<GroupFacts, "step" | "size" | "failures" | "untrainable" | "rewards" | "truncated">;

/** An invalid group has no rewards. Null is an unknown value. */
export type GroupFacts = {
  /** Index in the input, from 0. */
  group: number;
  file: string;
  size: number;
  untrainable:
    | ("invalid" | "no trajectories" | "one trajectory" | "infinite rewards" | "equal rewards" | "no sampled turn")
    | null;
  /** The rule of each problem. */
  rules: readonly string[];
  rewards: readonly number[];
  mean: number | null;
  spread: number | null;
  /** The number of exceptions. */
  failures: number;
  /** All steps of the trajectories, such as `3, 4`. */
  step: string | null;
  /** The parts of a group with several steps. */
  parts: readonly StepPart[] | null;
  /** All finish reasons of the last choices, such as `6 stop, 2 length`. */
  finish: string | null;
  /** The number of trajectories with the finish reason `length`. */
  truncated: number;
  /** Null if the trajectories use no tools. */
  toolErrors: number | null;
};

export type GroupRow = GroupFacts &
  Readonly<{
    /** The group key. */
    key: string | null;
    /** The start of the prompt, on one line. */
    prompt: string;
    match?: SearchMatch | null;
  }>;

export type SearchMatch = Readonly<{
  trajectory: number;
  before: string;
  text: string;
  after: string;
}>;

export type SourcePosition = { readonly file: string; readonly line: number };

/** `message_at` is the index in `messages_and_choices`, from 0. */
export type Finding = Pick<Problem, "rule" | "severity" | "message" | "advice"> &
  FailureLocation &
  Readonly<Record<"group" | "trajectory" | "message_at", number | null>>;

export type TrajectorySummary = Readonly<{
  /** Index in its group. */
  at: number;
  position: SourcePosition;
  bytes: number;
  /** Also known in invalid groups. */
  reward: number | null;
  metrics: Readonly<Record<string, number | boolean>>;
  messages: number;
  step: string | null;
  /** With their names (metrics.md). Null if the group is invalid. */
  facts: Omit<FactValues, "solved"> | null;
}>;

export type GroupContent = Readonly<{
  position: SourcePosition;
  /** True if the group is JSON. */
  isReadable: boolean;
  members: readonly TrajectorySummary[];
  exceptions: readonly string[];
  /** The number of equal messages at the start of all trajectories. */
  common: number;
  findings: readonly Finding[];
}>;

export type GroupDetail = GroupRow &
  GroupContent &
  Readonly<{
    of: number;
    /** The index in the table, or null if the group is filtered out. */
    at: number | null;
    /** The neighbors in the table, as indexes in the input. */
    before: number | null;
    after: number | null;
  }>;

/** The data of an exported page, without the content of groups. */
export type PageData = Readonly<{
  count: number;
  state: PageState;
  charts: Charts;
  rows: readonly GroupRow[];
}>;

export type GroupData = Readonly<{
  content: GroupContent;
  trajectories: readonly string[];
  /** The JSON of the group without its trajectories; empty if they are lines. */
  rest: string;
}>;
