/** What a format of another tool is: how its files are recognised, and how a record of it becomes rollouts. */
import { hash } from "node:crypto";
import type { Path } from "../check/rules/places.ts";
import { shortName } from "../check/rules/values.ts";
import type { RecordKinds } from "../input/records.ts";
import { nearestFirst } from "../nearest.ts";
import type { Built } from "./built.ts";
import type { Value } from "./value.ts";

/** How a person wants files of other tools to be read. */
export interface Asked {
  /** Where the reward of a rollout stands in its record; as the format has it where nothing is said. */
  readonly rewardFrom?: Path | undefined;
  /** Rewards by the ids of rollouts, as JSON numbers. */
  readonly rewards?: ReadonlyMap<string, string> | undefined;
  /** Whether formats are read that have lost something: text that was decoded, with special tokens gone. */
  readonly lossy: boolean;
  /** Whether a continued trajectory keeps its parts as histories of their own. */
  readonly histories: boolean;
}

/** A record: a line, a document, a row or a member of an archive. */
export interface SourceRecord {
  readonly value: Value;
  /** The file it is in, as it was named. */
  readonly file: string;
  /** Which of its file's records it is, from 0. */
  readonly position: number;
  /** The archive's member that it is; undefined of anything else. */
  readonly member?: string | undefined;
}

/** A part of what tells a group: words of our own, a value as it is spelled, or what values say, whichever way they are spelled. */
export type GroupPart = string | { readonly spelled: Value } | { readonly saying: readonly Value[] };

/** What tells a group from others. */
export type GroupKey = string | readonly GroupPart[];

/** The key as a text. */
export const groupText = (key: GroupKey): string => {
  if (typeof key === "string") return key;
  const [first] = key;
  // What most are, and each record asks for.
  if (key.length === 1 && typeof first === "object" && "spelled" in first) return first.spelled.raw;
  return key
    .map((part) => {
      if (typeof part === "string") return part;
      if ("spelled" in part) return part.spelled.raw;
      return hash("sha256", JSON.stringify(part.saying.map(({ raw }): unknown => JSON.parse(raw))));
    })
    .join("");
};

/** What becomes of a part of a record: a trajectory or an exception of a group, or members of the group itself. */
export interface Rollout {
  /** What tells its group from the others of the file, or of the run where that is the format's scope. */
  readonly group: GroupKey;
  /** The part of the record that it is, by whose bytes the ledger knows it: the record where nothing is said. */
  readonly of?: Value | undefined;
  /** Other documents that it is made of: their bytes tell it too, and their values are counted with the record's. */
  readonly with?: readonly Value[] | undefined;
  /** By whose bytes the ledger knows it, where that is not all of that part: what the others say is said in these. */
  readonly known?: readonly Value[] | undefined;
  /** What else decides what is sent of it, and is not in those bytes: a reward from another file. */
  readonly identity?: string | undefined;
  /** Where it stands among the trajectories of its group, where the record says so. */
  readonly index?: number | undefined;
  /** Values that say which rollout of which group it is, or again what stands in it, and where that is. */
  readonly also?: (() => Iterable<readonly [value: Value, to: string]>) | undefined;
  readonly trajectory?: Built | undefined;
  readonly exception?: Built | undefined;
  /** What is wrong with it, where the other rollouts of the record can do without it. */
  readonly unfit?: Unfit | undefined;
  /** Whether it does not say its group, so that it may be of any: the one that is named here is for it alone. */
  readonly isUnplaced?: boolean | undefined;
  /** What stands on the group beside its trajectories; the first rollout of a group says it. */
  readonly members?: readonly (readonly [string, Built])[] | undefined;
}

/** What a converter works with. */
export interface FormatRun {
  readonly asked: Asked;
  /** The files of the run, in their order. */
  readonly files: readonly string[];
  /** A document that stands beside a file, by its path from there, or in the same archive; undefined where there is none. */
  beside(record: Pick<SourceRecord, "file" | "member">, name: string): Value | undefined;
  /** Counts something that people should know of all rollouts together: that a field was derived, what was left out. */
  note(text: string, count?: number): void;
  /** Says that the reward of an id was taken from `--rewards`. */
  rewardTaken(id: string): void;
  /** Says why a part of the record has no place. */
  leave(value: Value | undefined, why: string): void;
}

export interface Converter {
  /** Sees every record before the first is converted: where records refer to each other. */
  look?(record: SourceRecord): void;
  /**
   * What becomes of a record: nothing where it is none by itself; undefined where its values are not counted either,
   * since it is a part of another, or says something of the run.
   * @throws Unfit
   */
  convert(record: SourceRecord): readonly Rollout[] | undefined;
  /** The group of a member that can't be read, where its name says it. */
  groupOf?(member: string): string | undefined;
}

/** A format of another tool. */
export interface Format {
  /** As `--from` takes it. */
  readonly name: string;
  /** As a person calls it. */
  readonly title: string;
  /** Where it takes what the interface asks for: said when a file was recognised. */
  readonly keys: { readonly group: string; readonly reward: string; readonly sampled: string };
  /** What of a file is a record, by what the file is; what is not named can't hold the format. */
  readonly records: RecordKinds;
  /** Columns that say all of it; the others are read for a receipt alone. All of them where nothing is said. */
  readonly columns?: readonly string[] | undefined;
  /** The columns that `look` sees; the same as `convert` where nothing is said. */
  readonly looksAt?: readonly string[];
  /** Names of files that hold it: one that is called so is of it, though it can't be recognised. */
  readonly files?: RegExp;
  /** Folders beside a file whose files are parts of it: they are no inputs by themselves. */
  readonly partsIn?: readonly string[];
  /** Whether a group may have rollouts in several files. */
  readonly groupsAcross?: boolean;
  /** Names of files that are read when all others were. */
  readonly last?: RegExp;
  /** Whether its writer puts NaN and Infinity into JSON, which has none: each is read as an empty object. */
  readonly nonFinite?: boolean;
  /** Whether something of what was said is not in it any more. */
  readonly lossy?: boolean;
  /** Whether a file is of the format, by its first record. */
  recognises(first: SourceRecord): boolean;
  /** Begins a run. */
  open(run: FormatRun): Converter;
  /** Why values have no place, by their paths with `[]` for positions; a path stands for all below it. */
  readonly left?: Readonly<Record<string, string>>;
}

/** A record, or a part of one, that is not as its format has it. */
export class Unfit extends Error {
  readonly value: Value;
  /** What its group is called, where that is known: the group is not sent then. */
  readonly group: string | undefined;

  constructor(wrong: string, value: Value, group?: GroupKey) {
    super(wrong);
    this.value = value;
    this.group = group === undefined ? undefined : groupText(group);
  }
}

/** The value of a key. @throws Unfit */
export const needed = (holder: Value, key: string, group?: GroupKey): Value => {
  const value = holder.get(key);
  if (value === undefined) throw new Unfit(`${key} is missing`, holder, group);
  return value;
};

/**
 * The reward of a rollout: where the person said, else as the format has it.
 * @throws Unfit where there is none where the person said, or none at all
 */
export const rewardOf = (
  { asked, rewardTaken }: FormatRun,
  {
    record,
    ids,
    own,
    group,
  }: {
    readonly record: Value;
    readonly ids: readonly (Value | string | undefined)[];
    readonly own?: Built | undefined;
    readonly group?: GroupKey;
  },
): { readonly reward: Built; readonly identity?: string } => {
  if (asked.rewardFrom !== undefined) {
    const value = record.get(...asked.rewardFrom);
    if (value?.isNumber === true) return { reward: value, identity: `from ${asked.rewardFrom.join(".")}` };
    const wrong = value === undefined ? "has nothing" : "has no number";
    const path = asked.rewardFrom.join(".");
    throw new Unfit(
      `it ${wrong} at ${path}, where --reward-from looks${numbersText(record, asked.rewardFrom)}`,
      value ?? record,
      group,
    );
  }
  if (asked.rewards !== undefined) {
    const names = ids.flatMap((id) => (id === undefined ? [] : typeof id === "string" ? id : (id.text ?? id.raw)));
    const found = names.find((name) => asked.rewards?.has(name));
    const json = found === undefined ? undefined : asked.rewards.get(found);
    if (found !== undefined) rewardTaken(found);
    if (json === undefined) throw new Unfit(`--rewards has no reward of ${names.join(" or ") || "it"}`, record, group);
    return { reward: { kind: "said", json, of: [] }, identity: `reward ${json}` };
  }
  if (own === undefined)
    throw new Unfit("it records no reward: say --reward-from <path>, or --rewards <file>", record, group);
  return { reward: own };
};

/** How deep in a record numbers are looked for, and among how many values. */
const deepest = 4;
const mostSeen = 200;

/** Paths to numbers that a sentence names. */
const mostNamed = 4;

/** Where a record has numbers, the paths first that are most like one that was typed; of a path to an element, where it has lists of them. */
const numbersText = (record: Value, path: Path): string => {
  const last = path.at(-1);
  const isSought = (value: Value): boolean =>
    typeof last === "number" ? value.get(0)?.isNumber === true : value.isNumber;
  const found: string[] = [];
  let level: readonly (readonly [string, Value])[] = record.members();
  for (let depth = 0, seen = 0; depth < deepest && seen < mostSeen; depth++) {
    const next: (readonly [string, Value])[] = [];
    for (const [name, value] of level.slice(0, mostSeen - seen)) {
      seen++;
      if (isSought(value)) found.push(name);
      for (const [key, inner] of value.members()) next.push([`${name}.${key}`, inner]);
    }
    level = next;
  }
  const typed = path.slice(0, typeof last === "number" ? -1 : undefined).join(".");
  const named = nearestFirst(typed, found).slice(0, mostNamed).map(shortName);
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : "";
  if (named.length === 0) return "; there is no number in it";
  return `; there is ${typeof last === "number" ? "a list of numbers" : "a number"} at ${named.join(", ")}${more}`;
};
