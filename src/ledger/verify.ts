/** Holds inputs against the ledger: what is logged of them, what is not, and what more than once. */

import { problemOf, type RuleCount, type Spot } from "../check/rules/problems.ts";
import type { Problem } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import { assignDedupKeys, type DedupKeys, dedupKeyBytes, spotOfGroup } from "../groups/index.ts";
import type { Entry } from "./entries.ts";
import { scopeDigest } from "./writer.ts";

/** What the ledger has of the groups of an input. A group counts once, by the first of these that fits. */
export interface Verification {
  readonly read: number;
  /** Exactly one accepted entry. */
  readonly logged: number;
  /** More than one accepted entry; where scopes are told apart, in one scope. */
  readonly repeated: number;
  readonly unknown: number;
  /** Refused, and not logged since. */
  readonly refused: number;
  readonly not_sent: number;
  /** Entries that hold any of the groups. */
  readonly entries: readonly Entry[];
  /** The first groups that do not have exactly one accepted entry, one of each outcome among them, and how many there are of each rule. */
  readonly problems: readonly Problem[];
  readonly problemCounts: readonly RuleCount[];
  /** What is logged of each file, in the order of their names; numbers in them count as such. */
  readonly files: readonly FileStanding[];
}

/** What is logged of a file: groups, and those of them that have exactly one accepted entry. */
interface FileStanding {
  readonly file: string;
  readonly read: number;
  readonly logged: number;
}

/** Groups named one by one. */
const mostProblems = 20;

/**
 * Holds a reading's groups against entries. With `perScope`, a group that two models have, or two splits, is logged once to
 * each, and not more than once.
 */
export const verifyReading = async (
  reading: Reading,
  entries: AsyncIterable<Entry> | readonly Entry[],
  { perScope }: { readonly perScope: boolean },
): Promise<Verification> => {
  const marks = assignDedupKeys(reading.groups);
  const accepted = new Acceptances(marks.count, { perScope });
  const seen = new Uint8Array(marks.count);
  const touching: Entry[] = [];
  for await (const entry of entries) if (take(entry, { marks, accepted, seen })) touching.push(entry);
  const counts = { read: marks.count, logged: 0, repeated: 0, unknown: 0, refused: 0, not_sent: 0 };
  const problems: Problem[] = [];
  const files = new Map<string, { file: string; read: number; logged: number }>();
  for (let group = 0; group < marks.count; group++) {
    const outcome = outcomeOf(accepted.of(group), seen[group] ?? 0);
    counts[outcome]++;
    const { file } = spotOfGroup(reading, group);
    const own = files.get(file) ?? { file, read: 0, logged: 0 };
    files.set(file, own);
    own.read++;
    if (outcome === "logged") own.logged++;
    if (outcome === "logged" || (problems.length >= mostProblems && counts[outcome] > 1)) continue;
    problems.push(problemIn(outcome, spotOfGroup(reading, group)));
  }
  const problemCounts = outcomeRules.map(([outcome, rule]) => ({
    rule,
    severity: "error" as const,
    count: counts[outcome],
  }));
  const byName = [...files.values()].sort((a, b) => a.file.localeCompare(b.file, "en", { numeric: true }));
  return { ...counts, entries: touching, problems, problemCounts, files: byName };
};

/** Files side by side of which the same is logged: all, a part, or nothing. */
export interface StandingRun {
  readonly first: string;
  readonly last: string;
  readonly files: number;
  readonly state: "wholly" | "in part" | "not";
  readonly read: number;
  readonly logged: number;
}

/** What is logged of files, those folded that stand side by side and are alike; one in part stands by itself. */
export const standingRuns = (files: readonly FileStanding[]): readonly StandingRun[] => {
  const runs: { -readonly [Member in keyof StandingRun]: StandingRun[Member] }[] = [];
  for (const { file, read, logged } of files) {
    const state = logged === read ? "wholly" : logged === 0 ? "not" : "in part";
    const last = runs.at(-1);
    if (last === undefined || last.state !== state || state === "in part") {
      runs.push({ first: file, last: file, files: 1, state, read, logged });
      continue;
    }
    last.last = file;
    last.files++;
    last.read += read;
    last.logged += logged;
  }
  return runs;
};

type VerifiedOutcome = "logged" | "repeated" | "unknown" | "refused" | "not_sent";

const outcomeRules = [
  ["repeated", "group-repeated"],
  ["unknown", "group-unknown"],
  ["refused", "group-refused"],
  ["not_sent", "group-not-sent"],
] as const;

const problemIn = (outcome: Exclude<VerifiedOutcome, "logged">, spot: Spot): Problem => {
  if (outcome === "refused") return problemOf("group-refused", { text: undefined }, spot);
  return problemOf(outcome === "not_sent" ? "group-not-sent" : `group-${outcome}`, undefined, spot);
};

/** Bits of what was seen of a group beside accepted entries. */
const wasUnknown = 1;
const wasRefused = 2;

const outcomeOf = (accepted: number, seen: number): VerifiedOutcome => {
  if (accepted > 0) return accepted === 1 ? "logged" : "repeated";
  if ((seen & wasUnknown) !== 0) return "unknown";
  return (seen & wasRefused) !== 0 ? "refused" : "not_sent";
};

/** How often groups were accepted: never, once, or more than once in one scope. Few groups are in several, so that those alone take more than a number. */
class Acceptances {
  readonly #perScope: boolean;
  readonly #scopes = new Map<string, number>();
  /** The first scope of each group, counted from 1. */
  readonly #first: Uint32Array;
  /** The other scopes of groups, as `group scope`. */
  readonly #others = new Set<string>();
  readonly #repeated = new Set<number>();

  constructor(groups: number, { perScope }: { readonly perScope: boolean }) {
    this.#perScope = perScope;
    this.#first = new Uint32Array(groups);
  }

  of(group: number): number {
    return this.#repeated.has(group) ? 2 : (this.#first[group] ?? 0) > 0 ? 1 : 0;
  }

  /** A number for the scope of an entry; all are one where scopes are not told apart. */
  scopeOf(named: Entry["scope"]): number {
    const name = this.#perScope ? scopeDigest(named) : "";
    const scope = this.#scopes.get(name) ?? this.#scopes.size + 1;
    this.#scopes.set(name, scope);
    return scope;
  }

  add(group: number, scope: number): void {
    const first = this.#first[group] ?? 0;
    if (first === 0) this.#first[group] = scope;
    else if (first === scope || this.#others.has(`${group} ${scope}`)) this.#repeated.add(group);
    else this.#others.add(`${group} ${scope}`);
  }
}

/** Takes an entry into account; whether it holds any of the groups. */
const take = (
  { state, scope: named, marks: own }: Entry,
  { marks, accepted, seen }: { readonly marks: DedupKeys; readonly accepted: Acceptances; readonly seen: Uint8Array },
): boolean => {
  const scope = accepted.scopeOf(named);
  let any = false;
  for (let offset = 0; offset < own.length; offset += dedupKeyBytes) {
    const group = marks.find(own, offset);
    if (group < 0) continue;
    any = true;
    if (state === "logged" || state === "assumed_logged") accepted.add(group, scope);
    else if (state === "unknown" || state === "trying") seen[group] = (seen[group] ?? 0) | wasUnknown;
    else if (state === "refused") seen[group] = (seen[group] ?? 0) | wasRefused;
  }
  return any;
};
