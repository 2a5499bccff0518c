/** Describes problems by rules, with their positions, and hides secrets. */

export { redactSecrets } from "./known-secrets.ts";
export { createProblem, type RuleCount } from "./problems.ts";
export type { ExampleInputs } from "./rule.ts";
export * from "./rules.ts";
