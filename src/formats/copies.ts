/** Finds copies of rollouts, and keeps the newest copy of each rollout. */
import type { Path } from "../check/rules/positions.ts";
import type { ConvertedGroup, WrittenRollout } from "./group-lines.ts";

interface GroupedRollout {
  group: ConvertedGroup;
  rollout: WrittenRollout;
}

export interface DroppedCopy {
  copy: WrittenRollout;
  kept: WrittenRollout;
  keptIn: ConvertedGroup;
}

/** Keeps one rollout at the position of its first copy. Groups with copies of one rollout become one group. */
export const dropCopies = (groups: readonly ConvertedGroup[]): readonly DroppedCopy[] => {
  const joined = openJoinedGroups();
  const newest = new Map<WrittenRollout, GroupedRollout>();
  for (const copies of findCopies(groups)) {
    const kept = copies.reduce((best, next) => (isNewer(next, best) ? next : best));
    for (const { group, rollout } of copies) {
      newest.set(rollout, kept);
      // A broken group stays alone, so that it breaks no complete group.
      if (!group.isBroken && !kept.group.isBroken) joined.join(group, kept.group);
    }
  }
  if (newest.size > 0) moveRollouts(groups, newest, joined.rootOf);
  return Array.from(newest, ([copy, { rollout: kept, group }]) => ({
    copy,
    kept,
    keptIn: joined.rootOf(group),
  })).filter(({ copy, kept }) => copy !== kept);
};

const moveRollouts = (
  groups: readonly ConvertedGroup[],
  newest: ReadonlyMap<WrittenRollout, GroupedRollout>,
  rootOf: (group: ConvertedGroup) => ConvertedGroup,
) => {
  const moved = new Set<WrittenRollout>();
  for (const group of groups) {
    const root = rootOf(group);
    for (const rollout of group.rollouts.splice(0)) {
      const kept = newest.get(rollout);
      if (kept && (moved.has(kept.rollout) || rootOf(kept.group) !== root)) continue;
      if (kept) moved.add(kept.rollout);
      root.rollouts.push(kept?.rollout ?? rollout);
    }
  }
};

/** The path of a rollout in its line. */
export const pathInGroup = ({ rollouts }: ConvertedGroup, rollout: WrittenRollout): Path => {
  const isException = rollout.length === 0;
  const alike = rollouts.filter(({ length }) => (length === 0) === isException);
  return [isException ? "exceptions" : "trajectories", alike.indexOf(rollout)];
};

const findCopies = (groups: readonly ConvertedGroup[]): Iterable<readonly GroupedRollout[]> => {
  const seen = new Set<string>();
  const copies = new Map<string, GroupedRollout[]>();
  for (const { rollouts } of groups) {
    for (const { id } of rollouts) {
      if (id === undefined) continue;
      if (seen.has(id)) copies.set(id, []);
      seen.add(id);
    }
  }
  for (const group of copies.size === 0 ? [] : groups)
    for (const rollout of group.rollouts) copies.get(rollout.id ?? "")?.push({ group, rollout });
  return copies.values();
};

/** Without two different times, the copy that was read later is newer. */
const isNewer = (a: GroupedRollout, b: GroupedRollout) => {
  if (a.group.isBroken !== b.group.isBroken) return b.group.isBroken;
  const [time, otherTime] = [a.rollout.changedAt ?? Number.NaN, b.rollout.changedAt ?? Number.NaN];
  if (time < otherTime || time > otherTime) return time > otherTime;
  const order = (key: (rollout: WrittenRollout) => number) => key(a.rollout) - key(b.rollout);
  return (order(({ file }) => file.position) || order(({ record }) => record) || order((one) => one.position)) > 0;
};

const openJoinedGroups = () => {
  const parents = new Map<ConvertedGroup, ConvertedGroup>();
  const rootOf = (group: ConvertedGroup): ConvertedGroup => {
    const parent = parents.get(group);
    if (!parent) return group;
    const root = rootOf(parent);
    parents.set(group, root);
    return root;
  };
  return {
    rootOf,
    join(a: ConvertedGroup, b: ConvertedGroup) {
      const [first, second] = [rootOf(a), rootOf(b)].sort((one, other) => one.position - other.position);
      if (first && second && first !== second) parents.set(second, first);
    },
  };
};
