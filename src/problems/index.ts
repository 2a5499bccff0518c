/** Describes problems by rules, with their positions, and hides secrets. */
export { createProblem, type RuleCount } from "./problems.ts";
export type { ExampleInputs } from "./rule.ts";
export * from "./rules.ts";
export { redactSecrets } from "./secrets.ts";
