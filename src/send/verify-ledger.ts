/** Compares the groups of inputs with the ledger. */

import { assignDedupKeys, type Dataset, locateGroup } from "../dataset/index.ts";
import type { Problem } from "../failure.ts";
import { type Entry, findGroups, hashScope, isLogged, isUnknown } from "../ledger/index.ts";
import { createProblem, type ProblemLocation, type RuleCount } from "../problems/problems.ts";

export type Verification = Awaited<ReturnType<typeof verifyDataset>>;

const maxProblems = 20;

/** With `isPerScope`, a group may be logged once in each scope. */
export const verifyDataset = async (
  dataset: Dataset,
  entries: AsyncIterable<Entry> | readonly Entry[],
  { isPerScope, ledgerArgs }: { isPerScope: boolean; ledgerArgs: readonly string[] },
) => {
  const dedupKeys = assignDedupKeys(dataset.groups);
  const ranks = new Uint8Array(dedupKeys.count);
  /** Each array contains 1 at the index of each logged group. */
  const loggedByScope = new Map<string, Uint8Array>();
  const matchingEntries: Entry[] = [];
  for await (const entry of entries) {
    const { state, scope } = entry;
    const groups = findGroups(entry.dedupKeys, dedupKeys.find);
    if (groups.length === 0) continue;
    matchingEntries.push(entry);
    const name = isPerScope ? hashScope(scope) : "";
    const logged = loggedByScope.get(name) ?? new Uint8Array(ranks.length);
    loggedByScope.set(name, logged);
    const unlogged = isUnknown(state) ? "unknown" : state === "refused" ? "refused" : "not_sent";
    for (const group of groups) {
      const outcome = isLogged(state) ? (logged[group] === 1 ? "repeated" : "logged") : unlogged;
      ranks[group] = Math.max(ranks[group] ?? 0, outcomes.indexOf(outcome));
      if (isLogged(state)) logged[group] = 1;
    }
  }
  // If the input has an error, `log` sends nothing by default.
  const isInvalid = dataset.problems.errors > 0;
  const counts = { read: dedupKeys.count, logged: 0, repeated: 0, unknown: 0, refused: 0, not_sent: 0 };
  /** The first `maxProblems` problems, and the first problem of each outcome. */
  const problems: Problem[] = [];
  const byFile = new Map<string, { file: string; read: number; logged: number }>();
  for (let group = 0; group < dedupKeys.count; group++) {
    const outcome = outcomes[ranks[group] ?? 0] ?? "not_sent";
    counts[outcome]++;
    const location = locateGroup(dataset, group);
    const fileStatus = byFile.get(location.file) ?? { file: location.file, read: 0, logged: 0 };
    byFile.set(location.file, fileStatus);
    fileStatus.read++;
    if (outcome === "logged") fileStatus.logged++;
    else if (problems.length < maxProblems || counts[outcome] === 1)
      problems.push(problemMakers[outcome](location, { isInvalid, ledgerArgs }));
  }
  const problemCounts = (["repeated", "unknown", "refused", "not_sent"] as const).map((outcome): RuleCount => {
    return {
      rule: problemMakers[outcome]({}, { isInvalid, ledgerArgs }).rule,
      severity: "error",
      count: counts[outcome],
    };
  });
  const files = [...byFile.values()].sort((a, b) => a.file.localeCompare(b.file, "en", { numeric: true }));
  return { counts, isInvalid, entries: matchingEntries, problems, problemCounts, files };
};

type AdviceFacts = Readonly<{ isInvalid: boolean; ledgerArgs: readonly string[] }>;

const problemMakers = {
  repeated: (where: ProblemLocation, { ledgerArgs }: AdviceFacts) => {
    const file = where.file?.replace(/(?<=\.eval)!.*/, "") ?? "-";
    return createProblem("duplicate-group", { statusArgs: [file, ...ledgerArgs] }, where);
  },
  unknown: (where: ProblemLocation, { ledgerArgs }: AdviceFacts) =>
    createProblem("unresolved-group", { ledgerArgs }, where),
  refused: (where: ProblemLocation) => createProblem("group-refused", { text: undefined }, where),
  not_sent: (where: ProblemLocation, { isInvalid }: AdviceFacts) =>
    createProblem("group-not-logged", { isInvalid }, where),
};

/** The outcomes in ascending priority. */
const outcomes = ["not_sent", "refused", "unknown", "logged", "repeated"] as const;
