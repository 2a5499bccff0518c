/** Reports what only the whole input shows, from columns and sketches: groups without signal, versions that lag. */

import type { RuleData, RuleName } from "../rules/rules.ts";
import { rewardTolerance } from "./metrics/constants.ts";
import { type Outside, reportOutliers } from "./outliers.ts";
import { reportTwice } from "./twice.ts";
import { type GroupsRead, spotOf } from "./whole.ts";

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
  for (let group = 0; group < groups.count; group++) {
    if (groups.isValid(group) && isUnusual(whole, group)) await reportGroup(whole, group);
  }
  await reportAmong(whole, among);
};

/** Whether there is something to report of a group: hardly ever, so that a million others are not waited for. */
const isUnusual = (whole: GroupsRead, group: number): boolean => {
  const trajectories = whole.groups.trajectoriesOf(group);
  return trajectories === 1 || hasNoSignal(whole, group);
};

/** Reports what is wrong with one group. */
export const reportGroup = async (whole: GroupsRead, group: number): Promise<void> => {
  const trajectories = whole.groups.trajectoriesOf(group);
  if (trajectories === 1) await report(whole, group, "group-of-one", undefined);
  else if (hasNoSignal(whole, group)) await report(whole, group, "group-no-signal", { trajectories });
};

/** Reports what is wrong with groups beside the others. @throws the signal's reason */
export const reportAmong = async (whole: GroupsRead, { outside, signal }: Among): Promise<void> => {
  await reportLags(whole);
  for (const far of outside) await reportOutliers(whole, far);
  await reportTwice(whole, signal);
};

const reportLags = async (whole: GroupsRead): Promise<void> => {
  const {
    found: { parts },
    groups,
  } = whole;
  if (!parts.nameVersions) return;
  let newest = { source: -1, version: Number.NEGATIVE_INFINITY, line: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const first = groups.firstOf(group);
    const source = parts.sourceOf(first);
    const version = versionOf(whole, group);
    if (source !== newest.source) newest = { source, version: Number.NEGATIVE_INFINITY, line: 0 };
    if (version < newest.version) {
      await report(whole, group, "policy-lags", { version, newest: newest.version, line: newest.line });
    } else if (version > newest.version) {
      newest = { source, version, line: parts.at(first).line };
    }
  }
};

/** Whether the rewards of a group are all equal. */
export const hasNoSignal = ({ found: { parts }, groups }: GroupsRead, group: number): boolean => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.isEqual(first);
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of groups.partsOf(group)) {
    const reward = parts.rewardOf(at);
    least = Math.min(least, reward);
    most = Math.max(most, reward);
  }
  return most - least <= rewardTolerance;
};

/** The newest policy version of a group; NaN where it names none. */
const versionOf = ({ found: { parts }, groups }: GroupsRead, group: number): number => {
  const first = groups.firstOf(group);
  if (parts.kindOf(first) === "group") return parts.versionOf(first);
  let version = Number.NaN;
  for (const at of groups.partsOf(group)) {
    const own = parts.versionOf(at);
    if (!(own <= version)) version = Number.isNaN(own) ? version : own;
  }
  return version;
};

const report = async <Name extends RuleName>(
  whole: GroupsRead,
  group: number,
  rule: Name,
  data: RuleData<Name>,
): Promise<void> => {
  const { found, groups } = whole;
  const spot = found.problems.isKept(rule) ? await spotOf(whole, groups.firstOf(group), []) : {};
  if (found.problems.report(rule, data, () => spot) === "error") groups.reject(group);
};
