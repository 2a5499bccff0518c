/** What a format of another tool is: how its files are recognized, and how a record of it becomes rollouts. */
import type { Path } from "../check/rules/positions.ts";
import type { Columns, RecordKinds } from "../input/index.ts";
import type { OutputJson } from "./output-json.ts";
import type { ConversionError, Value } from "./value.ts";

/** How files of other tools are read, as a person asked for it. */
export interface FormatOptions {
  /** Path of the reward in a record. Default: that of the format. */
  readonly rewardFrom?: Path | undefined;
  /** Rewards by the ids of rollouts, as JSON numbers. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  /** True if formats are read that have lost something: decoded text has no special tokens. */
  readonly allowsLossy: boolean;
  /** True if a continued trajectory keeps its parts as histories of their own. */
  readonly keepsHistories: boolean;
}

/** A line, a document, a row, or a member of an archive. */
export interface SourceRecord {
  readonly value: Value;
  readonly file: string;
  /** Its position among the records of the file, from 0. */
  readonly position: number;
  readonly member?: string | undefined;
}

/** What a part of a record becomes: a trajectory or an exception of a group, or members of the group itself. */
export interface Rollout {
  /** Key of its group among those of the file, or of the run if groups of the format are across files. */
  readonly group: string;
  /** The part of the record that it is, whose bytes are part of the dedup key. Default: the record. */
  readonly part?: Value | undefined;
  /** Other documents that it is made of. Their bytes are part of the dedup key, their values of the receipt. */
  readonly documents?: readonly Value[] | undefined;
  /** The values whose bytes are part of the dedup key instead of these, because the others repeat them. */
  readonly identityValues?: readonly Value[] | undefined;
  /** What else decides what is sent, and is part of the dedup key: a reward from another file. */
  readonly identity?: string | undefined;
  /** Its position among the trajectories of its group, if the record has it. */
  readonly index?: number | undefined;
  /** Values of the record that repeat others, or tell rollouts apart, with the place of what they say. */
  readonly repeatedValues?: (() => Iterable<readonly [value: Value, to: string]>) | undefined;
  readonly trajectory?: OutputJson | undefined;
  readonly exception?: OutputJson | undefined;
  /** What is wrong with it, if the other rollouts of the record can be read without it. */
  readonly error?: ConversionError | undefined;
  /** True if its group is unknown. `group` is then its own. */
  readonly isUngrouped?: boolean | undefined;
  /** Members of the group next to its trajectories; those of its first rollout count. */
  readonly members?: readonly (readonly [key: string, value: OutputJson])[] | undefined;
}

export interface FormatRun {
  readonly options: FormatOptions;
  readonly files: readonly string[];
  /** Reads a document by its path from a file, or in the same archive; undefined if there is none. */
  readDocument(record: Pick<SourceRecord, "file" | "member">, name: string): Value | undefined;
  /** Counts something to tell people about: a field that was derived, a part that was left out. */
  note(text: string, count?: number): void;
  /** Is told that the reward of an id was taken from `--rewards`. */
  markRewardUsed(id: string): void;
  /** Is told why a part of the record has no place. */
  leaveOut(value: Value | undefined, why: string): void;
}

export interface Converter {
  /** Sees each record before the first is converted, if records refer to each other. */
  preview?(record: SourceRecord): void;
  /** The same of the rows of Parquet files. */
  previewColumns?(columns: Columns, record: Omit<SourceRecord, "value">): void;
  /**
   * Returns what becomes of a record: nothing if it has no rollout; undefined if its values are not counted either,
   * because it is a part of another record, or describes the run.
   * @throws Unfit
   */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Returns the group of a member that cannot be read, if its name has it. */
  groupOfMember?(member: string): string | undefined;
}

/**
 * Reasons why values have no place, each with paths that blanks separate; positions are `[]`. A path includes all below
 * it, except what a longer path includes.
 */
export type LeftOutReasons = readonly (readonly [reason: string, paths: string])[];

export interface Format {
  /** As `--from` takes it. */
  readonly name: string;
  readonly title: string;
  /** Where groups, rewards and sampled turns come from, for people. */
  readonly keys: { readonly group: string; readonly reward: string; readonly sampled: string };
  /** The records of its files. A kind of file that is not named cannot have the format. */
  readonly records: RecordKinds;
  /** Columns that suffice; the others are only read for a receipt. Default: all of them. */
  readonly columns?: readonly string[] | undefined;
  /** The columns that `previewColumns` sees. Default: those of `convert`. */
  readonly previewedColumns?: readonly string[];
  /** Columns whose texts are JSON, and never become a part of a trajectory as texts. */
  readonly jsonColumns?: readonly string[];
  /** Names of its files: such a file has the format even if it cannot be recognized. */
  readonly files?: RegExp;
  /** Folders next to a file whose files are parts of it, and not inputs. */
  readonly partFolders?: readonly string[];
  /** True if a group can have rollouts in several files. */
  readonly hasGroupsAcrossFiles?: boolean;
  /** Names of files that are read after the others. */
  readonly lastFilePattern?: RegExp;
  /** True if its writer puts NaN and Infinity into JSON. Each is read as an empty object. */
  readonly hasNonFinite?: boolean;
  /** True if something of what was said is lost in it. */
  readonly lossy?: boolean;
  /** True if a file has the format, by its first record. */
  recognizes(first: SourceRecord): boolean;
  /** Begins a run. */
  open(run: FormatRun): Converter;
  readonly left?: LeftOutReasons;
}

/** Reasons that several formats have. */
export const commonReasons = {
  nested: "the trajectory's metadata holds no nested values",
  noUsage: "the interface has no place for usage",
  noDurations: "the interface has no place for durations",
  onlyNumbers: "metrics are numbers",
  onlyFunctions: "only function tools have a place",
};

export const prefixReasons = (list: string, reasons: LeftOutReasons): LeftOutReasons =>
  reasons.map(([reason, paths]) => [reason, paths.replaceAll(/\S+/g, `${list}.$&`)]);
