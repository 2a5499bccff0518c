/** Compares the groups of inputs with the ledger. */

import { formatGroupPositions, locateGroup } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { assignDedupKeys, type DedupKeys } from "../../rollouts/index/dedup-keys.ts";
import { createProblem, type RuleCount } from "../../rollouts/rules/problems.ts";
import { Breaks, sortWithBreaks } from "../../system/breaks.ts";
import { type Entry, findGroups, hashScope, isUnknown } from "../ledger/entries.ts";
import { OutcomeColumn, toOutcome } from "./outcome.ts";

export type Verification = Awaited<ReturnType<typeof verifyDataset>>;

/** Each unknown request and the first problem of each other outcome are listed, too. */
const maxProblems = 20;

type FileStatus = { file: string; read: number; logged: number };

/** A later outcome hides an earlier one. The groups of an unknown request can be logged twice. */
const verifiedOutcomes = ["not_sent", "refused", "logged", "unknown", "repeated"] as const;

/** With `isPerScope`, a group may be logged once in each scope. @throws the signal's reason */
export const verifyDataset = async (
  dataset: Dataset,
  entries: AsyncIterable<Entry> | readonly Entry[],
  { isPerScope, signal, inputArgs, ledgerArgs }: { isPerScope: boolean; signal: AbortSignal } & CommandArgs,
) => {
  const breaks = new Breaks(signal);
  const dedupKeys = await assignDedupKeys(dataset.groups, signal);
  const found = await findOutcomes(dedupKeys, entries, isPerScope, breaks);
  // If the input has an error, `log` sends nothing by default.
  const isInvalid = dataset.scan.problems.errors > 0;
  // The other inputs decide which group it is, and which of equal groups.
  const facts = { isInvalid, statusArgs: [...inputArgs, ...ledgerArgs] };
  const counts = { read: found.groups, logged: 0, repeated: 0, unknown: 0, refused: 0, not_sent: 0 };
  const unknown = found.entries.filter(({ state }) => isUnknown(state));
  const problems = unknown.map(({ id, dedupKeys: keys }) => {
    const groups = findGroups(keys, dedupKeys.find);
    const data = { id, positions: formatGroupPositions(dataset, groups), ledgerArgs };
    return createProblem("unresolved-group", data, locateGroup(dataset, groups[0] ?? 0));
  });
  const byFile = new Map<string, FileStatus>();
  for (let group = 0; group < found.groups; group++) {
    if (breaks.isDue()) await breaks.take();
    const outcome = found.outcomes.outcomeOf(group);
    counts[outcome]++;
    const location = locateGroup(dataset, group);
    const status = byFile.get(location.file) ?? { file: location.file, read: 0, logged: 0 };
    byFile.set(location.file, status);
    status.read++;
    if (outcome === "logged") status.logged++;
    else if (outcome !== "unknown" && (problems.length < maxProblems || counts[outcome] === 1))
      problems.push(createProblem(rules[outcome], facts, location));
  }
  const problemCounts = (["repeated", "unknown", "refused", "not_sent"] as const).map((outcome): RuleCount => {
    return { rule: rules[outcome], severity: "error", count: outcome === "unknown" ? unknown.length : counts[outcome] };
  });
  const { compare } = new Intl.Collator("en", { numeric: true });
  const files = await sortWithBreaks([...byFile.values()], (a, b) => compare(a.file, b.file), breaks);
  return { counts, isInvalid, entries: found.entries, problems, problemCounts, files };
};

const findOutcomes = async (
  dedupKeys: DedupKeys,
  entries: AsyncIterable<Entry> | readonly Entry[],
  isPerScope: boolean,
  breaks: Breaks,
) => {
  const outcomes = new OutcomeColumn(verifiedOutcomes, dedupKeys.count);
  /** Each array contains 1 at the index of each logged group. */
  const loggedByScope = new Map<string, Uint8Array>();
  const matching: Entry[] = [];
  for await (const entry of entries) {
    if (breaks.isDue(entry.dedupKeys.length)) await breaks.take();
    const groups = findGroups(entry.dedupKeys, dedupKeys.find);
    if (groups.length === 0) continue;
    matching.push(entry);
    const name = isPerScope ? hashScope(entry.scope) : "";
    const logged = loggedByScope.get(name) ?? new Uint8Array(dedupKeys.count);
    loggedByScope.set(name, logged);
    const recorded = toOutcome(entry.state);
    for (const group of groups) {
      if (breaks.isDue()) await breaks.take();
      const outcome = recorded === "logged" && logged[group] === 1 ? "repeated" : recorded;
      const isHidden = verifiedOutcomes.indexOf(outcome) < verifiedOutcomes.indexOf(outcomes.outcomeOf(group));
      if (!isHidden) outcomes.set(group, outcome);
      if (recorded === "logged") logged[group] = 1;
    }
  }
  return { groups: dedupKeys.count, outcomes, entries: matching };
};

/** Arguments of the commands that problems propose. */
type CommandArgs = Readonly<{ ledgerArgs: readonly string[]; inputArgs: readonly string[] }>;

const rules = {
  repeated: "duplicate-group",
  unknown: "unresolved-group",
  refused: "group-refused",
  not_sent: "group-not-logged",
} as const;
