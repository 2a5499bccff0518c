/** The answers of the server, or of an exported page. The server and the page share these types. */
import type { Query, Range } from "./query.ts";

export interface AnswerTypes {
  readonly state: PageState;
  readonly charts: Charts;
  readonly problems: Findings;
  readonly rows: GroupRows;
  readonly group: GroupDetail;
  /** The JSON of a trajectory, as it is in the input. */
  readonly trajectory: string;
}

export type Answers = {
  readonly [Name in keyof AnswerTypes]: (query: Query) => Promise<AnswerTypes[Name] | undefined>;
};

/** The source of `createAnswers`: the input of the server, or the data of an exported page. */
export interface GroupStore<Facts extends GroupFacts> {
  /** Number of groups of the input. An exported page can contain fewer. */
  readonly count: number;
  readonly groups: readonly Facts[];
  readonly findings: Findings;
  state(): PageState;
  charts(): Charts;
  /** @throws Failure `invalid-filter`, `input-changed` */
  search(query: Query): Promise<{ readonly has: (group: number) => boolean; readonly searched: GroupRows["searched"] }>;
  readRow(facts: Facts): Promise<GroupRow>;
  readContent(group: number): Promise<GroupContent>;
  readTrajectories(group: number): Promise<readonly string[]>;
}

/** `done` and `of` are in bytes of the input while `reading`, and in groups while `measuring`. */
export interface Progress {
  readonly phase: "opening" | "reading" | "measuring" | "read";
  readonly done: number;
  readonly of: number;
}

export interface PageState {
  readonly progress: Progress;
  /** Absent until all input is read. */
  readonly summary?: Summary;
  /** Only in an exported page. */
  readonly written?: { readonly at: string; readonly groups: number };
}

export interface Summary {
  /** The names of the first files. */
  readonly files: readonly string[];
  readonly fileCount: number;
  readonly groupFiles: number;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  readonly rules: Findings["counts"];
  readonly trainable: number;
  /** `spread`: standard deviation. `scale`: the bounds of colors and charts, without outliers. */
  readonly reward: { readonly mean: number; readonly spread: number; readonly scale: RewardBounds };
  readonly filteredOut: readonly { readonly by: string; readonly trajectories: number; readonly groups: number }[];
}

export type RewardBounds = readonly [from: number, to: number];

export interface Charts {
  readonly files: readonly FileSummary[];
  readonly rewards: readonly RewardCount[];
  readonly dots: readonly Dot[];
}

export type RewardCount = { readonly range: Range; readonly count: number };

/** A dot represents groups with similar means and spreads (standard deviations) of rewards. */
export type Dot = { readonly mean: Range; readonly spread: Range; readonly groups: number };

export interface FileSummary {
  readonly file: string;
  readonly groups: number;
  readonly trainable: number;
  /** The mean of the group means; null if no group is measured. */
  readonly mean: number | null;
}

export type UntrainableReason = "invalid" | "no trajectories" | "one trajectory" | "equal rewards" | "no sampled turn";

export interface GroupRows {
  readonly selected: number;
  readonly of: number;
  readonly rows: readonly GroupRow[];
  /** `share` is from 0 to 1. Null without a search. */
  readonly searched: { readonly share: number } | null;
}

/** A group that is invalid or not measured yet has no rewards. */
export interface GroupFacts {
  /** Index in the input, from 0. */
  readonly group: number;
  readonly file: string;
  readonly size: number;
  readonly untrainable: UntrainableReason | null;
  /** The rule of each problem. */
  readonly rules: readonly string[];
  readonly rewards: readonly number[];
  readonly mean: number | null;
  readonly spread: number | null;
}

export interface GroupRow extends GroupFacts {
  /** The group's name in the data, such as a task id. */
  readonly key: string | null;
  /** The start of the prompt on one line; empty without a prompt. */
  readonly prompt: string;
  /** Null if the group is not from the local service. */
  readonly logged: LoggedGroup | null;
  readonly match?: SearchMatch | null;
}

export interface LoggedGroup {
  readonly model: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** One for each trajectory. */
  readonly callIds: readonly string[];
}

export interface SearchMatch {
  readonly trajectory: number;
  readonly before: string;
  readonly text: string;
  readonly after: string;
}

export type SourcePosition = { readonly file: string; readonly line: number };

export interface Findings {
  readonly findings: readonly Finding[];
  /** Includes problems that `findings` lacks. */
  readonly counts: readonly { readonly rule: string; readonly severity: "error" | "warning"; readonly count: number }[];
}

export interface Finding {
  readonly rule: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly advice: string;
  readonly place: (SourcePosition & { readonly column: number | null }) | null;
  readonly group: number | null;
  readonly trajectory: number | null;
  /** Index in `messages_and_choices`, from 0. */
  readonly message_at: number | null;
}

export interface TrajectorySummary {
  readonly place: SourcePosition;
  readonly bytes: number;
  readonly reward: number | null;
  /** Reward minus mean reward of the group, in standard deviations; null without a reward, or if rewards are equal. */
  readonly advantage: number | null;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  readonly messages: number;
}

/** The parts of a group that the table does not show. */
export interface GroupContent {
  readonly place: SourcePosition;
  /** False if the group is not JSON. Then the group's bytes are the only trajectory. */
  readonly isReadable: boolean;
  readonly members: readonly TrajectorySummary[];
  readonly exceptions: readonly string[];
  /** Number of messages at the start that all trajectories share. */
  readonly common: number;
  readonly findings: readonly Finding[];
  /** `call read` for a logged group, else `log`; null if the group is not logged, and is invalid or from stdin. */
  readonly command: string | null;
}

export interface GroupDetail extends GroupRow, GroupContent {
  readonly of: number;
  /** Index in the table; null if the filters do not select the group. */
  readonly at: number | null;
  /** Indexes of the previous and the next group; null if there is none. */
  readonly before: number | null;
  readonly after: number | null;
}

/** The data of an exported page, except the content of groups. */
export interface PageData {
  readonly state: PageState;
  readonly charts: Charts;
  readonly findings: Findings;
  readonly rows: readonly GroupRow[];
}

export type GroupData = { readonly content: GroupContent; readonly trajectories: readonly string[] };
