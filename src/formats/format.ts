/** The interface of formats of other tools. Functions of a format throw ConversionError. */
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
  /** JSON numbers by the ids of rollouts. */
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
  /** Index in the file, from 0. */
  readonly position: number;
  readonly member?: string | undefined;
  /** The group that becomes invalid if the record cannot be converted. */
  group?: string;
}

/** A trajectory, an exception, an error, or only members of the group. */
export type Rollout = Readonly<{
  /** Unique in the file or, if `groupsSpanFiles`, in the run. Default: the record's group. */
  group?: string | undefined;
  /** Default: the record. */
  part?: Value;
  /** Documents next to the record. */
  documents?: readonly Value[];
  /** The values whose bytes are in the dedup key. Default: `part` and `documents`. */
  identityValues?: readonly Value[];
  /** Another part of the dedup key, such as a reward from another file. */
  identity?: string | undefined;
  /** The recorded position in the group. */
  index?: number | undefined;
  trajectory?: Json;
  exception?: Json;
  error?: ConversionError;
  /** Members next to `trajectories`, read only from the group's first rollout. */
  members?: Members;
}>;

export type RecordFault = Pick<SourceRecord, "file" | "position"> & Readonly<{ group: string; wrong: string }>;

export interface Run {
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document next to the record's file or in its archive. */
  readDocument(record: Pick<SourceRecord, "file" | "member">, path: string): Value | undefined;
  note(text: string): void;
  /** True for the first record with an id, also if this record is converted again. */
  isFirst(id: string, record: Pick<SourceRecord, "file" | "position">): boolean;
  readonly usedRewardIds: Set<string>;
  readonly receipt: Pick<Receipt, "leaveOut" | "addRepeated"> | undefined;
  /** Leaves a value out with a note. @param subject a noun phrase */
  skip(value: Value, subject: string): readonly never[];
}

export interface Converter {
  /** Gets all records before the first call of `convert`. */
  preview?(record: SourceRecord): void;
  /** Returns undefined for a record that belongs to another record or describes the run. */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Finds faults between records after the last record. */
  findFaults?(): readonly RecordFault[];
  /** Returns the group key in a member's name, such as `samples/<key>_epoch_1.json`. */
  groupOfMember?(member: string): string | undefined;
}

export type Format = Readonly<{
  /** The value of `--from`. */
  name: string;
  title: string;
  /** The sources of these values, in words. */
  keys: { group: string; reward: string; sampled: string };
  records: RecordKinds;
  /** The columns to read without a receipt. Default: all. */
  columns?: readonly string[];
  /** Columns with JSON that never becomes text of a trajectory. */
  jsonColumns?: readonly string[];
  /** Tested on the name with `/` for `\`, and without `.gz` or `.zst`. */
  filePattern?: RegExp;
  /** Names of folders whose files are parts, not inputs. */
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
