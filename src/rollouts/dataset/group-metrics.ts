/** Adds groups to the metrics. */

import { inputChanged } from "../rules/failures.ts";
import { listParts, ReadWindow, recheckBytes } from "./group-bytes.ts";
import type { IndexedGroups } from "./locate.ts";

/** @throws Failure `input-changed` */
export const finalizeGroup = async (dataset: IndexedGroups, group: number) => {
  const { groups, scan } = dataset;
  if (!groups.isValid(group)) await subtractParts(dataset, group);
  else if (groups.isBare(group)) scan.tally.addGroup({ rewards: groups.rewardsOfParts(group), exceptions: 0 });
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
