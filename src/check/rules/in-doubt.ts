/** Which groups something may belong to that can't be read: without it they may not be whole. */

/** What stands at a position of the input. */
interface Standing {
  /** Groups have all their members in one of these. */
  readonly scope: number;
  /** The group that it is a member of; undefined if it is a group by itself. */
  readonly group: number | undefined;
  /** Whether nobody knows its group. */
  readonly isUnknown: boolean;
}

/**
 * The groups in doubt, each with the position of what may belong to it: the groups beside that where members of a group
 * stand side by side, else all of its scope.
 *
 * @param mayBeApart whether members of a group may stand apart: that none do is taken from groups of several, where there are some
 */
export const groupsInDoubt = (
  count: number,
  { standingAt, mayBeApart }: { readonly standingAt: (position: number) => Standing; readonly mayBeApart: boolean },
): ReadonlyMap<number, number> => {
  const standings = Array.from({ length: count }, (_, at) => standingAt(at));
  const runs = unknownRuns(standings);
  const doubtful = new Map<number, number>();
  const doubt = (group: number | undefined, by: number): void => {
    if (group !== undefined && !doubtful.has(group)) doubtful.set(group, by);
  };
  const { isMixed, haveSeveral } = orderOf(standings);
  if (isMixed || (mayBeApart && !haveSeveral)) {
    const firsts = new Map<number, number>();
    for (const { start, end } of runs.toReversed())
      for (let at = end - 1; at >= start; at--) firsts.set(standings[at]?.scope ?? 0, at);
    for (const { scope, group, isUnknown } of standings) {
      const first = firsts.get(scope);
      if (first !== undefined && !isUnknown) doubt(group, first);
    }
  } else {
    for (const { start, end } of runs) {
      const [before, behind] = [standings[start - 1], standings[end]];
      if (before?.scope === standings[start]?.scope) doubt(before?.group, start);
      if (behind?.scope === standings[end - 1]?.scope) doubt(behind?.group, end - 1);
    }
  }
  return doubtful;
};

/** Runs of positions of which nobody knows the group. */
const unknownRuns = (standings: readonly Standing[]): readonly { readonly start: number; readonly end: number }[] => {
  const runs: { readonly start: number; end: number }[] = [];
  for (const [at, { isUnknown }] of standings.entries()) {
    const last = runs.at(-1);
    if (!isUnknown) continue;
    if (last?.end === at) last.end++;
    else runs.push({ start: at, end: at + 1 });
  }
  return runs;
};

/** Whether a group goes on behind another one, and whether any has two members side by side. */
const orderOf = (standings: readonly Standing[]): { readonly isMixed: boolean; readonly haveSeveral: boolean } => {
  const ended = new Set<number>();
  let open: number | undefined;
  let isMixed = false;
  let haveSeveral = false;
  for (const { group, isUnknown } of standings) {
    if (isUnknown) continue;
    if (group === open) {
      haveSeveral ||= group !== undefined;
      continue;
    }
    if (group !== undefined && ended.has(group)) isMixed = true;
    if (open !== undefined) ended.add(open);
    open = group;
  }
  return { isMixed, haveSeveral };
};
