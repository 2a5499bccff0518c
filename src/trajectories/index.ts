/** Bytes on disk → requests, and back from a refusal to a line. */
export { type Judgement, judgementOf, warningRules } from "./judgement.ts";
export { type Plan, type PlannedRequest, planRequests } from "./plan.ts";
export { invalidInput, type Reading, type ReadOptions, readTrajectories } from "./read.ts";
export { type CheckResult, type Counts, checkResult, type LogResult, logResult, unreadResult } from "./result.ts";
export { type Sending, type SendOptions, sendPlan } from "./send.ts";
