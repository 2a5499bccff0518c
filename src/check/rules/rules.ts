/** Lists all rules, and parses `--strict` and `--allow`. */
import { invalidOptionValue, ruleRenamed } from "../../failures.ts";
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

/** Present names by former names. */
export const renamedRules: ReadonlyMap<string, RuleName> = new Map(
  Object.entries<RuleName>({
    "answer-unreadable": "unreadable-response",
    "choice-without-logprobs": "missing-logprobs",
    "file-missing": "file-not-found",
    "format-in-doubt": "ambiguous-format",
    "format-lossy": "lossy-format",
    "glob-empty": "glob-without-match",
    "group-empty": "empty-group",
    "group-in-both": "split-leak",
    "group-in-doubt": "ambiguous-group",
    "group-key-nowhere": "group-key-missing",
    "group-key-unknown": "group-key-missing",
    "group-no-signal": "zero-variance-group",
    "group-not-sent": "group-not-logged",
    "group-of-one": "single-trajectory-group",
    "group-open": "incomplete-group",
    "group-repeated": "duplicate-group",
    "group-unknown": "unresolved-group",
    "gzip-broken": "gzip-corrupt",
    "json-after": "json-trailing-data",
    "json-cut-off": "json-truncated",
    "last-call-unanswered": "trailing-tool-call",
    "ledger-new": "new-ledger",
    "line-unfinished": "incomplete-line",
    "no-assistant": "no-assistant-turn",
    "nothing-chosen": "empty-selection",
    "nothing-trainable": "no-sampled-turns",
    "policy-lags": "stale-policy",
    "policy-mixed": "mixed-policy-versions",
    "policy-order": "policy-versions-reversed",
    "record-broken": "record-invalid",
    "remote-missing": "remote-not-found",
    "request-keys-differ": "request-key-mismatch",
    "role-missing": "missing-role",
    "role-unknown": "unknown-role",
    "split-differs": "split-mismatch",
    "start-time-wrong": "start-time-invalid",
    "start-time-zone": "missing-utc-offset",
    "tool-call-id-missing": "missing-tool-call-id",
    "tool-call-unanswered": "missing-tool-result",
    "tool-unlisted": "undeclared-tool",
    "tools-missing": "missing-tools",
    "trajectory-twice": "duplicate-trajectory",
    "unknown-left": "unresolved-requests",
    "unknown-not-whole": "resend-impossible",
    "unpacked-too-large": "decompressed-too-large",
    "zstd-broken": "zstd-corrupt",
  }),
);

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
  const present = renamedRules.get(wrong);
  if (present !== undefined && warningRules.includes(present)) throw ruleRenamed("--allow", wrong, present);
  const note = present === undefined ? "" : ` (the rule is now called ${present})`;
  if (isRuleName(present ?? wrong))
    throw invalidOptionValue("--allow", wrong, `a warning, because errors cannot be silenced${note}`);
  const wanted = "a rule name, shown in brackets after a warning, such as unknown-role";
  throw invalidOptionValue("--allow", wrong, wanted, findNearest(wrong, warningRules));
};
