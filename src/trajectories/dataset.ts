/** Reports what only the whole input shows, from columns and sketches: groups without signal, versions that lag. */
import { rewardTolerance } from "./metrics.ts";
import { type Outside, reportOutliers } from "./outliers.ts";
import type { RuleData, RuleName } from "./rules.ts";
import { reportTwice } from "./twice.ts";
import { type GroupsRead, spotOf, type Whole } from "./whole.ts";

/** Reports whatever is wrong with the groups of all inputs as wholes. Where that is an error, the group is not valid. */
export const reportWholes = async (whole: Whole, outside: readonly Outside[]): Promise<void> => {
  const { groups } = whole;
  for (let group = 0; group < groups.count; group++) if (groups.isValid(group)) await reportGroup(whole, group);
  await reportAmong(whole, outside);
};

/** Reports what is wrong with one group. */
export const reportGroup = async (whole: GroupsRead, group: number): Promise<void> => {
  const trajectories = whole.groups.trajectoriesOf(group);
  if (trajectories === 1) await report(whole, group, "group-of-one", undefined);
  else if (hasNoSignal(whole, group)) await report(whole, group, "group-no-signal", { trajectories });
};

/** Reports what is wrong with groups beside the others. */
export const reportAmong = async (whole: Whole, outside: readonly Outside[]): Promise<void> => {
  const { found, groups } = whole;
  let newest = { source: -1, version: Number.NEGATIVE_INFINITY, line: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    const part = found.parts.at(groups.partsOf(group)[0] ?? 0);
    const version = versionOf(whole, group);
    if (part.source !== newest.source) newest = { source: part.source, version: Number.NEGATIVE_INFINITY, line: 0 };
    if (version < newest.version) {
      await report(whole, group, "policy-lags", { version, newest: newest.version, line: newest.line });
    } else if (version > newest.version) {
      newest = { ...newest, version, line: part.line };
    }
  }
  for (const far of outside) await reportOutliers(whole, far);
  await reportTwice(whole);
};

/** Whether the rewards of a group are all equal. */
export const hasNoSignal = ({ found: { parts }, groups }: GroupsRead, group: number): boolean => {
  const first = parts.at(groups.partsOf(group)[0] ?? 0);
  if (first.kind === "group") return first.equal;
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of groups.partsOf(group)) {
    const { reward } = parts.at(at);
    least = Math.min(least, reward);
    most = Math.max(most, reward);
  }
  return most - least <= rewardTolerance;
};

/** The newest policy version of a group; NaN where it names none. */
const versionOf = ({ found: { parts }, groups }: Whole, group: number): number => {
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
  const position = groups.partsOf(group)[0] ?? 0;
  const spot = found.problems.isKept(rule) ? await spotOf(whole, position, []) : {};
  if (found.problems.report(rule, data, () => spot) === "error") groups.reject(group);
};
