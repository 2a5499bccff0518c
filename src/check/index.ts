/** Checks records: the rules, and how their problems are judged. */

export { createProblem as problemOf, type RuleCount } from "./rules/problems.ts";
export type { ExampleInputs as Inputs } from "./rules/rule.ts";
export {
  getRule as ruleOf,
  getRuleSubject as subjectOf,
  parseStrictness as judgementOf,
  presentRuleName,
  type RuleName,
  redactMessage as quietMessage,
  ruleNames,
  rules,
  type Strictness as Judgement,
  warningRules,
} from "./rules/rules.ts";
export { redactSecrets as blotSecrets } from "./rules/secrets.ts";
export type { ThreadSharing as Sharing } from "./threads.ts";
export { isTrajectory } from "./trajectory.ts";
