/** Every rule that input is held against, by its name (a promise to users), and how strictly a run judges by them. */
import { optionValueWrong } from "../../failures.ts";
import { nearest } from "../../nearest.ts";
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

/** What a rule's words are made of. */
export type RuleData<Name extends RuleName> = (typeof rules)[Name] extends Rule<infer Data> ? Data : never;

const table: { readonly [Name in RuleName]: Rule<RuleData<Name>> } = rules;

export const ruleOf = <Name extends RuleName>(name: Name): Rule<RuleData<Name>> => table[name];

const isRuleName = (name: string): name is RuleName => Object.hasOwn(rules, name);

export const ruleNames: readonly RuleName[] = Object.keys(rules).filter(isRuleName);

/** Names of the rules that can be silent. */
export const warningRules: readonly string[] = ruleNames.filter((name) => rules[name].severity === "warning");

/** What the rule of a name is about; undefined if there is none. */
export const subjectOf = (name: string): Rule<unknown>["about"] | undefined =>
  isRuleName(name) ? rules[name].about : undefined;

/** What a problem says, without anything that stood in the file. */
export const quietMessage = ({ rule, message }: { readonly rule: string; readonly message: string }): string =>
  (isRuleName(rule) ? rules[rule].quiet : undefined) ?? message;

/** What a run makes of warnings (checking.md). */
export interface Judgement {
  readonly strict: boolean;
  readonly allowed: ReadonlySet<string>;
  /** True if what is rejected is written aside: the reason of each line is wanted then, and not only of the first thousand. */
  readonly setsAside?: boolean;
}

/** Warnings warn, and no rule is silent. */
export const lenient: Judgement = { strict: false, allowed: new Set() };

/** What was typed, as it is meant. @throws Failure `option-value-wrong` for what is not the rule of a warning */
export const judgementOf = ({
  strict,
  allow,
}: {
  readonly strict: boolean;
  readonly allow: readonly string[];
}): Judgement => {
  const wrong = allow.find((name) => !warningRules.includes(name));
  if (wrong === undefined) return { strict, allowed: new Set(allow) };
  throw optionValueWrong({
    option: "--allow",
    value: wrong,
    wanted: isRuleName(wrong)
      ? "the rule of a warning; what breaks the interface can't be silent"
      : "the name of a rule, as it stands behind a warning: [role-unknown]",
    suggestion: isRuleName(wrong) ? undefined : nearest(wrong, warningRules),
  });
};
