/** Bytes on disk → requests, and back from a refusal to a line. */

export { quietMessage } from "./explain/quiet.ts";
export { problemsToShow, type Shown } from "./explain/shown.ts";
export { type FollowEvent, type FollowOptions, followFile } from "./follow/follow.ts";
export type { Entry, EntryFilter, EntryState, Ledger } from "./ledger/ledger.ts";
export { type Standing, standingOf } from "./ledger/standing.ts";
export { type Judgement, judgementOf, warningRules } from "./problems/judgement.ts";
export { isWhole, problemOf } from "./problems/problems.ts";
export { type RuleData, type RuleName, rules } from "./problems/rules.ts";
export { reportAgainst } from "./read/against.ts";
export { drawnOf } from "./read/drawn.ts";
export { invalidInput, type Reading, type ReadOptions, readTrajectories } from "./read/read.ts";
export { type Recorded, recordedTrajectories } from "./read/recorded.ts";
export type { Sharing } from "./scan/sharing.ts";
export { type DeliverOptions, deliverReading, type StopOrSkip } from "./send/deliver.ts";
export { planRequests } from "./send/plan.ts";
export { type CheckResult, type Counts, checkResult, type LogResult, unreadResult } from "./send/result.ts";
export type { SendProgress } from "./send/send-progress.ts";
export type { OnUnknown } from "./send/trial.ts";

/** The door of delivering: what opens the ledger is loaded when it is opened, or before, while there is time for it. */
export const sessionDoor = () => import("./ledger/session.ts");

/** The door of looking at a ledger. */
export const ledgerHealthDoor = () => import("./ledger/ledger-health.ts");

/** The ledger's own door: what opens its file is loaded when it is opened, and not where only lines are checked. */
export const ledgerDoor = () => import("./ledger/ledger.ts");
