/** Bytes on disk → requests, and back from a refusal to a line. */

import type { Reading } from "./groups/index.ts";
import { loadLedger } from "./ledger/index.ts";
import type { DeliverOptions } from "./send/deliver.ts";
import type { Followed, FollowOptions } from "./send/follow/follow.ts";
import type { Compression } from "./send/packed.ts";
import type { LogResult } from "./send/result.ts";

export { type Judgement, judgementOf, warningRules } from "./check/rules/judgement.ts";
export type { RuleCount } from "./check/rules/problems.ts";
export type { Inputs } from "./check/rules/rule.ts";
export { quietMessage, type RuleName, ruleNames, rules, subjectOf } from "./check/rules/rules.ts";
export type { Sharing } from "./check/sharing.ts";
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

/**
 * Writes what of a reading is not valid to a file of its own, which must not be there, with the reasons beside it; gives
 * the file. @throws Failure `rejects-exist`, `rejects-unwritable`, `option-needs`
 */
export const writeRejected = async (
  reading: Reading,
  options: Pick<DeliverOptions, "rejects" | "redact">,
): Promise<string> => await (await import("./send/deliver.ts")).writeRejected(reading, options);
