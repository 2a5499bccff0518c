/** Lists names of group keys, and finds ambiguous groups. */
import { comparedStepNames, stepHolders } from "../rules/step-columns.ts";

/** The likeliest group key is first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** Keys that divide the prompts of a run, such as its environments. */
export const divisionNames: readonly string[] =
  "environment env env_id env_name domain dataset data_source source task_type category difficulty split".split(" ");

/** A step can be in the same objects as in expressions, where its name has no path. */
export const toKeyPaths = (name: string): readonly (readonly string[])[] => {
  const holders = comparedStepNames.includes(name) ? stepHolders : (["metadata"] as const);
  const steps = name.split(".");
  const dotted = steps.length > 1 ? [steps, ["metadata", ...steps]] : [];
  return [[name], ...holders.map((holder) => [holder, name]), ...dotted];
};

interface Membership {
  /** Records of different file sets cannot share a group. */
  fileSet: number;
  /** Undefined if the record has no group key. */
  group: number | undefined;
  isUnknown: boolean;
}

/**
 * Maps each ambiguous group to the index of the first unknown record that may belong to the group. If the members of
 * groups are adjacent, an unknown record affects only its neighbors. Otherwise, it affects all groups of its file set.
 */
export const findAmbiguousGroups = (memberships: readonly Membership[], needsProof: boolean) => {
  const areApart = !areMembersAdjacent(memberships, needsProof);
  const ambiguous = new Map<number, number>();
  const addAmbiguous = (member: Membership | undefined, unknownAt: number) => {
    if (member?.group === undefined || member.isUnknown || member.fileSet !== memberships[unknownAt]?.fileSet) return;
    if (!ambiguous.has(member.group)) ambiguous.set(member.group, unknownAt);
  };
  const firstUnknowns = new Map<number, number>();
  for (const [at, { fileSet, isUnknown }] of memberships.entries()) {
    if (!isUnknown) continue;
    if (!firstUnknowns.has(fileSet)) firstUnknowns.set(fileSet, at);
    if (!areApart) for (const next of [at - 1, at + 1]) addAmbiguous(memberships[next], at);
  }
  if (areApart) for (const member of memberships) addAmbiguous(member, firstUnknowns.get(member.fileSet) ?? -1);
  return ambiguous;
};

/** True if no group continues after another group. `needsProof` also requires a group with two adjacent records. */
const areMembersAdjacent = (memberships: readonly Membership[], needsProof: boolean) => {
  const seen = new Set<number>();
  let previous: number | undefined;
  let hasAdjacentMembers = false;
  for (const { group, isUnknown } of memberships) {
    if (isUnknown) continue;
    if (group !== undefined && group === previous) hasAdjacentMembers = true;
    else if (group !== undefined && seen.has(group)) return false;
    if (group !== undefined) seen.add(group);
    previous = group;
  }
  return hasAdjacentMembers || !needsProof;
};
