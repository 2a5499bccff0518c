/** The interface of formats, whose functions throw ConversionError. */
import type { Path } from "../check/rules/positions.ts";
import type { RecordKinds } from "../input/index.ts";
import type { Json } from "./output-json.ts";
import type { Receipt } from "./receipt.ts";
import type { ConversionError, Members, Value } from "./value.ts";

export type FormatOptions = Readonly<{
  /** The name of a format, or `auto`. */
  from: string;
  rewardFrom?: Path | undefined;
  /** Default: `messages`. */
  messagesFrom?: Path | undefined;
  /** Rewards as JSON numbers, by the ids of rollouts. */
  rewards?: ReadonlyMap<string, string> | undefined;
  groupBy?: string | undefined;
  allowsLossy: boolean;
  hasReceipt: boolean;
  /** True if each document of a trajectory becomes a separate history. */
  keepsHistories: boolean;
}>;

export interface SourceRecord {
  readonly value: Value;
  readonly file: string;
  readonly position: number;
  readonly member?: string | undefined;
  /** The group that becomes invalid if the record cannot be converted. */
  group?: string;
}

export type Rollout = Readonly<{
  /** The group key. Its scope is the file or, if `groupsSpanFiles`, the run. Default: the record's group. */
  group?: string | undefined;
  /** The converted part. Default: the record. */
  part?: Value;
  documents?: readonly Value[];
  /** The values whose bytes determine the dedup key. Default: `part` and `documents`. */
  identityValues?: readonly Value[];
  /** Another part of the dedup key, such as a reward from another file. */
  identity?: string | undefined;
  index?: number | undefined;
  trajectory?: Json;
  exception?: Json;
  error?: ConversionError;
  /** Other members of the group, taken only from the group's first rollout. */
  members?: Members;
}>;

export type RecordFault = Pick<SourceRecord, "file" | "position"> & Readonly<{ group: string; wrong: string }>;

export interface Run {
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document that is next to the record's file, or in the record's archive. */
  readDocument(record: Pick<SourceRecord, "file" | "member">, path: string): Value | undefined;
  note(text: string): void;
  /** Returns true if the record was the first with the id, each time that the record is converted. */
  isFirst(id: string, record: Pick<SourceRecord, "file" | "position">): boolean;
  readonly usedRewardIds: Set<string>;
  readonly receipt: Pick<Receipt, "leaveOut" | "addRepeated"> | undefined;
  /** Leaves a value out with a note. @param subject a noun phrase */
  skip(value: Value, subject: string): readonly never[];
}

export interface Converter {
  /** Receives each record before the first call of `convert`. */
  preview?(record: SourceRecord): void;
  /** Returns undefined for a record that belongs to another record or describes the run. */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** After the last record, returns the faults that depend on several records. */
  findFaults?(): readonly RecordFault[];
  /** Returns the group key in a member's name, such as `samples/<key>_epoch_1.json`. */
  groupOfMember?(member: string): string | undefined;
}

export type Format = Readonly<{
  name: string;
  title: string;
  /** Descriptions of the sources of these values. */
  keys: { group: string; reward: string; sampled: string };
  records: RecordKinds;
  /** The columns that are read if no receipt is written. Default: all. */
  columns?: readonly string[];
  /** Columns with JSON that never becomes text of a trajectory. */
  jsonColumns?: readonly string[];
  /** Matches names with `/` for `\`, and without `.gz` or `.zst`. */
  filePattern?: RegExp;
  /** Names of folders whose files are parts of a record. */
  partFolders?: readonly string[];
  groupsSpanFiles?: boolean;
  takesGroupKey?: boolean;
  /** Matches files that are read last. */
  lastFilePattern?: RegExp;
  /** True if JSON can contain NaN and Infinity. */
  hasNonFinite?: boolean;
  /** True if files lack some messages or tokens. */
  isLossy?: boolean;
  recognizes(first: SourceRecord): boolean | undefined;
  open(run: Run): Converter;
}>;
