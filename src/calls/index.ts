/** Traced calls as values: which are meant, what they come to, and what they can be turned into. */

export { headWithoutContent, omittedKey, withoutContent } from "./content.ts";
export {
  conversationOf,
  inputsOf,
  type Media,
  outputOf,
  type Part,
  type Told,
  type Turn,
  without,
} from "./conversation.ts";
export {
  type Cost,
  costIn,
  costsOf,
  isGoingOn,
  microsecondsOf,
  modelsOf,
  nameOf,
  operationOf,
  readHead,
  saidStatus,
  stateOf,
  totalCost,
  type Usage,
  usagesOf,
} from "./facts.ts";
export { idsOfLines } from "./ids.ts";
export { type CallPath, type Found, findPath, formatPath, parsePath } from "./path.ts";
export { inOrder, openWaiting, quietly, type Waiting } from "./reading.ts";
export { type CallCount, type CallGroup, type CallSummary, openSummary, tokensIn } from "./summary.ts";
export { type Converted, messagesOf, type RewardFrom, trajectoryOf } from "./trajectory.ts";
