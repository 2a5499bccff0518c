/** Reports what only the whole input shows: groups without signal, versions that lag, outliers, groups in doubt. */
import { groupingKeysOf, surenessOf } from "../check/group-key.ts";
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import { partOf, partValue } from "./contents.ts";
import { reportTwice } from "./duplicates.ts";
import { rewardTolerance, withChoice } from "./metrics/constants.ts";
import type { Extremes } from "./metrics/extremes.ts";
import { countOf, quantileOf, weightsOf } from "./metrics/sketch.ts";
import { boundsOf } from "./metrics/sums.ts";
import type { Found } from "./parts/found.ts";
import type { Scattered } from "./parts/grouping.ts";
import { fileNumberOf, type GroupsRead, reportOfGroup, spotToKeep } from "./positions.ts";
import { reportTraining } from "./training.ts";

/** What groups are compared with. */
interface Comparison {
  readonly outside: readonly Outside[];
  /** Ends the search for duplicates, which reads again: that takes seconds if nearly all are. */
  readonly signal?: AbortSignal;
}

/** Reports what is wrong with groups as wholes; an error makes the group invalid. @throws the signal's reason */
export const reportWholes = async (read: GroupsRead, comparison: Comparison): Promise<void> => {
  const { groups } = read;
  const report = groupReporter(read);
  for (let group = 0; group < groups.count; group++) {
    // Hardly ever is there something to report: a million groups are not waited for.
    const isUnusual =
      groups.trajectoriesOf(group) === 1 || hasNoSignal(read, group) || versionsOf(read, group).length > 0;
    if (isUnusual && groups.isValid(group)) await report(group);
  }
  await reportAmong(read, comparison);
};

/** Opens what reports what is wrong with one group. */
export const groupReporter = (read: GroupsRead): ((group: number) => Promise<void>) => {
  let key: Promise<string | undefined> | undefined;
  return async (group) => {
    const trajectories = read.groups.trajectoriesOf(group);
    if (trajectories === 1) {
      // The file may change meanwhile: then no key is named.
      key ??= findGroupingKey(read).catch(() => undefined);
      await reportOfGroup(read, "group-of-one", { data: { key: await key }, group });
    } else if (hasNoSignal(read, group))
      await reportOfGroup(read, "group-no-signal", { data: { trajectories }, group });
    const { least, most } = boundsOf(versionsOf(read, group));
    if (least < most) await reportOfGroup(read, "policy-mixed", { data: { least, most }, group });
  };
};

/** Groups of one that are looked at for a key that repeats. */
const maxLookedAt = 64;

/** A key that would group trajectories that are alone in their groups: several of the first have the same value. */
const findGroupingKey = async (read: GroupsRead): Promise<string | undefined> => {
  const { groups } = read;
  const values = new Map<string, string[]>();
  for (let group = 0, looked = 0; group < groups.count && looked < maxLookedAt; group++) {
    if (groups.trajectoriesOf(group) !== 1) continue;
    looked++;
    const own = partOf(read, groups.firstOf(group));
    if (own?.part.kind !== "trajectory" || !own.part.valid) continue;
    for (const { name, text } of groupingKeysOf(await partValue(own.source, own.part))) {
      values.set(name, [...(values.get(name) ?? []), text]);
    }
  }
  const fit = Array.from(values).filter(([, texts]) => {
    const different = new Set(texts).size;
    // A value that all of them share names the task, not the prompt.
    return different > 1 && different < texts.length;
  });
  return fit.map(([name]) => name).sort((a, b) => surenessOf(a) - surenessOf(b))[0];
};

/** The policy versions of a group's bare trajectories; those of a group on a line were compared with the line. */
const versionsOf = ({ found: { parts }, groups }: GroupsRead, group: number): readonly number[] =>
  parts.columns.version.isDefault || parts.kindOf(groups.firstOf(group)) === "group"
    ? []
    : Array.from(groups.partsOf(group), (at) => parts.columns.version.at(at)).filter((one) => !Number.isNaN(one));

/** Reports what is wrong with groups compared with the others. @throws the signal's reason */
export const reportAmong = async (read: GroupsRead, { outside, signal }: Comparison): Promise<void> => {
  await reportLags(read);
  for (const far of outside) await reportOutliers(read, far);
  await reportTraining(read);
  await reportTwice(read, signal);
};

const reportLags = async (read: GroupsRead): Promise<void> => {
  const { found, groups } = read;
  const { columns } = found.parts;
  if (columns.version.isDefault) return;
  let newest = { source: -1, version: Number.NEGATIVE_INFINITY, line: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const first = groups.firstOf(group);
    const source = fileNumberOf(read, first);
    if (source !== newest.source) newest = { source, version: Number.NEGATIVE_INFINITY, line: 0 };
    const versions = Array.from(groups.partsOf(group), (at) => columns.version.at(at));
    // Minus infinity if it names none.
    const version = boundsOf(versions.filter((one) => !Number.isNaN(one))).most;
    if (version > newest.version) newest = { source, version, line: columns.line.at(first) };
    else if (version < newest.version && version > Number.NEGATIVE_INFINITY) {
      const data = { version, newest: newest.version, line: newest.line };
      await reportOfGroup(read, "policy-lags", { data, group });
    }
  }
};

/** True if the rewards of a group are all equal. */
export const hasNoSignal = ({ found: { parts }, groups }: GroupsRead, group: number): boolean => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.columns.equal.at(first) === 1;
  const { least, most } = boundsOf(Array.from(groups.partsOf(group), (at) => parts.columns.reward.at(at)));
  return most - least <= rewardTolerance;
};

/** True if no trajectory of a group has a sampled turn, but others do: what all of them lack is reported once. */
export const hasNoChoice = ({ found: { parts, tally }, groups }: GroupsRead, group: number): boolean =>
  tally.sampled.choices > 0 && groups.partsOf(group).every((at) => (parts.columns.training.at(at) & withChoice) === 0);

/** Reports parts that are not adjacent to their groups. */
export const reportScattered = async (read: GroupsRead, scattered: readonly Scattered[]): Promise<void> => {
  const { parts, problems } = read.found;
  for (const { part, first, key } of scattered) {
    const data = { id: key, line: parts.columns.line.at(first) };
    const spot = await spotToKeep(read, { rule: "group-scattered", part, path: () => ["group_id"] });
    problems.report("group-scattered", data, () => spot);
  }
};

/** Reports groups that a line may belong to which can't be read: they are invalid, since they may not be whole. */
export const reportInDoubt = async (read: GroupsRead, byKey: boolean): Promise<void> => {
  const { found, groups, sources } = read;
  const { parts } = found;
  if (!parts.has("unreadable")) return;
  const doubtful = groupsInDoubt(parts.count, {
    mayBeApart: byKey,
    standingAt: (at) => {
      const group = groups.groupOf(at);
      return {
        scope: byKey ? 0 : parts.columns.source.at(at),
        group: groups.isKeyed(group) ? group : undefined,
        isUnknown: parts.kindOf(at) === "unreadable",
      };
    },
  });
  for (const [group, at] of doubtful) {
    const line = parts.columns.line.at(at);
    const name = sources[parts.columns.source.at(at)]?.name ?? "the input";
    const place = sources.length === 1 ? `line ${line}` : `line ${line} of ${name}`;
    await reportOfGroup(read, "group-in-doubt", { data: { place }, group });
  }
};

/** Rewards that a file must have before one of them can be far outside the others. */
const minRewards = 10;

/** How many times the usual distance from the median is far outside. */
const farOutside = 30;

/** Share of the rewards that can be far outside: more of them are no exception. */
const maxOutside = 0.01;

/** Which rewards of a source are far outside the others, and its rewards at both ends. */
export interface Outside {
  readonly median: number;
  /** Distance from the median that is far. */
  readonly distance: number;
  readonly extremes: Extremes;
}

/** What is far outside in a source; nothing if too few rewards say what is usual. */
export const outsideOf = ({ extremes }: Pick<Found, "extremes">): readonly Outside[] => {
  const weights = weightsOf(extremes.rewards);
  const total = countOf(weights);
  if (total < minRewards) return [];
  const median = quantileOf(weights, 0.5);
  const distances = weights
    .map(({ value, count }) => ({ value: Math.abs(value - median), count }))
    .sort((a, b) => a.value - b.value);
  // If most rewards are the same, the usual distance is that of the others.
  const others = distances.filter(({ value }) => value > 0);
  const distance = (quantileOf(distances, 0.5) || quantileOf(others, 0.5)) * farOutside;
  const outside = countOf(others.filter(({ value }) => value > distance));
  return outside === 0 || outside > total * maxOutside + 1 ? [] : [{ median, distance, extremes }];
};

const reportOutliers = async (read: GroupsRead, { median, distance, extremes }: Outside): Promise<void> => {
  const { found, groups } = read;
  // Of few rewards, one can be at both ends.
  const below = extremes.smallest.filter(({ reward }) => reward < median);
  const above = extremes.largest.filter(({ reward }) => reward > median);
  for (const { reward, part, trajectory } of [...below, ...above]) {
    const group = groups.groupOf(part);
    if (Math.abs(reward - median) <= distance || !groups.isValid(group)) continue;
    const path = found.parts.kindOf(part) === "group" ? ["trajectories", trajectory, "reward"] : ["reward"];
    await reportOfGroup(read, "reward-outlier", { data: { reward, median }, group, part, path });
  }
};
