/** Reports problems of whole datasets, such as duplicates. */

import type { Breaks } from "../../system/breaks.ts";
import { hash } from "../../system/hashes.ts";
import { openStepComparison } from "../check/policy-steps.ts";
import { findPromptOf, findRarestPrompt, openPromptReader } from "../check/trajectory-prompt.ts";
import type { NumberColumn } from "../index/column.ts";
import { findAmbiguousGroups } from "../index/group-key.ts";
import type { ScatteredPart } from "../index/groups.ts";
import { trainingBits, turnBits } from "../index/metrics.ts";
import type { Parts } from "../index/parts.ts";
import { findBounds, rewardTolerance } from "../index/sums.ts";
import { toFileLine } from "../rules/positions.ts";
import type { ProblemLocation } from "../rules/problems.ts";
import type { RuleName } from "../rules/rules.ts";
import { ReadWindow } from "./group-bytes.ts";
import * as positions from "./locate.ts";
import { getPart, type IndexedGroups, locatePart, reportGroup } from "./locate.ts";
import { type NotedLacks, reportMissingFeatures } from "./missing-features.ts";
import { canRegroupPart, findSharedKey, tryReadTrajectories } from "./shared-key.ts";

/** @throws the signal's reason */
export const reportDatasetProblems = async (dataset: IndexedGroups, breaks: Breaks) => {
  const lacking = await reportMissingFeatures(dataset, breaks);
  await reportMixedGroups(dataset, breaks);
  await reportDuplicates(dataset, breaks);
  return lacking;
};

/**
 * Returns the rules that groups of whole files break, which are not reported.
 * @param ungrouped the location of an input without `--group-by`
 * @param isTrained false if no trainer learns from the groups, so that equal rewards are only noted
 */
export const reportGroupProblems = async (
  dataset: IndexedGroups,
  breaks: Breaks,
  { ungrouped, isTrained }: Readonly<{ ungrouped: ProblemLocation | undefined; isTrained: boolean }>,
): Promise<NotedLacks> => {
  const { groups, scan } = dataset;
  const { trajectories, equal } = scan.parts.columns;
  const sizes = trajectories.values(0, scan.parts.count);
  const hasSmallGroups = sizes.includes(1) || sizes.includes(0);
  if (groups.areValidParts && equal.hasOnlyDefaults && !hasSmallGroups) return [];
  const canRegroup = ungrouped && scan.problems.errors === 0 && sizes.includes(1);
  const key = canRegroup ? await findSharedKey(dataset, breaks) : undefined;
  if (key !== undefined) scan.problems.report("equal-prompts", { key }, ungrouped);
  const broken = await findCommonLacks(dataset, breaks, isTrained);
  const report = openGroupReporter(dataset, broken);
  for (const group of groups.valid()) {
    if (breaks.isDue()) await breaks.take();
    report(group);
  }
  return broken;
};

/** Finds the files that have only groups of one trajectory, of failures, or with equal rewards. */
const findCommonLacks = async (dataset: IndexedGroups, breaks: Breaks, isTrained: boolean): Promise<NotedLacks> => {
  const { groups, scan, sources } = dataset;
  const [others, sizes] = [new Uint8Array(sources.length), new Uint8Array(sources.length)];
  const [counts, equal] = [new Uint32Array(sources.length), new Uint32Array(sources.length)];
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue()) await breaks.take();
    const size = groups.trajectoriesOf(group);
    const file = scan.parts.columns.source.at(groups.firstOf(group));
    const isEqual = size > 1 && groups.isValid(group) && hasZeroVariance(dataset, group);
    counts[file] = (counts[file] ?? 0) + 1;
    if (isEqual) equal[file] = (equal[file] ?? 0) + 1;
    const isOther = (size > 1 && !isEqual) || (size === 0 && groups.exceptionsOf(group) === 0);
    if (isOther || !groups.isValid(group)) others[file] = 1;
    else sizes[file] = (sizes[file] ?? 0) | (1 << Math.min(size, 2));
  }
  const note = (lack: NotedLacks[number]["lack"], size: number) => {
    const isOnly = (file: number) => !others[file] && sizes[file] === 1 << size;
    const files = new Set([...sizes.keys()].filter((file) => isOnly(file) && (size < 2 || (equal[file] ?? 0) > 1)));
    const count = [...files].reduce((sum, file) => sum + (counts[file] ?? 0), 0);
    return { lack, files, count, isWhole: count > 0 && count === groups.count };
  };
  const count = equal.reduce((sum, one) => sum + one, 0);
  const isWhole = count > 0 && count === groups.count;
  const equalGroups = { lack: "zero-variance-group", count, isWhole } as const;
  return [
    isTrained ? note("zero-variance-group", 2) : equalGroups,
    note("empty-group", 0),
    note("single-trajectory-group", 1),
  ];
};

/** The returned function expects a valid group. Without `broken`, the input goes on. */
export const openGroupReporter = (dataset: IndexedGroups, broken: NotedLacks = []): ((group: number) => void) => {
  const { groups, scan } = dataset;
  const { source } = scan.parts.columns;
  const isNoted = (rule: RuleName, group: number) =>
    broken.some(({ lack, files }) => lack === rule && (files?.has(source.at(groups.firstOf(group))) ?? true));
  return (group) => {
    const trajectories = groups.trajectoriesOf(group);
    if (trajectories === 0) {
      const data = { hasExceptions: groups.exceptionsOf(group) > 0 };
      if (!isNoted("empty-group", group)) reportGroup(dataset, "empty-group", { data, group, path: ["trajectories"] });
    } else if (trajectories === 1) {
      if (isNoted("single-trajectory-group", group)) return;
      const isFlat = canRegroupPart(getPart(dataset, groups.firstOf(group)));
      reportGroup(dataset, "single-trajectory-group", {
        data: { canRegroup: isFlat && !groups.isKeyed(group) },
        group,
      });
    } else if (hasZeroVariance(dataset, group) && !isNoted("zero-variance-group", group))
      reportGroup(dataset, "zero-variance-group", { data: { trajectories }, group });
  };
};

/** False for a group without turns, which has another problem. */
const hasZeroVariance = ({ scan: { parts }, groups }: IndexedGroups, group: number) => {
  if (groups.partsOf(group).every((at) => (parts.columns.training.at(at) & turnBits) === 0)) return false;
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.columns.equal.at(first) === 1;
  const { min, max } = findBounds(groups.rewardsOfParts(group));
  return max - min <= rewardTolerance;
};

export const hasNoSampledTurn = ({ scan: { parts, training }, groups }: IndexedGroups, group: number) =>
  (training & trainingBits.choice) !== 0 &&
  groups.partsOf(group).every((at) => (parts.columns.training.at(at) & trainingBits.choice) === 0);

export const reportMissingKeys = (
  dataset: IndexedGroups,
  { source, linesWithout, key }: { source: number; linesWithout: readonly number[]; key: string },
) => {
  for (const line of linesWithout) {
    const part = positions.findPartAt(dataset.scan.parts, source, { line });
    if (part === undefined) continue;
    const group = dataset.groups.groupOf(part);
    if (dataset.groups.isValid(group)) reportGroup(dataset, "group-key-missing", { data: { key }, group });
  }
};

/** One cause and one fix is one entry for each file. In the file of reasons, each line has its own. */
export const reportScatteredParts = (dataset: IndexedGroups, scattered: readonly ScatteredPart[]) => {
  const { parts, problems } = dataset.scan;
  const counts = new Map<number, number>();
  for (const { part } of scattered) {
    const source = parts.columns.source.at(part);
    counts.set(source, (counts.get(source) ?? 0) + 1);
  }
  for (const { part, first, key } of scattered) {
    const source = parts.columns.source.at(part);
    const count = counts.get(source);
    if (!problems.strictness.writesRejects) counts.delete(source);
    if (count === undefined) continue;
    const others = problems.strictness.writesRejects ? 0 : count - 1;
    const data = { id: key, line: parts.columns.line.at(first), others };
    positions.reportPart(dataset, "group-scattered", { data, part, path: ["group_id"] });
  }
};

export const reportAmbiguousGroups = (dataset: IndexedGroups, byKey: boolean) => {
  const { scan, groups, sources } = dataset;
  const { parts } = scan;
  if (!parts.has("unreadable")) return;
  const memberships = Array.from({ length: parts.count }, (_, at) => {
    const group = groups.groupOf(at);
    return {
      fileSet: byKey ? 0 : parts.columns.source.at(at),
      group: groups.isKeyed(group) ? group : undefined,
      isUnknown: parts.kindOf(at) === "unreadable",
    };
  });
  for (const [group, at] of findAmbiguousGroups(memberships, byKey)) {
    const { source, part } = getPart(dataset, at);
    const position = `line ${part.line}${sources.length === 1 ? "" : ` of ${source.name}`}`;
    reportGroup(dataset, "ambiguous-group", { data: { position }, group });
  }
};

const maxRereadBytes = 2 ** 26;

/** To locate a trajectory of a converted record, rollcall converts the record again. */
const maxLocatedOriginals = 1000;

const formatLocation = ({ path = [], ...location }: ProblemLocation) =>
  toFileLine(location) + (path.length > 0 ? `, ${path.join(".")}` : "");

/** @throws the signal's reason */
const reportDuplicates = async (dataset: IndexedGroups, breaks: Breaks) => {
  const { groups, scan } = dataset;
  const { parts } = scan;
  /** By digest. */
  const originals = new Map<string, { locate: () => Promise<ProblemLocation>; position?: string }>();
  let [duplicates, bytesRead] = [0, 0];
  // Finding repeated rows takes long.
  await breaks.take();
  for (const { part, suspects } of listSuspects(parts, findRepeatedRows(parts.fingerprints))) {
    await breaks.take();
    const group = groups.groupOf(part);
    if (!groups.isValid(group)) continue;
    bytesRead += parts.columns.length.at(part);
    if (bytesRead > maxRereadBytes) return;
    const groupPart = getPart(dataset, part);
    const trajectories = tryReadTrajectories(groupPart);
    const locate = positions.openPartLocator(groupPart);
    for (const at of suspects) {
      const trajectory = trajectories[at];
      if (breaks.isDue(trajectory?.length)) await breaks.take();
      if (!trajectory || !groups.isValid(group)) continue;
      const digest = hash("sha256", trajectory);
      const path = positions.pathInPart(parts, part, at);
      const original = originals.get(digest);
      const locateOriginal = async () =>
        groupPart.source.originals ? await positions.locateValue(groupPart, path) : locate(path);
      if (!original) originals.set(digest, { locate: locateOriginal });
      else {
        // Several copies share the position of the first.
        if (++duplicates <= maxLocatedOriginals) original.position ??= formatLocation(await original.locate());
        const { position = "another position" } = original;
        reportGroup(dataset, "duplicate-trajectory", { data: { position }, group, part, path, locate });
      }
    }
  }
};

/** Lists the parts of these ascending rows, with the indexes of their trajectories. */
function* listSuspects({ columns }: Parts, rows: readonly number[]) {
  for (let [at, part, end] = [0, 0, 0]; at < rows.length; part++) {
    const first = end;
    end += columns.trajectories.at(part);
    const suspects: number[] = [];
    for (let row = rows[at] ?? end; row < end; row = rows[++at] ?? end) suspects.push(row - first);
    if (suspects.length > 0) yield { part, suspects };
  }
}

/** Lists the rows whose number is repeated. Ignores 0, for a trajectory without a turn or in an invalid part. */
const findRepeatedRows = (numbers: NumberColumn): readonly number[] => {
  const all = numbers.values();
  /** Of 16 bits for each row, those at the last bits of one number, and of several. */
  const last = 2 ** Math.ceil(Math.log2(16 * all.length + 32)) - 1;
  const [once, often] = [new Int32Array((last + 1) / 32), new Int32Array((last + 1) / 32)];
  for (let row = 0; row < all.length; row++) {
    const number = all[row] ?? 0;
    const word = (number & last) >>> 5;
    const bit = number === 0 ? 0 : 1 << number;
    often[word] = (often[word] ?? 0) | ((once[word] ?? 0) & bit);
    once[word] = (once[word] ?? 0) | bit;
  }
  const counts = new Map<number, number>();
  const rows: number[] = [];
  for (let row = 0; row < all.length; row++) {
    const number = all[row] ?? 0;
    if (number === 0 || ((often[(number & last) >>> 5] ?? 0) & (1 << number)) === 0) continue;
    counts.set(number, (counts.get(number) ?? 0) + 1);
    rows.push(row);
  }
  return rows.filter((row) => (counts.get(all[row] ?? 0) ?? 0) > 1);
};

/** The checker has compared the trajectories of a group that is one part. @throws the signal's reason */
export const reportMixedGroups = async (dataset: IndexedGroups, breaks: Breaks) => {
  const { prompt, steps } = dataset.scan.parts.columns;
  const window = new ReadWindow();
  const readPrompt = openPromptReader();
  const readDigest = async (part: number) => {
    const [one] = await window.readUnchangedTrajectories(getPart(dataset, part));
    return one && readPrompt(one.table, findPromptOf(one));
  };
  for await (const { group, parts } of findDifferingParts(dataset, prompt, breaks)) {
    const digests: (string | undefined)[] = [];
    for (const part of parts) digests.push(await readDigest(part));
    const mixed = findRarestPrompt(digests);
    const subject = `the trajectory at ${toFileLine(locatePart(dataset, parts[mixed?.first ?? 0] ?? 0))}`;
    if (mixed) reportGroup(dataset, "mixed-prompts", { data: { ...mixed, subject }, group });
  }
  for await (const { group, parts } of findDifferingParts(dataset, steps, breaks)) {
    const comparison = openStepComparison();
    for (const part of parts)
      for (const one of await window.readUnchangedTrajectories(getPart(dataset, part))) comparison.add(one);
    const data = comparison.findMixed();
    if (data) reportGroup(dataset, "mixed-steps", { data, group });
  }
};

/** Yields the groups of several parts, with the parts that have a number, if these numbers differ. */
async function* findDifferingParts({ groups }: IndexedGroups, column: NumberColumn, breaks: Breaks) {
  if (column.hasOnlyDefaults) return;
  for (const group of groups.valid()) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isBare(group) || groups.trajectoriesOf(group) < 2) continue;
    const parts = groups.partsOf(group).filter((part) => column.at(part) !== 0);
    if (parts.every((part) => column.at(part) === column.at(parts[0] ?? 0))) continue;
    await breaks.take();
    yield { group, parts };
  }
}
