/** Checks records against rules. */
export { findGroupKey } from "./group-key.ts";
export { createProblem, type RuleCount } from "./rules/problems.ts";
export type { ExampleInputs } from "./rules/rule.ts";
export {
  getRule,
  getRuleSubject,
  parseStrictness,
  presentRuleName,
  type RuleName,
  redactMessage,
  ruleNames,
  rules,
  type Strictness,
  warningRules,
} from "./rules/rules.ts";
export { redactSecrets } from "./rules/secrets.ts";
export { isTrajectory } from "./trajectory.ts";
