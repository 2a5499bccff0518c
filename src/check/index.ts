/** Checks records: the rules, and how their problems are judged. */

export { problemOf, type RuleCount } from "./rules/problems.ts";
export type { Inputs } from "./rules/rule.ts";
export {
  type Judgement,
  judgementOf,
  presentRuleName,
  quietMessage,
  type RuleName,
  ruleNames,
  ruleOf,
  rules,
  subjectOf,
  warningRules,
} from "./rules/rules.ts";
export { blotSecrets } from "./rules/secrets.ts";
export type { Sharing } from "./threads.ts";
export { isTrajectory } from "./trajectory.ts";
