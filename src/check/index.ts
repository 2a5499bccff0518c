/** Checks one record: types, messages and rules. */
export { type Block, Checker, emptyBlock, keyUses, type ScanOptions } from "./checker.ts";
export { inspectTrajectory, isTrajectory, listCustomKeys } from "./trajectory.ts";
export * from "./trajectory-prompt.ts";
