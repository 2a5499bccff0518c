/** Lists all rules, and parses `--strict` and `--allow`. */

import { invalidOptionValue } from "../../system/failures.ts";
import { findNearest } from "../../text/nearest.ts";
import { fileRules } from "./file-rules.ts";
import { inputRules, runRules } from "./input-rules.ts";
import type { Path } from "./positions.ts";
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

export const getRuleSubject = (name: string) => (isRuleName(name) ? rules[name].subject : undefined);

export interface Strictness {
  strict: boolean;
  allowed: ReadonlySet<string>;
  writesRejects?: boolean;
  /** With `--strict`, warnings stay warnings until `promoteWarnings`, so that all checks run. */
  isDeferred?: boolean;
}

export const defaultStrictness: Strictness = { strict: false, allowed: new Set() };

/** @throws Failure `invalid-option-value` */
export const parseStrictness = ({ strict, allow }: { strict: boolean; allow: readonly string[] }): Strictness => {
  const wrong = allow.find((name) => !warningRules.includes(name));
  if (wrong === undefined) return { strict, allowed: new Set(allow) };
  if (isRuleName(wrong)) throw invalidOptionValue("--allow", wrong, "a warning, because errors cannot be silenced");
  const wanted = "the name of a warning, such as unknown-role (a warning ends with its name in brackets)";
  throw invalidOptionValue("--allow", wrong, wanted, findNearest(wrong, warningRules));
};

/** Reports a problem at the path `steps` below `node`. */
export type RuleReporter = <Name extends RuleName>(
  rule: Name,
  data: RuleData<Name>,
  node: number,
  ...steps: Path
) => void;
