/** `--strict` and `--allow`: how strictly `log` and `check` judge their input. */
import type { Command } from "commander";

/** The options as typed. */
export interface TypedJudging {
  readonly strict?: boolean;
  readonly allow?: readonly string[];
}

/** Gathers the values of an option that stands several times. */
export const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Declares the options. */
export const judgingOptions = (command: Command): Command =>
  command
    .option("--strict", "warnings are errors")
    .option("--allow <rule>", "no warnings of a rule; more than once for several", collected);
