/** Checks records: the rules, and how their problems are judged. */

export { type Judgement, judgementOf, warningRules } from "./rules/judgement.ts";
export type { RuleCount } from "./rules/problems.ts";
export type { Inputs } from "./rules/rule.ts";
export { quietMessage, type RuleName, ruleNames, rules, subjectOf } from "./rules/rules.ts";
export type { Sharing } from "./sharing.ts";
export { isTrajectory } from "./types.ts";
