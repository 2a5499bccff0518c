/** Finds copies of rollouts, and keeps the newest copy of each rollout. */

import { listByKey } from "../../text/lists.ts";
import type { Path } from "../rules/positions.ts";
import type { Converter, Format } from "./format.ts";
import type { Receipt } from "./receipt.ts";
import * as records from "./source-records.ts";
import { areTurns, resolveId } from "./turn-rows.ts";
import type { ConvertedGroup, DroppedCopy, WrittenRollout } from "./written-rollout.ts";

interface GroupedRollout {
  group: ConvertedGroup;
  rollout: WrittenRollout;
}

/** Keeps one rollout at the position of its first copy. Groups with copies of one rollout become one group. */
export const dropCopies = (groups: readonly ConvertedGroup[]): readonly DroppedCopy[] => {
  const repeated = findCopies(groups);
  if (repeated.length === 0) return [];
  const newest = new Map<WrittenRollout, GroupedRollout>();
  const joined = openJoinedGroups();
  const convertible = repeated.filter((copies) => copies.some(({ rollout }) => !rollout.isBroken));
  const replaceable = new Set(convertible.flat().map(({ rollout }) => rollout));
  const broken = new Set(
    groups.filter((group) => group.isBroken || group.rollouts.some((one) => one.isBroken && !replaceable.has(one))),
  );
  for (const copies of repeated) {
    const kept = copies.reduce((best, next) => (isBetter(next, best, broken) ? next : best));
    for (const { rollout, group } of copies) {
      newest.set(rollout, kept);
      // A broken group stays alone, so that it breaks no complete group.
      if (!broken.has(group) && !broken.has(kept.group)) joined.join(group, kept.group);
    }
  }
  moveRollouts(groups, newest, joined.rootOf);
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

interface CopyOptions {
  format: Format;
  converter: Converter;
  receipt: Receipt;
}

/** Converts the records of the copies again, because their values were counted as converted. */
export const leaveOutCopies = async (copies: readonly DroppedCopy[], { format, converter, receipt }: CopyOptions) => {
  const rollouts = copies.map(({ copy }) => copy);
  for (const ofRecord of listByKey(rollouts, ({ file, record }) => `${record} ${file.position}`).values()) {
    const [first] = ofRecord;
    const raw = await first?.file.records.reread(first.record);
    const record = first && raw && records.parseRecord(format, raw, first);
    const positions = new Set(ofRecord.map(({ position }) => position));
    if (record) receipt.removeCopies(record, () => records.convertRecord(converter, record) ?? [], positions);
  }
};

/** The path of a rollout in its line. */
export const pathInGroup = ({ rollouts }: ConvertedGroup, rollout: WrittenRollout): Path => {
  const isException = rollout.length === 0;
  const alike = rollouts.filter(({ length }) => (length === 0) === isException);
  return [isException ? "exceptions" : "trajectories", alike.indexOf(rollout)];
};

const findCopies = (groups: readonly ConvertedGroup[]) => {
  const identified: (GroupedRollout & { id: string })[] = [];
  for (const group of groups)
    for (const rollout of group.rollouts) {
      const id = resolveId(rollout.id);
      if (id !== undefined) identified.push({ group, rollout, id });
    }
  return [...listByKey(identified, ({ id }) => id).values()].filter(({ length }) => length > 1);
};

/** Prefers a copy that can be converted, then the newest by time, then the one that was read last. */
const isBetter = (a: GroupedRollout, b: GroupedRollout, broken: ReadonlySet<ConvertedGroup>) => {
  const isLonger = (a.rollout.changedAt ?? 0) - (b.rollout.changedAt ?? 0);
  // Without the last turn, a rollout is incomplete.
  if (isLonger !== 0 && areTurns(a.rollout.id)) return isLonger > 0;
  if (a.rollout.isBroken !== b.rollout.isBroken) return b.rollout.isBroken === true;
  if (broken.has(a.group) !== broken.has(b.group)) return broken.has(b.group);
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
