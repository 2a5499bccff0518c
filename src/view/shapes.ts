/** What the page asks its server for, and what it is answered: both sides are compiled with these types. */
import type { CallsSummary } from "./call-shapes.ts";
import type { Range } from "./range.ts";

/** How what is looked at was asked for: as the command that logs it asks too. */
export interface AskedFor {
  readonly files: readonly string[];
  /** Options beside `--where`. */
  readonly options: readonly string[];
  readonly where: string | undefined;
}

/** How far the reading is: the page shows it while it waits. */
export interface Progress {
  readonly phase: "opening" | "reading" | "measuring" | "calls" | "read";
  /** Of what is counted in this phase: bytes of the input, groups, or calls. */
  readonly done: number;
  readonly of: number;
}

/** What was read. */
export interface Summary {
  readonly files: readonly string[];
  /** Files that groups begin in, where there are several: no more than a bounded number is drawn. */
  readonly runs: number;
  readonly groups: Counted;
  readonly trajectories: Counted;
  /** How often each rule was broken. */
  readonly rules: readonly { readonly rule: string; readonly severity: "error" | "warning"; readonly count: number }[];
  /** Groups that something is learned from: whose rewards differ, and which have a turn that was sampled where any has one. */
  readonly withSignal: number;
  readonly reward: { readonly mean: number; readonly spread: number; readonly least: number; readonly most: number };
  /** What was not chosen, by the option that left it out. */
  readonly leftOut: readonly { readonly by: string; readonly trajectories: number; readonly groups: number }[];
}

/** How many there are, and how many of them are not valid. */
interface Counted {
  readonly read: number;
  readonly rejected: number;
}

/** `GET /api/state` */
export interface State {
  readonly progress: Progress;
  /** Absent until all was read. */
  readonly summary?: Summary;
  /** What trajectories say that they took, where any does. */
  readonly recorded?: readonly ("tokens" | "cost")[];
  /** Of a page in a file, when it was written, and how many groups it holds: no more than it may take. */
  readonly written?: { readonly at: string; readonly groups: number };
  /** What calls are looked at, where it is not groups. */
  readonly calls?: CallsSummary;
}

/** Rewards of a range, and how many trajectories have them. */
export interface Bar {
  readonly range: Range;
  readonly count: number;
}

/** Groups whose means and spreads are close: a dot. */
export interface Dot {
  readonly mean: Range;
  readonly spread: Range;
  readonly groups: number;
}

/** A file beside others: a step, or a run. */
export interface Run {
  readonly file: string;
  /** What tells its run from others; empty where all files are of one. */
  readonly run: string;
  /** The number in its name, or in that of its folder. */
  readonly step: number | null;
  readonly groups: number;
  readonly withSignal: number;
  /** The mean of its groups' means; null where none is measured. */
  readonly mean: number | null;
}

/** `GET /api/charts` */
export interface Charts {
  /** Empty where there is but one file. */
  readonly runs: readonly Run[];
  readonly rewards: readonly Bar[];
  readonly dots: readonly Dot[];
}

/** What a table of groups can be sorted by. */
export const sortKeys = [
  "group",
  "size",
  "mean",
  "spread",
  "least",
  "most",
  "trainable",
  "problems",
  "tokens",
  "cost",
] as const;
export type SortKey = (typeof sortKeys)[number];

/** Characters that are looked for at most, as a text or as an expression: every link of the page holds them. */
export const mostSought = 20_000;

/** Which groups are wanted, in which order: as a query of an address has it. */
export interface Selection {
  readonly sort: SortKey;
  readonly descending: boolean;
  /** Groups with a trajectory whose reward lies there. */
  readonly reward?: Range | undefined;
  readonly mean?: Range | undefined;
  readonly spread?: Range | undefined;
  readonly trainable?: boolean | undefined;
  /** Groups with problems of a rule; with any where it is `any`. */
  readonly rule?: string | undefined;
  readonly file?: string | undefined;
  /** Groups whose bytes hold a text, as it is written. */
  readonly text?: string | undefined;
  /** Groups with a trajectory for which an expression is true: CEL, as `--where` takes it. */
  readonly where?: string | undefined;
}

/** How far a search is, as a share from 0 to 1, and how many groups it found. */
export interface Searched {
  readonly share: number;
  readonly found: number;
}

/** Why nothing is learned from a group. */
export type Untrainable = "not valid" | "no trajectories" | "a group of one" | "equal rewards" | "no sampled turn";

/** A group in the table. Numbers are null until they are measured, and where a group is not valid. */
export interface Row {
  readonly group: number;
  /** The first words of its prompt. */
  readonly words: string;
  readonly size: number;
  readonly mean: number | null;
  readonly spread: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly untrainable: Untrainable | null;
  readonly problems: number;
  /** What its trajectories say that they took; null where they say nothing. */
  readonly tokens: number | null;
  readonly cost: number | null;
}

/** Rows of a table, of those that were selected. */
export interface Listed<Of> {
  /** How many were selected, and how many there are. */
  readonly selected: number;
  readonly of: number;
  readonly rows: readonly Of[];
  /** Null where nothing more will be found. */
  readonly searched: Searched | null;
}

/** `GET /api/rows` */
export type Rows = Listed<Row>;

/** A place in a file. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** A problem, and what it is about, as far as that is known. */
export interface Finding {
  readonly rule: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly advice: string;
  readonly place: Place | null;
  readonly group: number | null;
  readonly trajectory: number | null;
  /** Position in `messages_and_choices`. */
  readonly message_at: number | null;
}

/** `GET /api/problems` */
export interface Findings {
  readonly findings: readonly Finding[];
  /** How many more there are: of each rule a bounded number is kept. */
  readonly others: number;
}

/** A trajectory of a group. */
export interface Member {
  readonly place: Place;
  readonly bytes: number;
  readonly reward: number | null;
  /** Numbers of its metrics. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Messages and choices. */
  readonly messages: number;
}

/** `GET /api/groups/<group>` */
export interface GroupDetail {
  readonly group: number;
  readonly of: number;
  readonly place: Place;
  readonly valid: boolean;
  /** Whether it is JSON: what is none has no trajectories, and is shown in the place of one. */
  readonly isReadable: boolean;
  readonly untrainable: Untrainable | null;
  readonly members: readonly Member[];
  /** How many messages all of them begin with alike. */
  readonly common: number;
  readonly findings: readonly Finding[];
  /** The command that logs this group; null if it came from standard input. */
  readonly command: string | null;
}

/** What a page in a file answers by itself. */
export interface Held {
  readonly state: State;
  readonly charts: Charts;
  readonly findings: Findings;
  readonly rows: readonly HeldRow[];
}

/** A row, and what it is filtered by. */
export interface HeldRow {
  readonly row: Row;
  readonly file: string;
  readonly rewards: readonly (number | null)[];
  readonly rules: readonly string[];
}

/** A group in such a page. */
export interface HeldGroup {
  readonly detail: GroupDetail;
  /** The JSON of its trajectories, as it stands. */
  readonly trajectories: readonly string[];
}
