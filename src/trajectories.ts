/** Bytes on disk → requests, and back from a refusal to a line. */

import type { ChooseOptions } from "./groups/choose/choose.ts";
import type { Reading } from "./groups/read.ts";
import { loadLedger } from "./ledger/index.ts";
import type { DeliverOptions } from "./send/deliver.ts";
import type { Followed, FollowOptions } from "./send/follow/follow.ts";
import type { Compression } from "./send/packed.ts";
import type { LogResult } from "./send/result.ts";

export { type Judgement, judgementOf, warningRules } from "./check/rules/judgement.ts";
export type { RuleCount } from "./check/rules/problems.ts";
export type { Inputs } from "./check/rules/rule.ts";
export { quietMessage, type RuleName, ruleNames, rules, subjectOf } from "./check/rules/rules.ts";
export type { Sharing } from "./check/scan/sharing.ts";
export type { Choosing } from "./groups/choose/choose.ts";
export type { Sought } from "./groups/choose/search.ts";
export type { RewardsKnown } from "./groups/choose/seen.ts";
export {
  beginningOf,
  groupLines,
  linesOf,
  rewardsOf,
  singleTrajectories,
  type TrajectoryLooked,
  trajectoriesOf,
} from "./groups/contents.ts";
export { hasNoChoice, hasNoSignal } from "./groups/dataset.ts";
export { reportAgainst } from "./groups/duplicates.ts";
export { drawnOf } from "./groups/measures.ts";
export { momentsOf } from "./groups/metrics/sums.ts";
export { aboutOf, type GroupsRead, spotOfGroup } from "./groups/positions.ts";
export { type Reading, type ReadOptions, readTrajectories } from "./groups/read.ts";
export type { DeliverOptions, StopOrSkip } from "./send/deliver.ts";
export type { FollowOptions } from "./send/follow/follow.ts";
export type { FollowEvent } from "./send/follow/followed-file.ts";
export { planRequests } from "./send/plan.ts";
export { exampleProblem } from "./send/reject/rule-example.ts";
export { problemsToShow, type Shown } from "./send/reject/shown-problems.ts";
export type { SendProgress } from "./send/requests.ts";
export { type CheckResult, checkResult, type LogResult, unreadResult } from "./send/result.ts";
export type { OnUnknown } from "./send/unknown.ts";

/**
 * Delivers what was read. What the network or the service does is in the result.
 * @throws Failure `input-invalid`, `one-request-too-large`, `rejects-…`, `ledger-…`, and all of code `storage`, before anything is sent
 */
export const deliverReading = async (reading: Reading, options: DeliverOptions): Promise<LogResult> =>
  await (await import("./send/deliver.ts")).deliverReading(reading, options);

/**
 * Follows a file until a signal comes, or something stops it. What the network or the service does is in the result.
 * @throws Failure `follow-unfit`, `rejects-…`, `ledger-…`, and all of code `storage`, before anything is sent
 */
export const followFile = async (options: FollowOptions): Promise<Followed> =>
  await (await import("./send/follow/follow.ts")).followFile(options);

/** Looks whether requests can be compressed so. @throws Failure `compression-missing` */
export const checkCompression = async (form: Compression | undefined): Promise<void> => {
  if (form !== undefined) (await import("./send/packed.ts")).openPacker(form).destroy();
};

/** Loads what delivers, and what opens the ledger: before they are used, while there is time for it. */
export const readyDelivery = async (ledger: string | undefined): Promise<void> =>
  void (await Promise.all([import("./send/deliver.ts"), loadLedger(ledger)]));

/** Whether an expression can be read, before anything else is. @throws Failure `where-wrong` */
export const checkWhere = async (text: string): Promise<void> =>
  void (await import("./groups/choose/expression.ts")).parseWhere(text);

/** Searches the groups of a reading. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
export const searchGroups = async (...asked: Parameters<Search>): Promise<void> =>
  await (await import("./groups/choose/search.ts")).searchGroups(...asked);
type Search = typeof import("./groups/choose/search.ts").searchGroups;

/**
 * Reads once more what is wanted of a reading, which is closed with it.
 * @throws Failure `where-wrong`, `spool-failed`, `input-changed`; the signal's reason
 */
export const chooseOf = async (reading: Reading, options: ChooseOptions): Promise<Reading> =>
  await (await import("./groups/choose/choose.ts")).chooseOf(reading, options);

/**
 * Writes what of a reading is not valid to a file of its own, which must not be there, with the reasons beside it; gives
 * the file. @throws Failure `rejects-exist`, `rejects-unwritable`, `option-needs`
 */
export const writeRejected = async (
  reading: Reading,
  options: Pick<DeliverOptions, "rejects" | "redact">,
): Promise<string> => await (await import("./send/deliver.ts")).writeRejected(reading, options);
