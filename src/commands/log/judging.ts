/** `--strict` and `--allow`: how strictly `log` and `check` judge their input. */
import type { Command } from "commander";

/** The options as typed. */
export interface TypedJudging {
  readonly strict?: boolean;
  readonly allow?: readonly string[];
}

/** Declares the options. */
export const judgingOptions = (command: Command): Command =>
  command
    .option("--strict", "warnings are errors")
    .option("--allow <rule>", "no warnings of a rule; more than once for several", (rule, before: string[] = []) => [
      ...before,
      rule,
    ]);
