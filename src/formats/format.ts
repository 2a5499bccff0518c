/** The interface of formats of other tools: how files are recognized, and how records become rollouts. */
import type { Path } from "../check/rules/positions.ts";
import type { RecordKinds } from "../input/index.ts";
import type { OutputJson } from "./output-json.ts";
import type { ConversionError, Value } from "./value.ts";

export interface FormatOptions {
  /** The name of a format; `auto` recognizes the files. */
  readonly from: string;
  /** Path of the reward in a record. Default: that of the format. */
  readonly rewardFrom?: Path | undefined;
  /** Path of the messages in a row of chat messages. Default: `messages`. */
  readonly messagesFrom?: Path | undefined;
  /** Rewards by the ids of rollouts, as JSON numbers. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  readonly groupBy?: string | undefined;
  readonly allowsLossy: boolean;
  readonly hasReceipt: boolean;
  /** True if each of several documents of a trajectory becomes a history. */
  readonly keepsHistories: boolean;
}

export interface SourceRecord {
  readonly value: Value;
  readonly file: string;
  /** Its position among the records of the file, from 0. */
  readonly position: number;
  readonly member?: string | undefined;
  /** The key of its group, if known. If the record cannot be converted, the group is invalid. */
  group?: string;
}

/** A converted part of a record: a trajectory or an exception of a group, or members of the group itself. */
export interface Rollout {
  /** Key of its group in the file, or in the run if the format `hasGroupsAcrossFiles`. Default: the record's group. */
  readonly group?: string | undefined;
  /** The value of the record that it was converted from, whose bytes the dedup key includes. Default: the record. */
  readonly part?: Value | undefined;
  /** Other documents that it consists of. The dedup key includes their bytes, and the receipt counts their values. */
  readonly documents?: readonly Value[] | undefined;
  /** Values whose bytes the dedup key includes, instead of `part` and `documents`. */
  readonly identityValues?: readonly Value[] | undefined;
  /** Another part of the dedup key, such as a reward from another file. */
  readonly identity?: string | undefined;
  /** Its index among the trajectories of its group, from 0, if it is recorded. */
  readonly index?: number | undefined;
  readonly trajectory?: OutputJson | undefined;
  readonly exception?: OutputJson | undefined;
  readonly error?: ConversionError | undefined;
  /** Members of the group next to its trajectories. Only the members of the group's first rollout count. */
  readonly members?: readonly (readonly [key: string, value: OutputJson])[] | undefined;
}

export type RecordFault = Pick<SourceRecord, "file" | "position"> & Readonly<{ group: string; wrong: string }>;

export interface FormatRun {
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document at a path relative to the record's file, or in its archive; undefined if there is none. */
  readDocument(record: Pick<SourceRecord, "file" | "member">, path: string): Value | undefined;
  note(text: string): void;
  /** The ids in `--rewards` that a rollout has. */
  readonly usedRewards: Set<string>;
  /** Tells the receipt why a value is not converted. */
  leaveOut(value: Value, reason: string): void;
  /** Tells the receipt that a value is not copied, because it identifies or repeats what is at the path `to`. */
  repeat(value: Value | undefined, to: string): void;
  /** Leaves a value out, notes it, and returns an empty list. @param subject a noun phrase */
  skip(value: Value, subject: string): readonly never[];
}

export interface Converter {
  /** Reads each record before the first is converted, if records refer to each other. */
  preview?(record: SourceRecord): void;
  /** Undefined if no receipt counts the record: part of another record, or about the run. @throws ConversionError */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Returns the faults that can be found only when all records are known. */
  findFaults?(): readonly RecordFault[];
  /** Returns the group of a member that cannot be read, if the member's name contains the group. */
  groupOfMember?(member: string): string | undefined;
}

export interface Format {
  /** The value of `--from`. */
  readonly name: string;
  readonly title: string;
  /** The origins of groups, rewards and sampled turns, as texts. */
  readonly keys: { readonly group: string; readonly reward: string; readonly sampled: string };
  /** The records of each kind of file. A file of any other kind cannot have the format. */
  readonly records: RecordKinds;
  /** The columns that are read, unless there is a receipt, which counts all columns. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Columns with JSON, which never become text in a trajectory. */
  readonly jsonColumns?: readonly string[];
  /** Names of its files. An unrecognized file with such a name gets the format if recognized files have it. */
  readonly filePattern?: RegExp | undefined;
  /** Names of folders next to a file. The files in them are parts of that file, not inputs. */
  readonly partFolders?: readonly string[];
  readonly hasGroupsAcrossFiles?: boolean;
  readonly takesGroupKey?: boolean;
  /** Names of files that are read after the others. */
  readonly lastFilePattern?: RegExp;
  /** True if its JSON can contain NaN and Infinity. Each is read as an empty object. */
  readonly hasNonFinite?: boolean;
  /** True if its files lack some of the messages or tokens. */
  readonly isLossy?: boolean;
  recognizes(first: SourceRecord): boolean;
  open(run: FormatRun): Converter;
  /** Each reason with paths that blanks separate; indexes are `[]`. The longest path that contains a value counts. */
  readonly leftOutReasons?: readonly (readonly [reason: string, paths: string])[];
  /** The list of rollouts in a record, such as `samples[]`. `leftOutReasons` also apply to paths from its elements. */
  readonly rolloutList?: string;
}

export const reasons = {
  nested: "metadata cannot contain nested values",
  onlyNumbers: "metrics can only be numbers",
  onlyFunctions: "only function tools are converted",
  ofRun: "it describes the run, not a rollout",
  tokens: "these tokens follow from the messages",
  withoutLogprobs: "no logprobs are recorded for these tokens",
};
