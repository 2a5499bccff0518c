/** Checks records: the rules, and how their problems are judged. */

export { type Judgement, judgementOf, warningRules } from "./rules/judgement.ts";
export { problemOf, type RuleCount } from "./rules/problems.ts";
export type { Example, Inputs } from "./rules/rule.ts";
export { quietMessage, type RuleData, type RuleName, ruleNames, ruleOf, rules, subjectOf } from "./rules/rules.ts";
export { blotSecrets } from "./rules/secrets.ts";
export type { Sharing } from "./sharing.ts";
export { isTrajectory } from "./types.ts";
