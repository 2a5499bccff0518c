/** Adds groups to the metrics, and subtracts invalid or refused groups. */

import { median, rangeStep, sketchDeviation, toWeights, weightedValueAt } from "../index/sketch.ts";
import { inputChanged } from "../rules/failures.ts";
import { hasZeroVariance } from "./dataset-problems.ts";
import { listParts, ReadWindow, recheckBytes } from "./group-bytes.ts";
import type { IndexedGroups } from "./locate.ts";

/** @throws Failure `input-changed` */
export const finalizeGroup = async (dataset: IndexedGroups, group: number) => {
  if (dataset.groups.isValid(group)) countBareGroup(dataset, group, 1);
  else await subtractParts(dataset, group);
};

/** @throws Failure `input-changed` */
export const subtractFromMetrics = async (dataset: IndexedGroups, refused: readonly number[]) => {
  for (const group of refused) {
    await subtractParts(dataset, group);
    countBareGroup(dataset, group, -1);
  }
};

const countBareGroup = ({ scan, groups }: IndexedGroups, group: number, sign: 1 | -1) => {
  if (groups.isBare(group)) scan.tally.addGroup({ rewards: groups.rewardsOf(group), exceptions: 0 }, sign);
};

const subtractParts = async (dataset: IndexedGroups, group: number) => {
  const window = new ReadWindow();
  for (const groupPart of listParts(dataset, group)) {
    if (!groupPart.part.valid) continue;
    const rechecked = recheckBytes(await window.readPart(groupPart));
    if (!rechecked.parts.isValid(0)) throw inputChanged(groupPart.source.name);
    dataset.scan.tally.merge(rechecked.tally, -1);
  }
};

export type Distributions = ReturnType<typeof collectDistributions>;

export const collectDistributions = (dataset: IndexedGroups) => {
  const { groups, scan } = dataset;
  const counts = { trainable: 0, total: 0 };
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    counts.total++;
    if (groups.trajectoriesOf(group) > 1 && !hasZeroVariance(dataset, group)) counts.trainable++;
  }
  const { rewards, tally } = scan;
  const { count, min, max, mean } = rewards;
  const weights = toWeights(rewards);
  /** The number of excluded rewards at each end. */
  const excluded = Math.max(1, Math.floor(count / 100));
  const middle = [weightedValueAt(weights, excluded + 1), weightedValueAt(weights, count - excluded)] as const;
  const bounds = { min, max, middle, rangeStep: rangeStep(rewards) };
  return {
    rewards: { count, ...bounds, mean, spread: sketchDeviation(rewards), median: median(weights), weights },
    groups: counts,
    sampled: tally.sampled,
  };
};
