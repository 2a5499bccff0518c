/** Reads groups of trajectories, and finds their metrics, bytes, positions and problems. */
import type { Dataset } from "./read-dataset.ts";
import type { SelectOptions } from "./select/selected-dataset.ts";

export {
  hasNoSampledTurn,
  hasZeroVariance,
  openGroupReporter,
  reportDatasetProblems,
  reportSplitLeaks,
} from "./dataset-problems.ts";
export { assignDedupKeys, DedupKeys, dedupKeyBytes } from "./dedup-keys.ts";
export { invalidInput } from "./failures.ts";
export { type AssemblyOptions, type GroupAssembler, openGroupAssembler } from "./group-assembler.ts";
export {
  listParts,
  ReadWindow,
  readGroupLines,
  readGroupStart,
  readGroupTrajectories,
  readPartValue,
  readRewards,
  requireUnchanged,
  type SourceTrajectory,
} from "./group-bytes.ts";
export { collectDistributions, type Distributions, finalizeGroup, subtractFromMetrics } from "./group-metrics.ts";
export { computeMoments, findBounds } from "./metrics/sums.ts";
export { Column, Digests, DigestTable } from "./parts/column.ts";
export { Groups, groupClosing, groupOpening } from "./parts/groups.ts";
export { reportMismatches } from "./parts/requests.ts";
export { newScanResult, type ScanResult } from "./parts/scan-result.ts";
export { findProblemSubject, type GroupPart, getFirstFile, locateGroup, locateValue } from "./positions.ts";
export {
  countUnreadable,
  type Dataset,
  type FilteredOut,
  type ReadOptions,
  readDataset,
  readSources,
} from "./read-dataset.ts";
export type { SearchQuery, Selection } from "./select/select-groups.ts";

export const checkFilter = async (text: string): Promise<void> =>
  void (await import("./select/select-groups.ts")).parseFilter(text);

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (...args: Parameters<Search>): Promise<void> =>
  await (await import("./select/select-groups.ts")).searchGroups(...args);
type Search = typeof import("./select/select-groups.ts").searchGroups;

/** Closing the result closes both datasets. @throws as `searchGroups` */
export const selectDataset = async (dataset: Dataset, options: SelectOptions): Promise<Dataset> =>
  await (await import("./select/selected-dataset.ts")).selectDataset(dataset, options);
