/** Groups of trajectories: the index of what was read, metrics, bytes and positions of groups, and choices of them. */
import type { ChooseOptions } from "./choose/choose.ts";
import type { Reading } from "./read.ts";

export type { Choosing, RewardsKnown, Sought } from "./choose/select.ts";
export {
  beginningOf,
  type GroupPart,
  groupLines,
  partsOf,
  partValue,
  rewardsIn,
  type TrajectoryLooked,
  trajectoriesOf,
  unchanged,
  validParts,
  Window,
} from "./contents.ts";
export { assignDedupKeys, DedupKeys, dedupKeyBytes } from "./dedup-keys.ts";
export { groupReporter, hasNoChoice, hasNoSignal, outsideOf, reportAgainst, reportAmong } from "./findings.ts";
export { type GrowingGroups, type GrowingOptions, openGrowingGroups } from "./growing.ts";
export { closeGroup, drawnOf, takeBackGroups } from "./measures.ts";
export { momentsOf } from "./metrics/sums.ts";
export { Column, Digests, DigestTable } from "./parts/column.ts";
export { type Found, nothingFound } from "./parts/found.ts";
export { Groups, groupClosing, groupOpening } from "./parts/groups.ts";
export { aboutOf, firstFileOf, type GroupsRead, locate, spotOfGroup } from "./positions.ts";
export {
  invalidInput,
  type LeftOutBy,
  type Reading,
  type ReadOptions,
  readSources,
  readTrajectories,
  unreadableIn,
} from "./read.ts";

/** Parses an expression before anything is read. @throws Failure `where-wrong` */
export const checkWhere = async (text: string): Promise<void> =>
  void (await import("./choose/select.ts")).parseWhere(text);

/** Searches the groups of a reading. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (...asked: Parameters<Search>): Promise<void> =>
  await (await import("./choose/select.ts")).searchGroups(...asked);
type Search = typeof import("./choose/select.ts").searchGroups;

/**
 * Chooses among the groups of a reading, which is closed with the choice.
 * @throws Failure `where-wrong`, `input-changed`; the signal's reason
 */
export const chooseOf = async (reading: Reading, options: ChooseOptions): Promise<Reading> =>
  await (await import("./choose/choose.ts")).chooseOf(reading, options);
