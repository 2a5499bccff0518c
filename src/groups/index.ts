/** Groups of trajectories: the index of what was read, metrics, bytes and positions of groups, and choices of them. */

import type { Dataset } from "./read-dataset.ts";
import type { SelectOptions } from "./select/selected-dataset.ts";

export {
  findRewardOutliers as outsideOf,
  hasNoSampledTurn as hasNoChoice,
  hasZeroVariance as hasNoSignal,
  openGroupReporter as groupReporter,
  reportDatasetProblems as reportAmong,
  reportSplitLeaks as reportAgainst,
} from "./dataset-problems.ts";
export { assignDedupKeys, DedupKeys, dedupKeyBytes } from "./dedup-keys.ts";
export {
  type AssemblyOptions as GrowingOptions,
  type GroupAssembler as GrowingGroups,
  openGroupAssembler as openGrowingGroups,
} from "./group-assembler.ts";
export {
  type GroupPart,
  listParts as partsOf,
  parseRewards as rewardsIn,
  ReadWindow as Window,
  readGroupLines as groupLines,
  readGroupStart as beginningOf,
  readGroupTrajectories as trajectoriesOf,
  readPartValue as partValue,
  readValidParts as validParts,
  requireUnchanged as unchanged,
  type SourceTrajectory as TrajectoryLooked,
} from "./group-bytes.ts";
export {
  collectDistributions as drawnOf,
  finalizeGroup as closeGroup,
  subtractFromMetrics as takeBackGroups,
} from "./group-metrics.ts";
export { computeMoments as momentsOf } from "./metrics/sums.ts";
export { Column, Digests, DigestTable } from "./parts/column.ts";
export { Groups, groupClosing, groupOpening } from "./parts/groups.ts";
export { newScanResult as nothingFound, type ScanResult as Found } from "./parts/scan-result.ts";
export {
  findProblemSubject as aboutOf,
  getFirstFile as firstFileOf,
  type IndexedGroups as GroupsRead,
  locateGroup as spotOfGroup,
  locateValue as locate,
} from "./positions.ts";
export {
  countUnreadable as unreadableIn,
  type Dataset as Reading,
  type FilteredOut as LeftOutBy,
  type ReadOptions,
  readDataset as readTrajectories,
  readSources,
  toInvalidInputFailure as invalidInput,
} from "./read-dataset.ts";
export type {
  KnownRewards as RewardsKnown,
  SearchQuery as Sought,
  Selection as Choosing,
} from "./select/select-groups.ts";

/** Parses an expression before anything is read. @throws Failure `invalid-filter` */
export const checkWhere = async (text: string): Promise<void> =>
  void (await import("./select/select-groups.ts")).parseFilter(text);

/** Searches the groups of a reading. @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (...asked: Parameters<Search>): Promise<void> =>
  await (await import("./select/select-groups.ts")).searchGroups(...asked);
type Search = typeof import("./select/select-groups.ts").searchGroups;

/**
 * Chooses among the groups of a reading, which is closed with the choice.
 * @throws Failure `invalid-filter`, `input-changed`; the signal's reason
 */
export const chooseOf = async (reading: Dataset, options: SelectOptions): Promise<Dataset> =>
  await (await import("./select/selected-dataset.ts")).selectDataset(reading, options);
