/** Traced calls as values: which are meant, what they come to, and what they can be turned into. */

export {
  composeObject as objectOf,
  type Media,
  omitMembers as without,
  type Part,
  readInputs as inputsOf,
  readOutput as outputOf,
  type Turn,
  toTurns as conversationOf,
} from "./conversation.ts";
export {
  type ConversionResult as Converted,
  type RewardSource as RewardFrom,
  toMessages as messagesOf,
  toTrajectory as trajectoryOf,
} from "./convert.ts";
export {
  addCosts as totalCost,
  type Cost,
  findCallName as nameOf,
  findDurationMicros as microsecondsOf,
  findModels as modelsOf,
  findOperation as operationOf,
  findState as stateOf,
  isRunning as isGoingOn,
  omitContent as withoutContent,
  omitContentKeepFacts as factsWithoutContent,
  omittedKey,
  readCost as costIn,
  readCosts as costsOf,
  readStatus as saidStatus,
  readUsages as usagesOf,
} from "./facts.ts";
export { type CallPath, findPath, formatPath, type PathResult as Found, parsePath } from "./path.ts";
export {
  deferRejection as quietly,
  openPolling as openWaiting,
  parseCallIds as idsOfLines,
  runInOrder as inOrder,
} from "./read-calls.ts";
export { type CallCount, type CallGroup, type CallSummary, countTokens as tokensIn, openSummary } from "./summary.ts";
