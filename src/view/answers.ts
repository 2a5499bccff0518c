/** The answers of the server, or of a page in a file, that the page draws: both sides are compiled with these types. */
import type { Query, Range } from "./query.ts";

/** What the page can ask for, by name. */
export interface AnswerTypes {
  readonly state: PageState;
  readonly charts: Charts;
  readonly problems: Findings;
  readonly rows: GroupRows;
  readonly group: GroupDetail;
  /** The JSON of a trajectory, as it is in the input. */
  readonly trajectory: string;
}

/** Answers a query. Undefined if there is no such thing. */
export type Answers = {
  readonly [Name in keyof AnswerTypes]: (query: Query) => Promise<AnswerTypes[Name] | undefined>;
};

/** The progress of reading, in bytes of the input, then in groups. */
export interface Progress {
  readonly phase: "opening" | "reading" | "measuring" | "read";
  readonly done: number;
  readonly of: number;
}

export interface PageState {
  readonly progress: Progress;
  /** Absent until all was read. */
  readonly summary?: Summary;
  /** Columns that only some inputs have values for, of those that this one has. */
  readonly recorded?: readonly ("tokens" | "cost" | "split")[];
  /** For a page in a file: when it was written, and how many groups it has. */
  readonly written?: { readonly at: string; readonly groups: number };
}

export interface Summary {
  readonly files: readonly string[];
  /** Number of files that groups begin in, if there are several. */
  readonly runs: number;
  readonly groups: { readonly read: number; readonly rejected: number };
  readonly trajectories: { readonly read: number; readonly rejected: number };
  readonly rules: readonly { readonly rule: string; readonly severity: "error" | "warning"; readonly count: number }[];
  /** Groups that something is learned from. */
  readonly withSignal: number;
  readonly reward: { readonly mean: number; readonly spread: number; readonly least: number; readonly most: number };
  readonly leftOut: readonly { readonly by: string; readonly trajectories: number; readonly groups: number }[];
}

export interface Charts {
  /** Empty for one file. */
  readonly runs: readonly FileSummary[];
  readonly rewards: readonly Bar[];
  readonly dots: readonly Dot[];
}

/** Trajectories with rewards in a range. */
export interface Bar {
  readonly range: Range;
  readonly count: number;
}

/** Groups with similar means and spreads. */
export interface Dot {
  readonly mean: Range;
  readonly spread: Range;
  readonly groups: number;
}

/** One of several files: a step, or a run. */
export interface FileSummary {
  readonly file: string;
  /** The name that distinguishes its run; empty if all files are of one run. */
  readonly run: string;
  /** The number in its name, or in that of its folder. */
  readonly step: number | null;
  readonly groups: number;
  readonly withSignal: number;
  /** The mean of the means of its groups; null if none is measured. */
  readonly mean: number | null;
}

/** Why nothing is learned from a group. */
export type UntrainableReason =
  | "not valid"
  | "no trajectories"
  | "a group of one"
  | "equal rewards"
  | "no sampled turn";

export interface GroupRows {
  /** Groups that are selected, and all groups. */
  readonly selected: number;
  readonly of: number;
  readonly rows: readonly GroupRow[];
  /** The progress of a search, from 0 to 1, and how many groups it found; null without a search. */
  readonly searched: { readonly share: number; readonly found: number } | null;
}

/** A group in the table. Numbers are null until they are measured, for an invalid group, and if nothing is recorded. */
export interface GroupRow {
  readonly group: number;
  /** The first words of its prompt. */
  readonly words: string;
  readonly size: number;
  readonly mean: number | null;
  readonly spread: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly untrainable: UntrainableReason | null;
  readonly problems: number;
  readonly tokens: number | null;
  readonly cost: number | null;
  /** The split that it was logged to, in the local service. */
  readonly split: string | null;
}

export interface SourcePosition {
  readonly file: string;
  readonly line: number;
}

export interface Findings {
  readonly findings: readonly Finding[];
  /** Number of problems that are not in the list. */
  readonly others: number;
}

/** A problem, and what it is about if that is known. */
export interface Finding {
  readonly rule: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly advice: string;
  readonly place: SourcePosition | null;
  readonly group: number | null;
  readonly trajectory: number | null;
  /** Position in `messages_and_choices`. */
  readonly message_at: number | null;
}

/** A trajectory of a group. One of the local service has the id of its call instead of a line. */
export interface TrajectorySummary {
  readonly place: SourcePosition | null;
  readonly call: string | null;
  readonly bytes: number;
  readonly reward: number | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly messages: number;
}

export interface GroupDetail {
  readonly group: number;
  readonly of: number;
  /** Its position in the table, and the groups next to it there. */
  readonly at: number | null;
  readonly before: number | null;
  readonly after: number | null;
  readonly place: SourcePosition | null;
  /** How it was logged to the local service. */
  readonly logged: { readonly model: string; readonly split: string; readonly at: string } | null;
  readonly valid: boolean;
  /** False if it is not JSON; its bytes are then shown as its only trajectory. */
  readonly isReadable: boolean;
  readonly untrainable: UntrainableReason | null;
  readonly members: readonly TrajectorySummary[];
  /** Number of messages that all trajectories begin with. */
  readonly common: number;
  readonly findings: readonly Finding[];
  /** The command that logs this group, or reads its calls; null if it came from standard input. */
  readonly command: string | null;
}

/** The data of a page in a file, except its groups. */
export interface PageData {
  readonly state: PageState;
  readonly charts: Charts;
  readonly findings: Findings;
  /** Rows, and what they are filtered by. */
  readonly rows: readonly {
    readonly row: GroupRow;
    readonly file: string;
    readonly rewards: readonly (number | null)[];
    readonly rules: readonly string[];
  }[];
}

/** A group of a page in a file, in a block of its own. */
export interface GroupData {
  readonly detail: GroupDetail;
  readonly trajectories: readonly string[];
}
