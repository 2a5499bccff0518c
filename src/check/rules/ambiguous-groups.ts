/** Names of group keys, and groups that an unreadable record may belong to. */

/** Names of group keys, the most certain first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** The group of a record. */
interface Membership {
  /** Groups do not cross scopes. */
  readonly scope: number;
  /** Undefined for a record that is a group. */
  readonly group: number | undefined;
  /** True for an unreadable record. */
  readonly isUnknown: boolean;
}

/**
 * Finds groups that an unreadable record can belong to, with its position: adjacent groups, or all of its scope.
 * @param mayBeApart true if members of a group can be apart, unless multi-member groups show that they are adjacent
 */
export const findAmbiguousGroups = (
  count: number,
  { standingAt, mayBeApart }: { readonly standingAt: (position: number) => Membership; readonly mayBeApart: boolean },
): ReadonlyMap<number, number> => {
  const standings = Array.from({ length: count }, (_, at) => standingAt(at));
  const areApart = !areMembersAdjacent(standings, mayBeApart);
  const doubtful = new Map<number, number>();
  const doubt = (other: Membership | undefined, by: number): void => {
    if (other?.group === undefined || other.isUnknown || other.scope !== standings[by]?.scope) return;
    if (!doubtful.has(other.group)) doubtful.set(other.group, by);
  };
  const firsts = new Map<number, number>();
  for (const [at, { scope, isUnknown }] of standings.entries()) {
    if (!isUnknown) continue;
    if (!firsts.has(scope)) firsts.set(scope, at);
    if (!areApart) for (const next of [at - 1, at + 1]) doubt(standings[next], at);
  }
  for (const one of areApart ? standings : []) doubt(one, firsts.get(one.scope) ?? -1);
  return doubtful;
};

/** True if no group continues after another one and, if `needed`, one has two adjacent members. */
const areMembersAdjacent = (standings: readonly Membership[], needed: boolean): boolean => {
  const seen = new Set<number>();
  let last: number | undefined;
  let haveSeveral = false;
  for (const { group, isUnknown } of standings) {
    if (isUnknown) continue;
    if (group !== undefined && group === last) haveSeveral = true;
    else if (group !== undefined && seen.has(group)) return false;
    if (group !== undefined) seen.add(group);
    last = group;
  }
  return haveSeveral || !needed;
};
