/** What tells groups: names of their keys, and what may belong to one and can't be read, so that it may not be whole. */

/** Names that a key of a group has, the surest first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** What is at a position of the input. */
interface Membership {
  /** Groups have all their members in one of these. */
  readonly scope: number;
  /** The group that it is a member of; undefined if it is a group alone. */
  readonly group: number | undefined;
  /** True if nobody knows its group. */
  readonly isUnknown: boolean;
}

/**
 * The groups in doubt, each with the position of what may belong to it: the groups next to that if members of a group are
 * adjacent, else all of its scope.
 * @param mayBeApart true if members of a group may be apart, unless groups of several show that they are adjacent
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

/** True if no group continues after another one, and, if that is `needed`, any has two members side by side. */
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
