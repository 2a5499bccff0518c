/** Traced calls as values: facts, summaries, conversations and conversions. */

export {
  type Media,
  omitMembers,
  type Part,
  readInputs,
  readOutput,
  type Turn,
  toObject,
  toTurns,
} from "./conversation.ts";
export {
  type ConversionObstacle,
  type ConversionResult,
  type RewardSource,
  toMessages,
  toTrajectory,
} from "./convert.ts";
export {
  type Cost,
  callFields,
  findCallName,
  findDurationMicros,
  findModels,
  findOperation,
  findState,
  isRunning,
  listFieldNames,
  omitContent,
  omittedKey,
  readCosts,
  readDollars,
  readStatus,
  readUsages,
  tokenKinds,
} from "./facts.ts";
export { parseCallIds } from "./ids.ts";
export { type CallPath, findPath, formatPath, parsePath } from "./path.ts";
export { type CallGroup, type CallSummary, openSummary } from "./summary.ts";
