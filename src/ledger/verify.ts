/** Compares inputs with the ledger: which groups are logged, which are not, and which more than once. */
import { createProblem, type ProblemLocation, type RuleCount } from "../check/rules/problems.ts";
import type { Problem } from "../failure.ts";
import { assignDedupKeys, type Dataset, dedupKeyBytes, locateGroup } from "../groups/index.ts";
import { type Entry, hashScope, isLogged, isUnknown } from "./entries.ts";

export interface Verification {
  /**
   * Groups of the input. A group counts once, for the first outcome that applies. A repeated group has more than one
   * accepted entry; with `perScope`, in the same scope.
   */
  readonly counts: Readonly<Record<"read" | "logged" | "repeated" | "unknown" | "refused" | "not_sent", number>>;
  /** True if the input has errors, so that `log` refuses it. */
  readonly isInvalid: boolean;
  /** Entries with any of the groups. */
  readonly entries: readonly Entry[];
  /** The first groups that are not logged exactly once, and at least one of each outcome. */
  readonly problems: readonly Problem[];
  readonly problemCounts: readonly RuleCount[];
  readonly files: readonly FileStatus[];
}

interface FileStatus {
  readonly file: string;
  readonly read: number;
  readonly logged: number;
}

const maxProblems = 20;

/** With `perScope`, a group may be logged once to each model, split and batch. */
export const verifyDataset = async (
  dataset: Dataset,
  entries: AsyncIterable<Entry> | readonly Entry[],
  { perScope }: { readonly perScope: boolean },
): Promise<Verification> => {
  const dedupKeys = assignDedupKeys(dataset.groups);
  const facts = new Uint8Array(dedupKeys.count);
  /** 1 for each accepted group, by scope. */
  const acceptedByScope = new Map<string, Uint8Array>();
  const matchingEntries: Entry[] = [];
  for await (const entry of entries) {
    const { state, scope, dedupKeys: own } = entry;
    const groups: number[] = [];
    for (let offset = 0; offset < own.length; offset += dedupKeyBytes) {
      const group = dedupKeys.find(own, offset);
      if (group >= 0) groups.push(group);
    }
    if (groups.length === 0) continue;
    matchingEntries.push(entry);
    const name = perScope ? hashScope(scope) : "";
    const accepted = acceptedByScope.get(name) ?? new Uint8Array(facts.length);
    acceptedByScope.set(name, accepted);
    for (const group of groups) {
      const other = isUnknown(state) ? unknownBit : state === "refused" ? refusedBit : 0;
      const fact = isLogged(state) ? acceptedBit | (accepted[group] === 1 ? repeatedBit : 0) : other;
      facts[group] = (facts[group] ?? 0) | fact;
      if (isLogged(state)) accepted[group] = 1;
    }
  }
  const isInvalid = dataset.problems.errors > 0;
  const counts = { read: dedupKeys.count, logged: 0, repeated: 0, unknown: 0, refused: 0, not_sent: 0 };
  const problems: Problem[] = [];
  const files = new Map<string, { file: string; read: number; logged: number }>();
  for (let group = 0; group < dedupKeys.count; group++) {
    const outcome = toOutcome(facts[group] ?? 0);
    counts[outcome]++;
    const location = locateGroup(dataset, group);
    const own = files.get(location.file) ?? { file: location.file, read: 0, logged: 0 };
    files.set(location.file, own);
    own.read++;
    if (outcome === "logged") own.logged++;
    else if (problems.length < maxProblems || counts[outcome] === 1)
      problems.push(problemMakers[outcome](location, isInvalid));
  }
  const problemCounts = (["repeated", "unknown", "refused", "not_sent"] as const).map((outcome): RuleCount => {
    return { rule: problemMakers[outcome]({}, isInvalid).rule, severity: "error", count: counts[outcome] };
  });
  const byName = [...files.values()].sort((a, b) => a.file.localeCompare(b.file, "en", { numeric: true }));
  return { counts, isInvalid, entries: matchingEntries, problems, problemCounts, files: byName };
};

export interface FileStatusRange {
  readonly first: string;
  readonly last: string;
  readonly files: number;
  readonly state: "wholly" | "partly" | "not";
  readonly read: number;
  readonly logged: number;
}

/** Folds consecutive files with the same state, except for partly logged files. */
export const foldFileStatuses = (files: readonly FileStatus[]): readonly FileStatusRange[] => {
  const runs: FileStatusRange[] = [];
  for (const { file, read, logged } of files) {
    const state = logged === read ? "wholly" : logged === 0 ? "not" : "partly";
    const last = runs.at(-1);
    if (last === undefined || last.state !== state || state === "partly") {
      runs.push({ first: file, last: file, files: 1, state, read, logged });
      continue;
    }
    const sums = { files: last.files + 1, read: last.read + read, logged: last.logged + logged };
    runs[runs.length - 1] = { ...last, last: file, ...sums };
  }
  return runs;
};

const problemMakers = {
  repeated: (location: ProblemLocation) => createProblem("duplicate-group", undefined, location),
  unknown: (location: ProblemLocation) => createProblem("unresolved-group", undefined, location),
  refused: (location: ProblemLocation) => createProblem("group-refused", { text: undefined }, location),
  not_sent: (location: ProblemLocation, isInvalid: boolean) =>
    createProblem("group-not-logged", { isInvalid }, location),
};

const unknownBit = 1;
const refusedBit = 2;
const acceptedBit = 4;
const repeatedBit = 8;

const toOutcome = (facts: number): keyof typeof problemMakers | "logged" => {
  if ((facts & repeatedBit) !== 0) return "repeated";
  if ((facts & acceptedBit) !== 0) return "logged";
  if ((facts & unknownBit) !== 0) return "unknown";
  return (facts & refusedBit) !== 0 ? "refused" : "not_sent";
};
