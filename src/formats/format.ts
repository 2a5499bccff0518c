/** The interface of formats of other tools. A format recognizes files, and converts records to rollouts. */
import type { Path } from "../check/rules/positions.ts";
import type { RecordKinds } from "../input/index.ts";
import type { OutputJson } from "./output-json.ts";
import type { ConversionError, Members, Value } from "./value.ts";

export interface FormatOptions {
  /** The name of a format, or `auto` to recognize the format of each file. */
  readonly from: string;
  /** Path of the reward in a record. Default: the format decides. */
  readonly rewardFrom?: Path | undefined;
  /** Path of the messages in a row of chat messages. Default: `messages`. */
  readonly messagesFrom?: Path | undefined;
  /** Rewards as JSON numbers, by the ids of rollouts. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  readonly groupBy?: string | undefined;
  readonly allowsLossy: boolean;
  readonly hasReceipt: boolean;
  /** True if each document of a trajectory of several documents becomes a history. */
  readonly keepsHistories: boolean;
}

export interface SourceRecord {
  readonly value: Value;
  readonly file: string;
  /** Index in the file, from 0. */
  readonly position: number;
  readonly member?: string | undefined;
  /** The key of the record's group, if known. If the record cannot be converted, this group is invalid. */
  group?: string;
}

/** A converted part of a record: a trajectory or an exception of a group, or members of the group itself. */
export interface Rollout {
  /** Key of the group, unique in the file or, if `hasGroupsAcrossFiles`, in the run. Default: the record's group. */
  readonly group?: string | undefined;
  /** The value that became the rollout. The dedup key includes the bytes of this value. Default: the record. */
  readonly part?: Value | undefined;
  /** Other documents of the rollout. The dedup key includes their bytes, and the receipt counts their values. */
  readonly documents?: readonly Value[] | undefined;
  /** Values whose bytes the dedup key includes, instead of `part` and `documents`. */
  readonly identityValues?: readonly Value[] | undefined;
  /** Another part of the dedup key, such as a reward from another file. */
  readonly identity?: string | undefined;
  /** The recorded index of the trajectory in its group, from 0. */
  readonly index?: number | undefined;
  readonly trajectory?: OutputJson | undefined;
  readonly exception?: OutputJson | undefined;
  readonly error?: ConversionError | undefined;
  /** Members of the group next to `trajectories`. Only the group's first rollout provides them. */
  readonly members?: Members | undefined;
}

export type RecordFault = Pick<SourceRecord, "file" | "position"> & Readonly<{ group: string; wrong: string }>;

export interface FormatRun {
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document at a path relative to the record's file, or in the same archive; undefined if it is missing. */
  readDocument(record: Pick<SourceRecord, "file" | "member">, path: string): Value | undefined;
  note(text: string): void;
  /** True if the record is the first with an id. The result does not change if the record is converted again. */
  isFirst(id: string, record: Pick<SourceRecord, "file" | "position">): boolean;
  /** The ids in `--rewards` that rollouts have. */
  readonly usedRewards: Set<string>;
  /** Tells the receipt why a value is not converted. */
  leaveOut(value: Value, reason: string): void;
  /** Tells the receipt that a value is not copied, because it identifies or repeats the value at the path `to`. */
  repeat(value: Value | undefined, to: string): void;
  /** Leaves a value out with a note, and returns an empty list. @param subject a noun phrase */
  skip(value: Value, subject: string): readonly never[];
}

export interface Converter {
  /** Reads each record before the first is converted, if records refer to each other. */
  preview?(record: SourceRecord): void;
  /** Returns undefined for a record that is part of another or describes the run. @throws ConversionError */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Returns the faults that can be found only when all records are known. */
  findFaults?(): readonly RecordFault[];
  /** Returns the group of an unreadable member if the member's name contains the group. */
  groupOfMember?(member: string): string | undefined;
}

export interface Format {
  /** The value of `--from`. */
  readonly name: string;
  readonly title: string;
  /** Texts that describe the sources of groups, rewards and sampled turns. */
  readonly keys: { readonly group: string; readonly reward: string; readonly sampled: string };
  /** The records of each kind of file. A file of any other kind cannot have the format. */
  readonly records: RecordKinds;
  /** The columns to read if no receipt has to count all columns. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Columns with JSON, which never become text in a trajectory. */
  readonly jsonColumns?: readonly string[];
  /** Matches names with `/`, without `.gz` or `.zst`. A matching file has the format if recognized files have it. */
  readonly filePattern?: RegExp | undefined;
  /** Names of folders next to a file. Files in these folders are parts of that file, not inputs. */
  readonly partFolders?: readonly string[];
  readonly hasGroupsAcrossFiles?: boolean;
  readonly takesGroupKey?: boolean;
  /** Names of files that are read last. */
  readonly lastFilePattern?: RegExp;
  /** True if JSON can contain NaN and Infinity, which are read as empty objects. */
  readonly hasNonFinite?: boolean;
  /** True if files lack some messages or tokens. */
  readonly isLossy?: boolean;
  recognizes(first: SourceRecord): boolean;
  open(run: FormatRun): Converter;
  /** Each reason has paths, separated by blanks, with `[]` for indexes. The longest path that fits a value counts. */
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
