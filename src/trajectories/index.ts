/** Bytes on disk → requests, and back from a refusal to a line. */
export { reportAgainst } from "./against.ts";
export { type DeliverOptions, deliverReading, type StopOrSkip } from "./deliver.ts";
export { drawnOf } from "./drawn.ts";
export { type FollowEvent, type FollowOptions, followFile } from "./follow.ts";
export { type Judgement, judgementOf, warningRules } from "./judgement.ts";
export type { Entry, EntryFilter, EntryState, Ledger } from "./ledger.ts";
export { planRequests } from "./plan.ts";
export { isWhole, problemOf } from "./problems.ts";
export { quietMessage } from "./quiet.ts";
export { invalidInput, type Reading, type ReadOptions, readTrajectories } from "./read.ts";
export { type Recorded, recordedTrajectories } from "./recorded.ts";
export { type CheckResult, type Counts, checkResult, type LogResult, unreadResult } from "./result.ts";
export { type RuleData, type RuleName, rules } from "./rules.ts";
export type { SendProgress } from "./send-progress.ts";
export type { Sharing } from "./sharing.ts";
export { problemsToShow, type Shown } from "./shown.ts";
export { type Standing, standingOf } from "./standing.ts";
export type { OnUnknown } from "./trial.ts";

/** The door of looking at a ledger. */
export const ledgerHealthDoor = () => import("./ledger-health.ts");

/** The ledger's own door: what opens its file is loaded when it is opened, and not where only lines are checked. */
export const ledgerDoor = () => import("./ledger.ts");
