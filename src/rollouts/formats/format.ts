/** Defines the interface of formats, whose functions throw ConversionError. */

import type { ConversionNotes } from "../../conversation/apis/openai.ts";
import type { Json } from "../../json/output-json.ts";
import type { ConversionError, Members, Value } from "../../json/value.ts";
import type { RecordKinds } from "../input/records.ts";
import type { SpoolOptions } from "../input/spool.ts";
import type { Path } from "../rules/positions.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";

export interface FormatOptions extends SpoolOptions {
  /** The name of a format, or `auto`. */
  readonly from: string;
  /** The path of the reward in a record. Default: the format's own reward. */
  readonly rewardFrom?: Path | undefined;
  /** Maps ids of rollouts to JSON numbers. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  /** The keys whose values a group has in common. */
  readonly groupBy?: readonly string[] | undefined;
  /** Default: unknown. */
  readonly split?: string | undefined;
  /** True if the caller sends and compares no groups. */
  readonly skipsDigests?: boolean | undefined;
}

export type Group = Readonly<{
  key: string;
  /** The names of what the key consists of, such as `step and problem_id`. */
  by?: string;
  /** True if groups of all files share the keys. Default: only those of files with the same `groupScope`. */
  spansFiles?: boolean;
  /** True if the record has no group key. In a truncated record, the key can be in the missing part. */
  isDerived?: boolean;
}>;

export interface SourceRecord {
  readonly value: Value;
  readonly file: string;
  readonly position: number;
  readonly member?: string | undefined;
  /** True if only the start of the record is valid JSON. */
  readonly isTruncated?: boolean;
  /** True if the record is one of several documents in a file. */
  readonly isListed?: boolean;
  /** True if the record is the whole content of its file. */
  readonly isWhole?: boolean;
  /** The bytes of a record with NaN or Infinity. `isAllowed` is `Format.hasNonFinite`. */
  readonly nonFinite?: Readonly<{ bytes: Buffer; isAllowed: boolean }> | undefined;
  readonly invalidText?: string | undefined;
  /** The group that becomes invalid if the record cannot be converted. */
  group?: Group | undefined;
  /** What keeps rollouts of different policies apart. */
  steps?: string | undefined;
  /** The id of the record's only rollout. */
  id?: string | undefined;
}

export type Rollout = Readonly<{
  /** Default: `SourceRecord.group`. */
  group?: Group | undefined;
  /** The record's part for this rollout. Default: the whole record. */
  part?: Value;
  documents?: readonly Value[];
  /** The values whose bytes determine the dedup key. Default: `part` and `documents`. */
  identityValues?: readonly Value[];
  /** A text that also determines the dedup key, such as a reward from another file. */
  identity?: string | undefined;
  index?: number | undefined;
  trajectory?: Json;
  exception?: Json;
  error?: ConversionError;
  /** Other members of the group. Only the group's first rollout sets these members. */
  members?: Members;
  /** No other rollout has this id, in any file. */
  id?: string | undefined;
}>;

export interface FormatRun extends ConversionNotes {
  skip(subject: string): readonly never[];
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document next to the record's file. @throws ConversionError if the document is not JSON */
  readDocument(record: Pick<SourceRecord, "file" | "value">, path: string): Value | undefined;
  /** Reads settings next to the file or in its archive. NaN and Infinity become empty objects. */
  readSettings(record: Pick<SourceRecord, "file" | "member">, path: string): Value | undefined;
  /** True for the first record with the id, each time that this record is converted. */
  isFirst(id: string, record: Pick<SourceRecord, "file" | "position">): boolean;
  /** The ids of `rewards` that a record has. */
  readonly usedRewards: Set<string>;
  /** Reports a warning once, although a record can be converted several times. */
  warn<Name extends RuleName>(rule: Name, data: RuleData<Name>, record: Pick<SourceRecord, "file" | "position">): void;
  /** The kinds of the rollouts, of which a split selects one. */
  readonly kinds: Set<string>;
  /** Finds keys whose values no trajectory has. Undefined if not all values of a record are read. */
  readonly unread: { keep(json: Json | undefined): void } | undefined;
}

export interface Converter {
  /** Receives each record before `convert` does. Returns false if it needs no more of the file. */
  preview?(record: SourceRecord): unknown;
  /** Returns undefined for a record that is part of another record, and no rollout for other records. */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Returns notes that depend on several records, after the last record. */
  listNotes?(): readonly string[];
}

/** The messages, or the texts, of a row. */
export interface RowTurns {
  readonly prompt?: readonly Value[] | string;
  readonly sampled: readonly Value[] | string;
  /** The id of the rollout in its group. */
  readonly id: string | undefined;
}

export type Format = Readonly<{
  name: string;
  title: string;
  /** Texts that tell users where these values come from. */
  keys: { group: string; reward: string; sampled: string };
  /** The first capture of `zip` is the group key in the name of a member. */
  records: RecordKinds;
  /** Matches paths after removal of `.gz` and `.zst`. The separator is always `/`. */
  filePattern?: RegExp;
  /** Matches paths of files without rollouts that the writer puts next to its rollouts. */
  companions?: RegExp;
  /** Matches the names of folders next to a record whose files are parts of the record. */
  partFolders?: RegExp;
  /** Only files with the same scope share groups. Default: no other file. */
  groupScope?(file: string): string;
  takesGroupKey?: boolean;
  /** True if no two records belong to a group. */
  hasGroupPerRecord?: boolean;
  /** True if the files record whole groups, which `--group-by` does not change. */
  isGrouped?: boolean;
  /** True if the writer writes NaN and Infinity, for example for samples without a score. */
  hasNonFinite?: boolean;
  /** True if files have decoded text, which lacks tokens and sometimes turns. */
  isLossy?: boolean;
  /** Returns the messages of a row; undefined for several rollouts. */
  listTurns?(row: Value): RowTurns | undefined;
  /** @param isGiven true if `--from` names the format, so that the record needs only the columns of its turns */
  recognizes(first: SourceRecord, isGiven?: boolean): boolean | undefined;
  open(run: FormatRun): Converter;
}>;
