/** All rules by their public names, and how strictly a run applies them. */
import { invalidOptionValue } from "../../failure.ts";
import { findNearest } from "../../nearest.ts";
import { fileRules, jsonRules } from "./file-rules.ts";
import { inputRules, runRules } from "./input-rules.ts";
import type { Rule } from "./rule.ts";
import { fieldRules, signalRules, typeRules } from "./trajectory-rules.ts";

export const rules = {
  ...fileRules,
  ...jsonRules,
  ...typeRules,
  ...inputRules,
  ...fieldRules,
  ...signalRules,
  ...runRules,
};

export type RuleName = keyof typeof rules;

export type RuleData<Name extends RuleName> = (typeof rules)[Name] extends Rule<infer Data> ? Data : never;

const table: { readonly [Name in RuleName]: Rule<RuleData<Name>> } = rules;

export const getRule = <Name extends RuleName>(name: Name): Rule<RuleData<Name>> => table[name];

const isRuleName = (name: string): name is RuleName => Object.hasOwn(rules, name);

export const ruleNames: readonly RuleName[] = Object.keys(rules).filter(isRuleName);

/** Rules that `--allow` accepts. */
export const warningRules: readonly string[] = ruleNames.filter((name) => rules[name].severity === "warning");

export const getRuleSubject = (name: string): Rule<unknown>["about"] | undefined =>
  isRuleName(name) ? rules[name].about : undefined;

/** Returns the message without content of the file. */
export const redactMessage = ({ rule, message }: { rule: string; message: string }): string =>
  (isRuleName(rule) ? rules[rule].redactedMessage : undefined) ?? message;

/** How a run treats warnings (checking.md). */
export interface Strictness {
  readonly strict: boolean;
  readonly allowed: ReadonlySet<string>;
  /** True if a rejects file needs the reasons of all errors. */
  readonly writesRejects?: boolean;
}

export const defaultStrictness: Strictness = { strict: false, allowed: new Set() };

/** Parses --strict and --allow. @throws Failure `invalid-option-value` */
export const parseStrictness = ({ strict, allow }: { strict: boolean; allow: readonly string[] }): Strictness => {
  const wrong = allow.find((name) => !warningRules.includes(name));
  if (wrong === undefined) return { strict, allowed: new Set(allow) };
  const isError = isRuleName(wrong);
  throw invalidOptionValue({
    option: "--allow",
    value: wrong,
    wanted: isError
      ? "a warning, because errors cannot be silenced"
      : "a rule name, shown in brackets after a warning, such as unknown-role",
    suggestion: isError ? undefined : findNearest(wrong, warningRules),
  });
};
