/** Traced calls as values: facts, summaries, conversations and conversions. */

export {
  composeObject,
  type Media,
  omitMembers,
  type Part,
  readInputs,
  readOutput,
  type Turn,
  toTurns,
} from "./conversation.ts";
export {
  type ConversionResult,
  type RewardSource,
  toMessages,
  toTrajectory,
} from "./convert.ts";
export {
  addCosts,
  type Cost,
  findCallName,
  findDurationMicros,
  findModels,
  findOperation,
  findState,
  isRunning,
  omitContent,
  omitContentKeepFacts,
  omittedKey,
  readCost,
  readCosts,
  readStatus,
  readUsages,
} from "./facts.ts";
export { type CallPath, findPath, formatPath, parsePath } from "./path.ts";
export {
  deferRejection,
  openPolling,
  parseCallIds,
  runInOrder,
} from "./read-calls.ts";
export { type CallCount, type CallGroup, type CallSummary, countTokens, openSummary } from "./summary.ts";
