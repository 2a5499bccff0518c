/** Defines the type of rules. */
import type { Severity } from "../../failure.ts";

export type RuleText<Data> = string | ((data: Data) => string);

/** A text that rollcall computes only for stored problems. */
export type LazyMessage = () => string | undefined;

export interface Rule<Data> {
  severity: Severity;
  message: RuleText<Data>;
  advice: RuleText<Data>;
  /** The reason or the cause, for docs/reference/rules.md. */
  about: string;
  /** A value, a whole group or trajectory (without excerpt), or the whole input. */
  subject: "value" | "whole" | "input";
}

const ruleFactory =
  (severity: Severity, subject: Rule<undefined>["subject"] = "value") =>
  <Data = undefined>(texts: Omit<Rule<Data>, "severity" | "subject">): Rule<Data> => ({ ...texts, severity, subject });

export const error = ruleFactory("error");
export const errorOfWhole = ruleFactory("error", "whole");
export const errorOfInput = ruleFactory("error", "input");

/** Defines a problem that `--strict` makes an error and `--allow` silences. */
export const warning = ruleFactory("warning");
export const warningOfWhole = ruleFactory("warning", "whole");
export const warningOfInput = ruleFactory("warning", "input");
