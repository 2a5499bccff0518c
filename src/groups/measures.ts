/** The metrics of groups as wholes: added with the last trajectory, taken back if a group is invalid or refused. */
import { inputChanged } from "../input/index.ts";
import { checkAgain, partsOf, rangeOf } from "./contents.ts";
import { hasNoSignal } from "./findings.ts";
import { medianOf, newSketch, spreadOf, weightsOf } from "./metrics/sketch.ts";
import type { GroupsRead } from "./positions.ts";

/** Adds the facts about groups as wholes, and takes back invalid trajectories. @throws Failure `input-changed` */
export const closeGroups = async (read: GroupsRead): Promise<void> => {
  const { groups } = read;
  for (let group = 0; group < groups.count; group++) {
    // A valid group on a line was closed when it was read.
    if (!groups.isValid(group) || groups.isBare(group)) await closeGroup(read, group);
  }
};

export const closeGroup = async (read: GroupsRead, group: number): Promise<void> => {
  if (read.groups.isValid(group)) closeBare(read, group, 1);
  else await subtractParts(read, group);
};

/** Takes groups back that are part of the metrics, and that the service refused. @throws Failure `input-changed` */
export const takeBackGroups = async (read: GroupsRead, refused: readonly number[]): Promise<void> => {
  for (const group of refused) {
    await subtractParts(read, group);
    closeBare(read, group, -1);
  }
};

/** Closes a group whose trajectories are parts of their own, or opens it again. */
const closeBare = ({ found, groups }: GroupsRead, group: number, sign: 1 | -1): void => {
  if (groups.isBare(group)) found.tally.closeGroup({ rewards: groups.rewardsOf(group), exceptions: 0 }, sign);
};

/** Takes back what the valid parts of a group added when they were read. */
const subtractParts = async (read: GroupsRead, group: number): Promise<void> => {
  for (const { source, part } of partsOf(read, group)) {
    if (!part.valid) continue;
    const again = checkAgain(await rangeOf(source, part), read.found);
    if (!again.parts.isValid(0)) throw inputChanged(source.name);
    read.found.tally.subtract(again.tally);
  }
};

/** A distribution: values in their order, and how often each came. */
const distributionOf = (sketch = newSketch()) => {
  const weights = weightsOf(sketch);
  const { count, least, most, mean } = sketch;
  return { count, least, most, mean, spread: spreadOf(sketch), median: medianOf(weights), weights };
};

/** Distributions of rewards, lengths and metrics over the trajectories read, and the groups whose rewards differ. */
export const drawnOf = (read: GroupsRead) => {
  const { groups, found } = read;
  const { reward, turns, characters, byName, sampled } = found.tally;
  const counts = { withSignal: 0, of: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    counts.of++;
    if (groups.trajectoriesOf(group) > 1 && !hasNoSignal(read, group)) counts.withSignal++;
  }
  return {
    rewards: distributionOf(reward.sketch),
    groups: counts,
    sampled: { ...sampled, of: turns.count },
    lengths: [
      { name: "turns", distribution: distributionOf(turns) },
      { name: "characters", distribution: distributionOf(characters) },
    ],
    metrics: [...byName]
      .flatMap(([name, { sketch }]) => (sketch === undefined ? [] : [{ name, distribution: distributionOf(sketch) }]))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
};
