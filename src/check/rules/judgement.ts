/** How strictly a run judges its input: whether warnings are errors, and which rules are silent. */
import { optionValueWrong } from "../../failures.ts";
import { nearest } from "../../nearest.ts";
import { isRuleName, ruleNames, rules } from "./rules.ts";

/** What a run makes of warnings (promises.md, `--strict` and `--allow`). */
export interface Judgement {
  readonly strict: boolean;
  readonly allowed: ReadonlySet<string>;
  /** Whether what is rejected is written aside: the reason of each line is wanted then, and not only of the first thousand. */
  readonly setsAside?: boolean;
}

/** Warnings warn, and no rule is silent. */
export const lenient: Judgement = { strict: false, allowed: new Set() };

/** What was typed, as it is meant. @throws Failure `option-value-wrong` for a rule that there is not, or that is an error */
export const judgementOf = ({
  strict,
  allow,
}: {
  readonly strict: boolean;
  readonly allow: readonly string[];
}): Judgement => {
  for (const name of allow) checkAllowed(name);
  return { strict, allowed: new Set(allow) };
};

/** Names of the rules that can be silent. */
export const warningRules: readonly string[] = ruleNames.filter((name) => rules[name].severity === "warning");

const checkAllowed = (name: string): void => {
  if (warningRules.includes(name)) return;
  throw optionValueWrong({
    option: "--allow",
    value: name,
    wanted: isRuleName(name)
      ? "the rule of a warning; what breaks the interface can't be silent"
      : "the name of a rule, as it stands behind a warning: [role-unknown]",
    suggestion: isRuleName(name) ? undefined : nearest(name, warningRules),
  });
};
