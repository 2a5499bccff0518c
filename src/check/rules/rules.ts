/** Every rule that input is held against, by its name: a promise to users. */
import { fileRules, jsonRules } from "./file-rules.ts";
import { inputRules } from "./input-rules.ts";
import type { Rule } from "./rule.ts";
import { runRules } from "./run-rules.ts";
import { signalRules } from "./signal-rules.ts";
import { fieldRules, typeRules } from "./trajectory-rules.ts";

/** Every rule. */
export const rules = {
  ...fileRules,
  ...jsonRules,
  ...typeRules,
  ...inputRules,
  ...fieldRules,
  ...signalRules,
  ...runRules,
};

/** Name of a rule. */
export type RuleName = keyof typeof rules;

/** What a rule's words are made of. */
export type RuleData<Name extends RuleName> = (typeof rules)[Name] extends Rule<infer Data> ? Data : never;

const table: { readonly [Name in RuleName]: Rule<RuleData<Name>> } = rules;

/** The rule of a name. */
export const ruleOf = <Name extends RuleName>(name: Name): Rule<RuleData<Name>> => table[name];

/** Whether a text is the name of a rule. */
export const isRuleName = (name: string): name is RuleName => Object.hasOwn(rules, name);

/** Names of all rules. */
export const ruleNames: readonly RuleName[] = Object.keys(rules).filter(isRuleName);

/** What the rule of a name is about; undefined if there is none. */
export const subjectOf = (name: string): Rule<unknown>["about"] | undefined =>
  isRuleName(name) ? rules[name].about : undefined;

/** What a problem says, without anything that stood in the file. */
export const quietMessage = ({ rule, message }: { readonly rule: string; readonly message: string }): string =>
  (isRuleName(rule) ? rules[rule].quiet : undefined) ?? message;
