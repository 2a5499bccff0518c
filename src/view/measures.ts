/** Measures groups in the background, for the table and the charts. */
import { computeMoments, hasNoSampledTurn, hasZeroVariance, type IndexedGroups, readRewards } from "../groups/index.ts";
import type { UntrainableReason } from "./answers.ts";

/** Columns with a number for each group; NaN if it is not measured yet or has no value. */
export type Measures = ReturnType<typeof createMeasures>;

export const createMeasures = (read: IndexedGroups) => {
  const { groups } = read;
  const { count } = groups;
  const [mean, spread] = [new Float64Array(count).fill(Number.NaN), new Float64Array(count).fill(Number.NaN)];
  const firstTrajectories = new Float64Array(count + 1);
  for (let group = 0; group < count; group++) {
    firstTrajectories[group + 1] = (firstTrajectories[group] ?? 0) + groups.trajectoriesOf(group);
  }
  const rewards = new Float64Array(firstTrajectories[count] ?? 0).fill(Number.NaN);
  const rewardsOf = (group: number) => rewards.subarray(firstTrajectories[group] ?? 0, firstTrajectories[group + 1]);
  let done = 0;
  return {
    count,
    mean,
    spread,
    rewards,
    rewardsOf,
    done: (): number => done,
    /** Measures the groups. @throws Failure `input-changed`; the signal's reason */
    async measure(signal: AbortSignal): Promise<void> {
      for await (const { group, rewards: found } of readRewards(read, signal)) {
        done = group + 1;
        const own = rewardsOf(group);
        own.set(found.slice(0, own.length));
        if (!found.every(Number.isFinite) || found.length === 0) continue;
        const moments = computeMoments(found);
        mean[group] = moments.mean;
        spread[group] = moments.deviation;
      }
      done = count;
    },
  };
};

export const findUntrainableReason = (read: IndexedGroups, group: number): UntrainableReason | null => {
  if (!read.groups.isValid(group)) return "invalid";
  const trajectories = read.groups.trajectoriesOf(group);
  if (trajectories === 0) return "no trajectories";
  if (trajectories === 1) return "one trajectory";
  if (hasZeroVariance(read, group)) return "equal rewards";
  return hasNoSampledTurn(read, group) ? "no sampled turn" : null;
};
