/** Reports what only the whole input shows, from columns and sketches: groups without signal, versions that lag. */
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import type { RuleData } from "../check/rules/rules.ts";
import { groupingKeysOf, surenessOf } from "../check/scan/group-key.ts";
import { reportMixed } from "../check/scan/type-checks.ts";
import { rewardTolerance, withChoice } from "./metrics/constants.ts";
import type { Extremes } from "./metrics/picture.ts";
import { countOf, medianOf, quantileOf, type Sketch, spreadOf, type Weight, weightsOf } from "./metrics/sketch.ts";
import type { Found } from "./parts/found.ts";
import { reportTraining } from "./training.ts";
import { reportTwice } from "./twice.ts";
import { type GroupsRead, partValue, reportOfGroup } from "./whole.ts";

/** What groups are held against, and what ends that. */
interface Among {
  readonly outside: readonly Outside[];
  /** Finding what comes twice reads again: that takes seconds where nearly all does. */
  readonly signal?: AbortSignal;
}

/**
 * Reports whatever is wrong with the groups of all inputs as wholes. Where that is an error, the group is not valid.
 * @throws the signal's reason
 */
export const reportWholes = async (whole: GroupsRead, among: Among): Promise<void> => {
  const { groups } = whole;
  const count = areUsual(whole) ? 0 : groups.count;
  for (let group = 0; group < count; group++) {
    if (groups.isValid(group) && isUnusual(whole, group)) await reportGroup(whole, group);
  }
  await reportAmong(whole, among);
};

/** Whether there is nothing to report of any, as the columns say at once. */
const areUsual = ({ found: { parts }, groups }: GroupsRead): boolean =>
  groups.areParts && parts.areUsual && parts.columns.version.isDefault && !parts.columns.trajectories.includes(1);

/** Whether there is something to report of a group: hardly ever, so that a million others are not waited for. */
const isUnusual = (whole: GroupsRead, group: number): boolean => {
  const trajectories = whole.groups.trajectoriesOf(group);
  return trajectories === 1 || hasNoSignal(whole, group) || versionsOf(whole, group).length > 0;
};

/** Reports what is wrong with one group. */
export const reportGroup = async (whole: GroupsRead, group: number): Promise<void> => {
  const trajectories = whole.groups.trajectoriesOf(group);
  if (trajectories === 1)
    await reportOfGroup(whole, "group-of-one", { data: { key: await groupingKey(whole) }, group });
  else if (hasNoSignal(whole, group)) await reportOfGroup(whole, "group-no-signal", { data: { trajectories }, group });
  let mixed: RuleData<"policy-mixed"> | undefined;
  reportMixed(versionsOf(whole, group), (data) => {
    mixed = data;
  });
  if (mixed !== undefined) await reportOfGroup(whole, "policy-mixed", { data: mixed, group });
};

/** Groups of one that are looked at for a key that repeats. */
const lookedAt = 64;

/** By the reading: it is looked for once. */
const groupingKeys = new WeakMap<Found, Promise<string | undefined>>();

/** A key that would put trajectories that are alone in their groups together, since several of the first have the same. */
const groupingKey = async (whole: GroupsRead): Promise<string | undefined> => {
  // The file may change meanwhile: what can no longer be found is not looked at.
  const known = groupingKeys.get(whole.found) ?? findGroupingKey(whole).catch(() => undefined);
  groupingKeys.set(whole.found, known);
  return await known;
};

const findGroupingKey = async ({ sources, groups, found: { parts } }: GroupsRead): Promise<string | undefined> => {
  const seen = new Map<string, Set<string>>();
  const repeated = new Set<string>();
  for (let group = 0, looked = 0; group < groups.count && looked < lookedAt; group++) {
    if (groups.trajectoriesOf(group) !== 1) continue;
    looked++;
    const part = parts.at(groups.firstOf(group));
    const source = sources[part.source];
    if (part.kind !== "trajectory" || !part.valid || source === undefined) continue;
    const value = await partValue(source, part);
    for (const { name, text } of groupingKeysOf(value)) {
      const values = seen.get(name) ?? new Set();
      if (values.has(text)) repeated.add(name);
      seen.set(name, values.add(text));
    }
  }
  // What all of them have alike names the task, not the prompt.
  const fit = [...repeated].filter((name) => (seen.get(name)?.size ?? 0) > 1);
  return fit.sort((a, b) => surenessOf(a) - surenessOf(b))[0];
};

/** The policy versions of a group's trajectories that stand by themselves; of one on a line, its line was looked at. */
const versionsOf = ({ found: { parts }, groups }: GroupsRead, group: number): readonly number[] =>
  parts.columns.version.isDefault || parts.kindOf(groups.firstOf(group)) === "group"
    ? []
    : Array.from(groups.partsOf(group), (at) => parts.columns.version.at(at)).filter(
        (version) => !Number.isNaN(version),
      );

/** Reports what is wrong with groups beside the others. @throws the signal's reason */
export const reportAmong = async (whole: GroupsRead, { outside, signal }: Among): Promise<void> => {
  await reportLags(whole);
  for (const far of outside) await reportOutliers(whole, far);
  await reportTraining(whole);
  await reportTwice(whole, signal);
};

const reportLags = async (whole: GroupsRead): Promise<void> => {
  const {
    found: { parts },
    groups,
  } = whole;
  if (parts.columns.version.isDefault) return;
  let newest = { source: -1, version: Number.NEGATIVE_INFINITY, line: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const first = groups.firstOf(group);
    const source = parts.columns.source.at(first);
    const version = versionOf(whole, group);
    if (source !== newest.source) newest = { source, version: Number.NEGATIVE_INFINITY, line: 0 };
    if (version < newest.version) {
      await reportOfGroup(whole, "policy-lags", {
        data: { version, newest: newest.version, line: newest.line },
        group,
      });
    } else if (version > newest.version) {
      newest = { source, version, line: parts.at(first).line };
    }
  }
};

/** Whether the rewards of a group are all equal. */
export const hasNoSignal = ({ found: { parts }, groups }: GroupsRead, group: number): boolean => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.columns.equal.at(first) === 1;
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of groups.partsOf(group)) {
    const reward = parts.columns.reward.at(at);
    least = Math.min(least, reward);
    most = Math.max(most, reward);
  }
  return most - least <= rewardTolerance;
};

/** Whether no trajectory of a group has a turn that was sampled, where those of other groups do: what all of them lack is said once. */
export const hasNoChoice = ({ found: { parts, picture }, groups }: GroupsRead, group: number): boolean =>
  picture.sampled.choices > 0 &&
  groups.partsOf(group).every((at) => (parts.columns.training.at(at) & withChoice) === 0);

/** The newest policy version of a group; NaN where it names none. */
const versionOf = ({ found: { parts }, groups }: GroupsRead, group: number): number => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.columns.version.at(first);
  let version = Number.NaN;
  for (const at of groups.partsOf(group)) {
    const own = parts.columns.version.at(at);
    if (!(own <= version)) version = Number.isNaN(own) ? version : own;
  }
  return version;
};

/** Reports groups that a line may belong to which can't be read: they are not valid, since they may not be whole. */
export const reportInDoubt = async (whole: GroupsRead, byKey: boolean): Promise<void> => {
  const { found, groups, sources } = whole;
  const { parts } = found;
  if (!parts.has("unreadable")) return;
  const doubtful = groupsInDoubt(parts.count, {
    mayBeApart: byKey,
    standingAt: (at) => ({
      scope: byKey ? 0 : parts.columns.source.at(at),
      group: groups.isKeyed(groups.groupOf(at)) ? groups.groupOf(at) : undefined,
      isUnknown: parts.kindOf(at) === "unreadable",
    }),
  });
  for (const [group, at] of doubtful) {
    const { source, line } = parts.at(at);
    const place = sources.length === 1 ? `line ${line}` : `line ${line} of ${sources[source]?.name ?? "the input"}`;
    await reportOfGroup(whole, "group-in-doubt", { data: { place }, group });
  }
};

/** Rewards that a file must have before one of them can be far outside the others. */
const fewestRewards = 10;

/** How many times the usual distance from the median is far outside. */
const farOutside = 30;

/** Share of the rewards that can be far outside: more of them are no exception. */
const mostOutside = 0.01;

/** Where rewards of a source are far outside the others, and its rewards at both ends. */
export interface Outside {
  readonly median: number;
  /** Distance from the median that is far. */
  readonly distance: number;
  readonly extremes: Extremes;
}

/** What is far outside in a source; nothing where too few rewards say what is usual. */
export const outsideOf = ({ extremes }: Found): readonly Outside[] => {
  const weights = weightsOf(extremes.rewards);
  const total = countOf(weights);
  if (total < fewestRewards) return [];
  const median = quantileOf(weights, 0.5);
  const distances = weights
    .map(({ value, count }) => ({ value: Math.abs(value - median), count }))
    .sort((a, b) => a.value - b.value);
  // Where most rewards are the same, the usual distance is that of the others.
  const others = distances.filter(({ value }) => value > 0);
  const distance = (quantileOf(distances, 0.5) || quantileOf(others, 0.5)) * farOutside;
  const outside = countOf(others.filter(({ value }) => value > distance));
  if (outside === 0 || outside > total * mostOutside + 1) return [];
  return [{ median, distance, extremes }];
};

/** Reports rewards that are far outside. */
const reportOutliers = async (whole: GroupsRead, { median, distance, extremes }: Outside): Promise<void> => {
  const { found, groups } = whole;
  const { smallest, largest } = extremes;
  for (const { reward, part, trajectory } of [...smallest, ...largest]) {
    const group = groups.groupOf(part);
    if (Math.abs(reward - median) <= distance || !groups.isValid(group)) continue;
    const path = found.parts.kindOf(part) === "group" ? ["trajectories", trajectory, "reward"] : ["reward"];
    await reportOfGroup(whole, "reward-outlier", { data: { reward, median }, group, part, path });
  }
};

/** A distribution: values in their order, and how often each came. */
interface Distribution {
  readonly count: number;
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  readonly spread: number;
  readonly median: number;
  readonly weights: readonly Weight[];
}

const distributionOf = (sketch: Sketch): Distribution => {
  const weights = weightsOf(sketch);
  const { count, least, most, mean } = sketch;
  return { count, least, most, mean, spread: spreadOf(sketch), median: medianOf(weights), weights };
};

/** Distributions of rewards, lengths and metrics over the trajectories read, and the groups whose rewards differ. */
export const drawnOf = (reading: GroupsRead) => {
  const { groups, found } = reading;
  const { rewards, turns, characters, metrics, sampled } = found.picture;
  const counts = { withSignal: 0, of: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    counts.of++;
    if (groups.trajectoriesOf(group) > 1 && !hasNoSignal(reading, group)) counts.withSignal++;
  }
  return {
    rewards: distributionOf(rewards),
    groups: counts,
    sampled: { ...sampled, of: turns.count },
    lengths: [
      { name: "turns", distribution: distributionOf(turns) },
      { name: "characters", distribution: distributionOf(characters) },
    ],
    metrics: Array.from(metrics, ([name, sketch]) => ({ name, distribution: distributionOf(sketch) })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  };
};
