/** The rules, and how problems are judged, for whoever shows them. */

export { type Judgement, judgementOf, warningRules } from "./check/rules/judgement.ts";
export type { RuleCount } from "./check/rules/problems.ts";
export type { Inputs } from "./check/rules/rule.ts";
export { quietMessage, type RuleName, ruleNames, rules, subjectOf } from "./check/rules/rules.ts";
export type { Sharing } from "./check/sharing.ts";
