/** What a format of another tool is: how its files are recognised, and how a record of it becomes rollouts. */
import type { Path } from "../check/rules/places.ts";
import { shortName } from "../check/rules/values.ts";
import type { Columns } from "../input/column-json.ts";
import type { RecordKinds } from "../input/records.ts";
import { nearestFirst } from "../nearest.ts";
import { type Built, list, type Member, object, objectUnlessEmpty, said } from "./built.ts";
import type { Members, Value } from "./value.ts";

/** How files of other tools are read, as a person asked for it. */
export interface Asked {
  /** Path of the reward in a record. Default: that of the format. */
  readonly rewardFrom?: Path | undefined;
  /** Rewards by the ids of rollouts, as JSON numbers. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  /** True if formats are read that have lost something: decoded text has no special tokens. */
  readonly lossy: boolean;
  /** True if a continued trajectory keeps its parts as histories of their own. */
  readonly histories: boolean;
}

/** A line, a document, a row, or a member of an archive. */
export interface SourceRecord {
  readonly value: Value;
  /** The name of its file, as it was given. */
  readonly file: string;
  /** Its position among the records of the file, from 0. */
  readonly position: number;
  /** The member of an archive that it is. */
  readonly member?: string | undefined;
}

/** What a part of a record becomes: a trajectory or an exception of a group, or members of the group itself. */
export interface Rollout {
  /** Key of its group among those of the file, or of the run if groups of the format are across files. */
  readonly group: string;
  /** The part of the record that it is, whose bytes are part of the dedup key. Default: the record. */
  readonly of?: Value | undefined;
  /** Other documents that it is made of. Their bytes are part of the dedup key, their values of the receipt. */
  readonly with?: readonly Value[] | undefined;
  /** The values whose bytes are part of the dedup key instead of these, because the others repeat them. */
  readonly known?: readonly Value[] | undefined;
  /** What else decides what is sent, and is part of the dedup key: a reward from another file. */
  readonly identity?: string | undefined;
  /** Its position among the trajectories of its group, if the record has it. */
  readonly index?: number | undefined;
  /** Values of the record that repeat others, or tell rollouts apart, with the place of what they say. */
  readonly also?: (() => Iterable<readonly [value: Value, to: string]>) | undefined;
  readonly trajectory?: Built | undefined;
  readonly exception?: Built | undefined;
  /** What is wrong with it, if the other rollouts of the record can be read without it. */
  readonly unfit?: Unfit | undefined;
  /** True if its group is unknown. `group` is then its own. */
  readonly isUnplaced?: boolean | undefined;
  /** Members of the group next to its trajectories; those of its first rollout count. */
  readonly members?: readonly (readonly [key: string, value: Built])[] | undefined;
}

/** What a converter works with. */
export interface FormatRun {
  readonly asked: Asked;
  /** The files of the run, in their order. */
  readonly files: readonly string[];
  /** Reads a document by its path from a file, or in the same archive; undefined if there is none. */
  beside(record: Pick<SourceRecord, "file" | "member">, name: string): Value | undefined;
  /** Counts something to tell people about: a field that was derived, a part that was left out. */
  note(text: string, count?: number): void;
  /** Is told that the reward of an id was taken from `--rewards`. */
  rewardTaken(id: string): void;
  /** Is told why a part of the record has no place. */
  leave(value: Value | undefined, why: string): void;
}

export interface Converter {
  /** Sees each record before the first is converted, if records refer to each other. */
  look?(record: SourceRecord): void;
  /** The same of the rows of Parquet files. */
  lookAtColumns?(columns: Columns, record: Omit<SourceRecord, "value">): void;
  /**
   * Returns what becomes of a record: nothing if it has no rollout; undefined if its values are not counted either,
   * because it is a part of another record, or describes the run.
   * @throws Unfit
   */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** Returns the group of a member that cannot be read, if its name has it. */
  groupOf?(member: string): string | undefined;
}

/** A format of another tool. */
export interface Format {
  /** As `--from` takes it. */
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  /** Where groups, rewards and sampled turns come from, for people. */
  readonly keys: { readonly group: string; readonly reward: string; readonly sampled: string };
  /** The records of its files. A kind of file that is not named cannot have the format. */
  readonly records: RecordKinds;
  /** Columns that suffice; the others are only read for a receipt. Default: all of them. */
  readonly columns?: readonly string[] | undefined;
  /** The columns that `lookAtColumns` sees. Default: those of `convert`. */
  readonly looksAt?: readonly string[];
  /** Columns whose texts are JSON, and never become a part of a trajectory as texts. */
  readonly jsonColumns?: readonly string[];
  /** Names of its files: such a file has the format even if it cannot be recognised. */
  readonly files?: RegExp;
  /** Folders next to a file whose files are parts of it, and not inputs. */
  readonly partsIn?: readonly string[];
  /** True if a group can have rollouts in several files. */
  readonly groupsAcross?: boolean;
  /** Names of files that are read after the others. */
  readonly last?: RegExp;
  /** True if its writer puts NaN and Infinity into JSON. Each is read as an empty object. */
  readonly nonFinite?: boolean;
  /** True if something of what was said is lost in it. */
  readonly lossy?: boolean;
  /** True if a file has the format, by its first record. */
  recognises(first: SourceRecord): boolean;
  /** Begins a run. */
  open(run: FormatRun): Converter;
  /** Reasons why values have no place, by their paths with `[]` for positions. A path includes all below it. */
  readonly left?: Readonly<Record<string, string>>;
}

/** A record, or a part of one, is not as its format has it. */
export class Unfit extends Error {
  readonly value: Value;
  /** The key of its group, if that is known: the group is not sent then. */
  group: string | undefined;

  constructor(wrong: string, value: Value, group?: string) {
    super(wrong);
    this.value = value;
    this.group = group;
  }
}

/** Makes something of a group: whatever is unfit in it is unfit in that group. @throws Unfit */
export const inGroup = <Made>(group: string | undefined, make: () => Made): Made => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof Unfit) thrown.group ??= group;
    throw thrown;
  }
};

/** Makes a rollout of a part of a record: if it is unfit, the other parts are read without it. */
export const rolloutApart = (
  of: Value,
  {
    group,
    missing,
    otherwise,
  }: { readonly group: string | undefined; readonly missing: string; readonly otherwise: string },
  make: (group: string) => Partial<Rollout>,
): Rollout => {
  try {
    if (group === undefined) throw new Unfit(missing, of);
    return { group, of, ...make(group) };
  } catch (thrown) {
    if (!(thrown instanceof Unfit)) throw thrown;
    return { group: group ?? otherwise, of, unfit: thrown, isUnplaced: group === undefined };
  }
};

/** Returns the value of a key. @throws Unfit */
export const needed = (holder: Value, key: string): Value => {
  const value = holder.get(key);
  if (value === undefined) throw new Unfit(`${key} is missing`, holder);
  return value;
};

/** Returns the elements of the array of a key. @throws Unfit */
export const neededItems = (holder: Value, key: string, wrong = `${key} is no list`): readonly Value[] => {
  const value = needed(holder, key);
  if (!value.isList) throw new Unfit(wrong, value);
  return value.items();
};

/** Members that are numbers or truth values. */
export const measuredIn = (value: Value | undefined): Members =>
  (value?.members() ?? []).filter(([, { isMeasured }]) => isMeasured);

/** Members that are neither arrays nor objects. */
export const flatIn = (value: Value | undefined): Members =>
  (value?.members() ?? []).filter(([, { isFlat }]) => isFlat);

/** A reward, and its part of the dedup key. */
export interface Judged {
  readonly reward: Built;
  readonly identity?: string;
}

/** What a trajectory is made of. */
interface Parts {
  readonly judged: Judged;
  readonly turns: readonly Built[];
  readonly tools?: Built | undefined;
  readonly histories?: readonly Built[];
  readonly policy?: Value | undefined;
  readonly metrics?: Iterable<Member>;
  readonly metadata?: Iterable<Member>;
  readonly startTime?: Built | undefined;
  /** Its own part of the dedup key. */
  readonly identity?: string;
}

/** The trajectory of a rollout; what is empty is left out. */
export const trajectoryOf = ({ judged, turns, histories = [], policy, identity = "", ...parts }: Parts) => ({
  identity: `${judged.identity ?? ""}${identity}`,
  trajectory: object({
    messages_and_choices: list(turns),
    tools: parts.tools,
    additional_histories: histories.length === 0 ? undefined : list(histories),
    reward: judged.reward,
    initial_policy_version: policy?.get("start"),
    final_policy_version: policy?.get("end"),
    metrics: parts.metrics && objectUnlessEmpty(parts.metrics),
    metadata: parts.metadata && objectUnlessEmpty(parts.metadata),
    start_time: parts.startTime,
  }),
});

/** An exception of a group. */
export const exceptionOf = (message: Built, type?: Built, traceback?: Built): Built =>
  object({ type: type ?? said("error"), message, traceback });

/** A value as a text: another value as its JSON. */
export const asMessage = (value: Value): Built => (value.isText ? value : said(value.raw, value));

/**
 * Returns the reward of a rollout: from where the person asked for it, otherwise the format's own.
 * @throws Unfit if there is none
 */
export const judge = (
  { asked: { rewardFrom, rewards }, rewardTaken }: FormatRun,
  {
    record,
    ids,
    own,
  }: {
    readonly record: Value;
    readonly ids: readonly (Value | string | undefined)[];
    readonly own?: Built | undefined;
  },
): Judged => {
  if (rewardFrom !== undefined) {
    const value = record.at(rewardFrom);
    const path = rewardFrom.join(".");
    if (value?.isNumber === true) return { reward: value, identity: `from ${path}` };
    const wrong = value === undefined ? "has nothing" : "has no number";
    const others = numbersText(record, rewardFrom);
    throw new Unfit(`it ${wrong} at ${path}, where --reward-from looks${others}`, value ?? record);
  }
  if (rewards !== undefined) {
    const names = ids.flatMap((id) => (id === undefined ? [] : typeof id === "string" ? id : (id.text ?? id.raw)));
    const found = names.find((name) => rewards.has(name));
    const json = found === undefined ? undefined : rewards.get(found);
    if (found !== undefined) rewardTaken(found);
    if (json === undefined) throw new Unfit(`--rewards has no reward of ${names.join(" or ") || "it"}`, record);
    return { reward: { kind: "said", json, of: [] }, identity: `reward ${json}` };
  }
  if (own === undefined) {
    throw new Unfit("it records no reward: say --reward-from <path>, or --rewards <file>", record);
  }
  return { reward: own };
};

/** Limits of the search for numbers in a record: its depth, and the number of values. */
const maxDepth = 4;
const maxSeen = 200;

/** Paths to numbers that a message names. */
const maxNamed = 4;

/** Names the numbers of a record, or its lists of numbers if the path ends with a position; those most like the path first. */
const numbersText = (record: Value, path: Path): string => {
  const last = path.at(-1);
  const isSought = (value: Value): boolean =>
    typeof last === "number" ? value.get(0)?.isNumber === true : value.isNumber;
  const found: string[] = [];
  let level = record.members();
  for (let depth = 0, seen = 0; depth < maxDepth && seen < maxSeen; depth++) {
    const next: (readonly [string, Value])[] = [];
    for (const [name, value] of level.slice(0, maxSeen - seen)) {
      seen++;
      if (isSought(value)) found.push(name);
      for (const [key, inner] of value.members()) next.push([`${name}.${key}`, inner]);
    }
    level = next;
  }
  const typed = path.slice(0, typeof last === "number" ? -1 : undefined).join(".");
  const named = nearestFirst(typed, found).slice(0, maxNamed).map(shortName);
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : "";
  if (named.length === 0) return "; there is no number in it";
  return `; there is ${typeof last === "number" ? "a list of numbers" : "a number"} at ${named.join(", ")}${more}`;
};
