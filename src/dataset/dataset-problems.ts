/** Reports problems of whole datasets, such as outliers and duplicates. */
import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { inspectTrajectory } from "../check/index.ts";
import { findAmbiguousGroups } from "../index/ambiguous-groups.ts";
import type { NumberColumn } from "../index/column.ts";
import { findGroupKeys, rankGroupKey } from "../index/group-key.ts";
import type { ScatteredPart } from "../index/groups.ts";
import { rewardTolerance, trainingBits } from "../index/metrics.ts";
import type { Parts } from "../index/parts.ts";
import { countWeights, median, type Sketch, toWeights } from "../index/sketch.ts";
import { findBounds } from "../index/sums.ts";
import { createTrajectoryFacts } from "../index/trajectory-facts.ts";
import { openBrace, parseJson } from "../json/json-bytes.ts";
import { elementsOf, firstByteOf, type JsonValue, memberAt } from "../json/table.ts";
import { type Path, toFileLine } from "../problems/positions.ts";
import type { ProblemLocation } from "../problems/problems.ts";
import { listTrajectories, parseReward, ReadWindow, sliceTrajectories } from "./group-bytes.ts";
import * as positions from "./locate.ts";
import { getPart, type IndexedGroups, reportGroup } from "./locate.ts";
import { reportMixedGroups } from "./prompts.ts";

/** @throws the signal's reason */
export const reportDatasetProblems = async (
  dataset: IndexedGroups,
  rewards: readonly Sketch[],
  signal?: AbortSignal,
) => {
  reportStaleGroups(dataset);
  for (const [source, sketch] of rewards.entries()) await reportOutliers(dataset, source, sketch);
  const { columns, count } = dataset.scan.parts;
  const bitsOfFiles = new Uint8Array(dataset.sources.length);
  for (let at = 0; at < count; at++) {
    const file = columns.source.at(at);
    bitsOfFiles[file] = (bitsOfFiles[file] ?? 0) | columns.training.at(at);
  }
  reportMissingFeatures(dataset, bitsOfFiles);
  await reportMixedGroups(dataset, signal);
  await reportDuplicates(dataset, signal);
  await reportCopies(dataset, signal);
};

export const reportGroupProblems = (dataset: IndexedGroups) => {
  const { groups, scan } = dataset;
  const { trajectories, equal } = scan.parts.columns;
  if (groups.areValidParts && equal.hasOnlyDefaults && !trajectories.includes(1)) return;
  const report = openGroupReporter(dataset);
  for (let group = 0; group < groups.count; group++) if (groups.isValid(group)) report(group);
};

/** The returned function expects a valid group. */
export const openGroupReporter = (dataset: IndexedGroups): ((group: number) => void) => {
  const { groups } = dataset;
  let shared: { key: string | undefined } | undefined;
  return (group) => {
    const trajectories = groups.trajectoriesOf(group);
    if (trajectories === 1) {
      const isFlat = canRegroupPart(getPart(dataset, groups.firstOf(group)));
      if (isFlat) shared ??= { key: findSharedKey(dataset) };
      const canRegroup = isFlat && (shared?.key !== undefined || !groups.isKeyed(group));
      reportGroup(dataset, "single-trajectory-group", { data: { canRegroup, key: shared?.key }, group });
    } else if (hasZeroVariance(dataset, group))
      reportGroup(dataset, "zero-variance-group", { data: { trajectories }, group });
    // The checker has compared the versions of a group that is one part.
    if (!groups.isBare(group) || dataset.scan.parts.columns.version.hasOnlyDefaults) return;
    const { min, max } = findVersionBounds(dataset, group);
    if (min < max) reportGroup(dataset, "mixed-policy-versions", { data: { min, max }, group });
  };
};

const canRegroupPart = ({ part, source }: positions.GroupPart) =>
  part.kind === "trajectory" || source.originals?.canRegroup === true;

const maxGroupsForKey = 64;

const findSharedKey = (dataset: IndexedGroups) => {
  const { groups } = dataset;
  const values = new Map<string, string[]>();
  for (let group = 0, checked = 0; group < groups.count && checked < maxGroupsForKey; group++) {
    if (groups.trajectoriesOf(group) !== 1) continue;
    checked++;
    const groupPart = getPart(dataset, groups.firstOf(group));
    if (!canRegroupPart(groupPart) || !groupPart.part.valid) continue;
    const [trajectory] = readTrajectories(groupPart);
    const value = trajectory && parseJson(trajectory.toString("utf8"))?.value;
    for (const { name, text } of findGroupKeys(value)) values.set(name, [...(values.get(name) ?? []), text]);
  }
  // A value that all trajectories share cannot distinguish prompts.
  const isRepeated = (texts: readonly string[]) => new Set(texts).size > 1 && new Set(texts).size < texts.length;
  const names = [...values].flatMap(([name, texts]) => (isRepeated(texts) ? [name] : []));
  return names.sort((a, b) => rankGroupKey(a) - rankGroupKey(b))[0];
};

const findVersionBounds = ({ scan: { parts }, groups }: IndexedGroups, group: number) =>
  findBounds(groups.partsOf(group).map((at) => parts.columns.version.at(at)));

const reportStaleGroups = (dataset: IndexedGroups) => {
  const { scan, groups } = dataset;
  const { columns } = scan.parts;
  if (columns.version.hasOnlyDefaults) return;
  let newest = { source: -1, version: 0, line: 0 };
  for (let group = 0; group < groups.count; group++) {
    const version = findVersionBounds(dataset, group).max;
    if (!groups.isValid(group) || version === Number.NEGATIVE_INFINITY) continue;
    const first = groups.firstOf(group);
    const source = columns.source.at(first);
    if (source !== newest.source || version > newest.version)
      newest = { source, version, line: columns.line.at(first) };
    else if (version < newest.version)
      reportGroup(dataset, "stale-policy", { data: { version, newest: newest.version, line: newest.line }, group });
  }
};

export const hasZeroVariance = ({ scan: { parts }, groups }: IndexedGroups, group: number) => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.columns.equal.at(first) === 1;
  const { min, max } = findBounds(groups.rewardsOf(group));
  return max - min <= rewardTolerance;
};

export const hasNoSampledTurn = ({ scan: { parts, tally }, groups }: IndexedGroups, group: number) =>
  tally.sampled.choices > 0 &&
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

export const reportScatteredParts = (dataset: IndexedGroups, scattered: readonly ScatteredPart[]) => {
  for (const { part, first, key } of scattered) {
    const data = { id: key, line: dataset.scan.parts.columns.line.at(first) };
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

const minRewardsForOutliers = 10;

const outlierFactor = 30;

const maxOutlierShare = 0.1;

const findOutlierBound = (rewards: Sketch) => {
  if (rewards.count < minRewardsForOutliers) return undefined;
  const weights = toWeights(rewards);
  const middle = median(weights);
  const distances = weights.map(({ value, count }) => ({ value: Math.abs(value - middle), count }));
  distances.sort((a, b) => a.value - b.value);
  // If most rewards are equal, the median distance is 0.
  const others = distances.filter(({ value }) => value > 0);
  const distance = (median(distances) || median(others)) * outlierFactor;
  const outside = countWeights(others.filter(({ value }) => value > distance));
  return outside > 0 && outside <= rewards.count * maxOutlierShare + 1 ? { middle, distance } : undefined;
};

const reportOutliers = async (dataset: IndexedGroups, sourceIndex: number, rewards: Sketch) => {
  const { groups } = dataset;
  const { parts } = dataset.scan;
  const bound = findOutlierBound(rewards);
  if (!bound) return;
  const window = new ReadWindow();
  for (let part = 0; part < parts.count; part++) {
    const group = groups.groupOf(part);
    if (parts.columns.source.at(part) !== sourceIndex || !groups.isValid(group)) continue;
    const { source, part: facts } = getPart(dataset, part);
    const bytes = await window.read(source, facts.start, facts.length);
    for (const [at, reward] of listTrajectories(bytes, facts).map(parseReward).entries()) {
      const isOutlier = Number.isFinite(reward) && Math.abs(reward - bound.middle) > bound.distance;
      if (!isOutlier || !groups.isValid(group)) continue;
      const path = [...pathOf(parts, part, at), "reward"];
      reportGroup(dataset, "reward-outlier", { data: { reward, median: bound.middle }, group, part, path });
    }
  }
};

const findMissingLogprobs = (trajectory: JsonValue): Path => {
  const turns = elementsOf(memberAt(trajectory, "messages_and_choices"));
  const isObjectAt = (turn: JsonValue, key: string) => {
    const value = memberAt(turn, key);
    return value !== undefined && firstByteOf(value) === openBrace;
  };
  const isUnscored = (turn: JsonValue) =>
    !memberAt(turn, "role") && isObjectAt(turn, "message") && !isObjectAt(turn, "logprobs");
  return ["messages_and_choices", turns.findIndex(isUnscored), "logprobs"];
};

const missingFeatures = [
  { rule: "no-sampled-turns", has: trainingBits.choice, pathIn: () => ["messages_and_choices"] },
  { rule: "missing-logprobs", has: trainingBits.logprobs, pathIn: findMissingLogprobs },
  { rule: "missing-tools", has: trainingBits.tools, pathIn: () => ["tools"] },
] as const;

type MissingFeature = (typeof missingFeatures)[number];

const lacks = (training: number, { has }: MissingFeature) => (training & (has << 1)) !== 0;

/** Reports each part without a feature, but only the first part of a file or input that lacks the feature. */
const reportMissingFeatures = (dataset: IndexedGroups, bitsOfFiles: Uint8Array) => {
  const { groups, scan } = dataset;
  const { parts, problems } = scan;
  const { source, training } = parts.columns;
  const features = missingFeatures
    .filter((one) => !problems.strictness.allowed.has(one.rule) && bitsOfFiles.some((bits) => lacks(bits, one)))
    .map((feature) => ({
      feature,
      isMissingInInput: bitsOfFiles.every((bits) => (bits & feature.has) === 0),
      reportedFile: -1,
      lastFile: bitsOfFiles.findLastIndex((bits) => lacks(bits, feature)),
    }));
  const isDone = () => features.every((one) => one.isMissingInInput && one.reportedFile === one.lastFile);
  for (let at = 0; at < parts.count && !isDone(); at++) {
    if (!groups.isValid(groups.groupOf(at))) continue;
    const file = source.at(at);
    let part: ReturnType<typeof openPart> | undefined;
    for (const state of features) {
      const { feature, isMissingInInput, reportedFile } = state;
      if (!lacks(training.at(at), feature)) continue;
      const all = ((bitsOfFiles[file] ?? 0) & feature.has) === 0;
      if (!all || reportedFile !== file) {
        part ??= openPart(dataset, at);
        const { trajectories, locate } = part;
        const path = () => locateMissingFeature(trajectories(), { part: at, parts, feature });
        positions.reportPart(dataset, feature.rule, { data: { all }, part: at, path, locate });
      }
      state.reportedFile = file;
      // If no group has the feature, rollcall rejects no group.
      if (isMissingInInput) problems.addInputRule(feature.rule);
      else groups.warn(groups.groupOf(at));
    }
  }
};

const maxSearchedBytes = 2 ** 20;

/** Several problems of a part share what was read. */
const openPart = (dataset: IndexedGroups, at: number) => {
  let locate: ReturnType<typeof positions.openPartLocator> | undefined;
  let trajectories: readonly JsonValue[] | undefined;
  const read = () => {
    const groupPart = getPart(dataset, at);
    if (groupPart.part.length > maxSearchedBytes) return [];
    try {
      return listTrajectories(positions.readPartStart(groupPart), groupPart.part);
    } catch {
      // The file has changed.
      return [];
    }
  };
  return {
    locate: (path: Path) => {
      locate ??= positions.openPartLocator(getPart(dataset, at));
      return locate(path);
    },
    trajectories: () => {
      trajectories ??= read();
      return trajectories;
    },
  };
};

const locateMissingFeature = (
  trajectories: readonly JsonValue[],
  { part, parts, feature }: { part: number; parts: Parts; feature: MissingFeature },
) => {
  const facts = createTrajectoryFacts();
  const isLacking = ({ table, node }: JsonValue) =>
    inspectTrajectory(table, node, facts, () => undefined) && lacks(facts.training, feature);
  const at = trajectories.length === 1 ? 0 : trajectories.findIndex(isLacking);
  const trajectory = trajectories[at];
  return trajectory ? [...pathOf(parts, part, at), ...feature.pathIn(trajectory)] : [];
};

const pathOf = (parts: Parts, part: number, at: number) => (parts.kindOf(part) === "group" ? ["trajectories", at] : []);

/** Returns an empty list if the file has changed. */
const readTrajectories = (groupPart: positions.GroupPart) => {
  try {
    return sliceTrajectories(positions.readPartStart(groupPart), groupPart.part);
  } catch {
    return [];
  }
};

const maxRereadBytes = 2 ** 26;

/** To locate a trajectory of a converted record, rollcall converts the record again. */
const maxLocatedOriginals = 1000;

const formatLocation = ({ path = [], ...location }: ProblemLocation) =>
  toFileLine(location) + (path.length > 0 ? `, ${path.join(".")}` : "");

/** @throws the signal's reason */
const reportDuplicates = async (dataset: IndexedGroups, signal?: AbortSignal) => {
  const { groups, scan } = dataset;
  const { parts } = scan;
  const originals = new Map<string, () => Promise<string>>();
  let [duplicates, bytesRead] = [0, 0];
  for (const [part, suspects] of findSuspects(parts)) {
    const group = groups.groupOf(part);
    if (!groups.isValid(group)) continue;
    await setImmediate();
    signal?.throwIfAborted();
    bytesRead += parts.columns.length.at(part);
    if (bytesRead > maxRereadBytes) return;
    const groupPart = getPart(dataset, part);
    const trajectories = readTrajectories(groupPart);
    const locate = positions.openPartLocator(groupPart);
    for (const at of suspects) {
      const trajectory = trajectories[at];
      if (!trajectory || !groups.isValid(group)) continue;
      const digest = hash("sha256", trajectory);
      const path = pathOf(parts, part, at);
      const locateOriginal = originals.get(digest);
      if (!locateOriginal) originals.set(digest, openOriginal(groupPart, { path, locate }));
      else {
        const position = ++duplicates > maxLocatedOriginals ? "another position" : await locateOriginal();
        reportGroup(dataset, "duplicate-trajectory", { data: { position }, group, part, path, locate });
      }
    }
  }
};

/** Several copies of a trajectory share the position of the first. */
const openOriginal = (
  groupPart: positions.GroupPart,
  { path, locate }: { path: Path; locate: ReturnType<typeof positions.openPartLocator> },
) => {
  const find = async () =>
    formatLocation(groupPart.source.originals ? await positions.locateValue(groupPart, path) : locate(path));
  let found: ReturnType<typeof find> | undefined;
  return async () => {
    found ??= find();
    return await found;
  };
};

export const reportCopies = async (dataset: IndexedGroups, signal?: AbortSignal) => {
  const { sources, groups, scan } = dataset;
  let located = 0;
  for (const [source, { originals }] of sources.entries()) {
    for (const { line, findPath, locate } of originals?.copies ?? []) {
      signal?.throwIfAborted();
      const part = positions.findPartAt(scan.parts, source, { line });
      const group = part === undefined ? undefined : groups.groupOf(part);
      if (part === undefined || group === undefined || !groups.isValid(group)) continue;
      const position = ++located > maxLocatedOriginals ? "another position" : formatLocation(await locate());
      reportGroup(dataset, "duplicate-rollout", { data: { position }, group, part, path: findPath });
    }
  }
};

function* findSuspects({ columns: { fingerprint, trajectories }, count }: Parts) {
  const repeated = findRepeatedNumbers(fingerprint);
  if (repeated.size === 0) return;
  for (let part = 0, first = 0; part < count; part++) {
    const suspects: number[] = [];
    for (let at = 0; at < trajectories.at(part); at++) if (repeated.has(fingerprint.at(first + at))) suspects.push(at);
    if (suspects.length > 0) yield [part, suspects] as const;
    first += trajectories.at(part);
  }
}

/** Ignores 0, the fingerprint of trajectories in invalid parts. */
const findRepeatedNumbers = (numbers: NumberColumn) => {
  const sorted = numbers.values().sort();
  const repeated = new Set<number>();
  let before = 0;
  for (let at = 0; at < sorted.length; at++) {
    const number = sorted[at] ?? 0;
    if (number === before && number !== 0) repeated.add(number);
    before = number;
  }
  return repeated;
};
