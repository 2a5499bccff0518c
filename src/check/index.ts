/** Checks records against rules. */
export { findGroupKey } from "./group-key.ts";
export { createProblem, type RuleCount } from "./rules/problems.ts";
export type { ExampleInputs } from "./rules/rule.ts";
export * from "./rules/rules.ts";
export { redactSecrets } from "./rules/secrets.ts";
export { isTrajectory } from "./trajectory.ts";
