/** Stores the outcome of each group in one byte. */
import { type Groups, NumberColumn } from "../dataset/index.ts";

const outcomeNames = ["not_sent", "logged", "already_logged", "rejected", "unknown"] as const;
type GroupOutcome = (typeof outcomeNames)[number];
export type OutcomeCounts = Readonly<Record<GroupOutcome | "read", number>>;

export const zeroCounts = () => ({ read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 });

const toCounts = (sums: Float64Array) => {
  const counts = { ...zeroCounts(), read: sums.reduce((sum, count) => sum + count, 0) };
  for (const [code, outcome] of outcomeNames.entries()) counts[outcome] = sums[code] ?? 0;
  return counts;
};

export type GroupOutcomes = ReturnType<typeof openGroupOutcomes>;

export const openGroupOutcomes = (groups: number) => {
  const codes = new NumberColumn("u8");
  codes.length = groups;
  const outcomeOf = (group: number) => outcomeNames[codes.at(group)] ?? "not_sent";
  const set = (group: number, outcome: GroupOutcome) => codes.set(group, outcomeNames.indexOf(outcome));
  return {
    outcomeOf,
    set,
    extendTo(groups: number) {
      codes.length = Math.max(codes.length, groups);
    },
    setAll(groups: Uint32Array, outcome: GroupOutcome) {
      for (const group of groups) set(group, outcome);
    },
    groupsWith(outcome: GroupOutcome) {
      const code = outcomeNames.indexOf(outcome);
      const groups = new Uint32Array(codes.length);
      let count = 0;
      for (let group = 0; group < codes.length; group++) if (codes.at(group) === code) groups[count++] = group;
      return groups.subarray(0, count);
    },
    countByOutcome(groups: Pick<Groups, "count" | "trajectoriesOf">) {
      const sums = {
        groups: new Float64Array(outcomeNames.length),
        trajectories: new Float64Array(outcomeNames.length),
      };
      for (let group = 0; group < groups.count; group++) {
        const code = codes.at(group);
        sums.groups[code] = (sums.groups[code] ?? 0) + 1;
        sums.trajectories[code] = (sums.trajectories[code] ?? 0) + groups.trajectoriesOf(group);
      }
      return { groups: toCounts(sums.groups), trajectories: toCounts(sums.trajectories) };
    },
  };
};

export const rejectInvalid = ({ groups }: { groups: Groups }) => {
  const outcomes = openGroupOutcomes(groups.count);
  const count = groups.areValidParts ? 0 : groups.count;
  for (let group = 0; group < count; group++) if (!groups.isValid(group)) outcomes.set(group, "rejected");
  return outcomes;
};
