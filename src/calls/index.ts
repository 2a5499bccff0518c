/** Traced calls as values: which are meant, what they come to, and what they can be turned into. */

export {
  conversationOf,
  inputsOf,
  type Media,
  objectOf,
  outputOf,
  type Part,
  type Turn,
  without,
} from "./conversation.ts";
export {
  type Cost,
  costIn,
  costsOf,
  factsWithoutContent,
  isGoingOn,
  microsecondsOf,
  modelsOf,
  nameOf,
  omittedKey,
  operationOf,
  saidStatus,
  stateOf,
  totalCost,
  usagesOf,
  withoutContent,
} from "./facts.ts";
export { type CallPath, type Found, findPath, formatPath, parsePath } from "./path.ts";
export { idsOfLines, inOrder, openWaiting, quietly } from "./reading.ts";
export { type CallCount, type CallGroup, type CallSummary, openSummary, tokensIn } from "./summary.ts";
export { type Converted, messagesOf, type RewardFrom, trajectoryOf } from "./trajectory.ts";
