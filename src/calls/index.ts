/** Traced calls as values: which are meant, what they come to, and what they can be turned into. */
export { headWithoutContent, omittedKey, withoutContent } from "./content.ts";
export {
  type CallState,
  type Cost,
  costsOf,
  isGoingOn,
  microsecondsOf,
  modelsOf,
  nameOf,
  operationOf,
  saidStatus,
  stateOf,
  totalCost,
  type Usage,
  usagesOf,
} from "./facts.ts";
export { readHead } from "./head.ts";
export { idsOfLines } from "./ids.ts";
export { inOrder } from "./order.ts";
export { type CallPath, type Found, findPath, formatPath, parsePath } from "./path.ts";
export { type CallCount, type CallGroup, type CallSummarizer, type CallSummary, openSummary } from "./summary.ts";
export { type Converted, idOf, messagesOf, type RewardFrom, trajectoryOf } from "./trajectory.ts";
export { openWaiting, type Waiting } from "./wait.ts";
