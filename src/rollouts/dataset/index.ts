/** Reads groups, and finds their metrics, bytes, positions and problems. */
import type { TrainingRows } from "./training-rows.ts";

export { Digests, DigestTable, NumberColumn } from "../index/column.ts";
export { reportMismatches } from "../index/contradictions.ts";
export { assignDedupKeys, DedupKeys, dedupKeyBytes } from "../index/dedup-keys.ts";
export { Groups, groupClosing, groupOpening } from "../index/groups.ts";
export { createScanResult, type ScanResult } from "../index/scan-result.ts";
export { computeMoments, findBounds, meanOfFinite } from "../index/sums.ts";
export {
  closeSources,
  combineModes,
  findDecompressor,
  findFormatError,
  isRemote,
  openTail,
  plainUrl,
  readBlocks,
  ShrunkSourceError,
  type Source,
  type Tail,
} from "../input/index.ts";
export { toFilePath } from "../rules/positions.ts";
export { type CheckResult, composeCheckResult, toDatasetFacts } from "./check-result.ts";
export { collectContents, hasOtherContent } from "./contents.ts";
export {
  hasNoSampledTurn,
  hasZeroVariance,
  openGroupReporter,
  reportDatasetProblems,
} from "./dataset-problems.ts";
export { type AssemblyOptions, GroupAssembler } from "./group-assembler.ts";
export {
  listParts,
  maxGapBytes,
  ReadWindow,
  readGroupLines,
  readGroupStart,
  readGroupTrajectories,
  readPartValue,
  requireUnchanged,
  type SourceTrajectory,
} from "./group-bytes.ts";
export { collectDistributions, type Distributions, finalizeGroup, subtractFromMetrics } from "./group-metrics.ts";
export {
  findProblemSubject,
  type GroupPart,
  getFirstFile,
  getPart,
  locateGroup,
  locatePart,
  locateTrajectory,
  locateValue,
} from "./locate.ts";
export { formatBrokenRules } from "./missing-features.ts";
export {
  openRowReader,
  readFailedKey,
  readPromptAndKey,
  readPromptAndKeyAt,
  type TrajectoryPosition,
} from "./prompt-text.ts";
export { countUnreadable, type Dataset, type ReadOptions, readDataset, readSources } from "./read-dataset.ts";
export { Breaks } from "./select/breaks.ts";
export type { SearchQuery } from "./select/search-groups.ts";
export type { Selection } from "./select/select-groups.ts";
export { reportSplitLeaks } from "./split-leaks.ts";
export type { TrainingRows } from "./training-rows.ts";

export const checkFilter = async (text: string): Promise<void> =>
  void (await import("../index/expression.ts")).parseFilter(text);

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups: typeof import("./select/search-groups.ts").searchGroups = async (...args) =>
  await (await import("./select/search-groups.ts")).searchGroups(...args);

export const openTrainingRows = async (to: TrainingRows["to"]) =>
  new (await import("./training-rows.ts")).TrainingRows(to);

/** `close` of the result closes the given dataset. @throws as `searchGroups` */
export const selectDataset: typeof import("./select/selected-dataset.ts").selectDataset = async (...args) =>
  await (await import("./select/selected-dataset.ts")).selectDataset(...args);
export { Scan } from "./scan.ts";
