/** Lists all rules, and parses `--strict` and `--allow`. */
import { wrongValue } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { fileRules } from "./file-rules.ts";
import { inputRules, runRules } from "./input-rules.ts";
import type { Rule } from "./rule.ts";
import { trainingRules, typeRules } from "./trajectory-rules.ts";

export const rules = { ...fileRules, ...typeRules, ...inputRules, ...trainingRules, ...runRules };

export type RuleName = keyof typeof rules;
export type RuleData<Name extends RuleName> = (typeof rules)[Name] extends Rule<infer Data> ? Data : never;

const typedRules: { readonly [Name in RuleName]: Rule<RuleData<Name>> } = rules;
export const getRule = <Name extends RuleName>(name: Name): Rule<RuleData<Name>> => typedRules[name];

const isRuleName = (name: string): name is RuleName => Object.hasOwn(rules, name);
export const ruleNames: readonly RuleName[] = Object.keys(rules).filter(isRuleName);
export const warningRules: readonly string[] = ruleNames.filter((name) => rules[name].severity === "warning");

export const getRuleSubject = (name: string) => (isRuleName(name) ? rules[name].about : undefined);

const renamedRules: Readonly<Record<string, RuleName>> = {
  "group-empty": "empty-group",
  "group-key-unknown": "group-key-missing",
  "group-no-signal": "zero-variance-group",
  "group-of-one": "single-trajectory-group",
  "policy-order": "policy-versions-reversed",
  "policy-mixed": "mixed-policy-versions",
  "policy-lags": "stale-policy",
  "tool-call-unanswered": "missing-tool-result",
  "last-call-unanswered": "trailing-tool-call",
  "tool-unlisted": "undeclared-tool",
  "tools-missing": "missing-tools",
  "role-missing": "missing-role",
  "role-unknown": "unknown-role",
  "tool-call-id-missing": "missing-tool-call-id",
  "no-assistant": "no-assistant-turn",
  "nothing-trainable": "no-sampled-turns",
  "choice-without-logprobs": "missing-logprobs",
  "trajectory-twice": "duplicate-trajectory",
  "group-in-both": "split-leak",
  "start-time-zone": "missing-utc-offset",
  "answer-unreadable": "unreadable-response",
  "unknown-left": "unresolved-requests",
  "unknown-not-whole": "resend-impossible",
  "ledger-new": "new-ledger",
  "group-open": "incomplete-group",
  "line-unfinished": "incomplete-line",
};

export const presentRuleName = (name: string) => (Object.hasOwn(renamedRules, name) ? renamedRules[name] : undefined);

export const redactMessage = ({ rule, message }: { rule: string; message: string }) =>
  (isRuleName(rule) ? rules[rule].redactedMessage : undefined) ?? message;

export interface Strictness {
  strict: boolean;
  allowed: ReadonlySet<string>;
  writesRejects?: boolean;
}

export const defaultStrictness: Strictness = { strict: false, allowed: new Set() };

/** @throws Failure `invalid-option-value` */
export const parseStrictness = ({ strict, allow }: { strict: boolean; allow: readonly string[] }): Strictness => {
  const wrong = allow.find((name) => !warningRules.includes(name));
  if (wrong === undefined) return { strict, allowed: new Set(allow) };
  if (isRuleName(wrong)) throw wrongValue("--allow", wrong, "a warning, because errors cannot be silenced");
  const present = presentRuleName(wrong);
  const wanted =
    present === undefined
      ? "a rule name, shown in brackets after a warning, such as unknown-role"
      : `${present}, the present name of this rule`;
  throw wrongValue("--allow", wrong, wanted, present ?? findNearest(wrong, warningRules));
};
