/** Reads groups, and finds their metrics, bytes, positions and problems. */

export { collectContents, contentBytes, hasOtherContent } from "./contents.ts";
export {
  hasNoSampledTurn,
  hasZeroVariance,
  openGroupReporter,
  reportDatasetProblems,
} from "./dataset-problems.ts";
export { assignDedupKeys, DedupKeys, dedupKeyBytes } from "./dedup-keys.ts";
export { invalidInput } from "./failures.ts";
export { type AssemblyOptions, type GroupAssembler, openGroupAssembler } from "./group-assembler.ts";
export {
  listParts,
  maxGapBytes,
  ReadWindow,
  readGroupLines,
  readGroupRewards,
  readGroupStart,
  readGroupTrajectories,
  readPartValue,
  requireUnchanged,
  type SourceTrajectory,
} from "./group-bytes.ts";
export { collectDistributions, type Distributions, finalizeGroup, subtractFromMetrics } from "./group-metrics.ts";
export { computeMoments, findBounds } from "./metrics/sums.ts";
export { Digests, DigestTable, NumberColumn } from "./parts/column.ts";
export { Groups, groupClosing, groupOpening } from "./parts/groups.ts";
export { reportMismatches } from "./parts/requests.ts";
export { createScanResult, type ScanResult } from "./parts/scan-result.ts";
export { findProblemSubject, type GroupPart, getFirstFile, locateGroup, locateValue } from "./positions.ts";
export { countUnreadable, type Dataset, type ReadOptions, readDataset, readSources } from "./read-dataset.ts";
export type { SearchQuery, Selection } from "./select/select-groups.ts";
export { reportSplitLeaks } from "./split-leaks.ts";

export const checkFilter = async (text: string): Promise<void> =>
  void (await import("./select/expression.ts")).parseFilter(text);

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups: typeof import("./select/select-groups.ts").searchGroups = async (...args) =>
  await (await import("./select/select-groups.ts")).searchGroups(...args);

/** `close` of the result closes the given dataset. @throws as `searchGroups` */
export const selectDataset: typeof import("./select/selected-dataset.ts").selectDataset = async (...args) =>
  await (await import("./select/selected-dataset.ts")).selectDataset(...args);
