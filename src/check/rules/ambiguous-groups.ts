/** Finds the groups that an unreadable record may belong to. */

/** Most certain first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

export const toKeyPaths = (name: string): readonly (readonly string[])[] => {
  const steps = name.split(".");
  const dotted = steps.length > 1 ? [steps, ["metadata", ...steps]] : [];
  return [[name], ["metadata", name], ...dotted];
};

interface Membership {
  /** The files that can share a group with the record. */
  fileSet: number;
  /** Undefined for a record that is a whole group. */
  group: number | undefined;
  isUnknown: boolean;
}

/**
 * Returns the groups that records of unknown groups may belong to, each with the position of its first such record. If
 * the members of each group are adjacent, a record may belong to its neighbors, else to all groups of its files.
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

/** False if a group continues after another group or, with `needsProof`, if no group has adjacent members. */
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
