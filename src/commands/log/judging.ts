/** `--strict` and `--allow`: how strictly `log` and `check` judge their input. */
import type { Command } from "commander";
import type { Context } from "../../context.ts";
import type { Judgement } from "../../trajectories/index.ts";

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

/** What the options mean. @throws Failure `option-value-wrong` */
export const judgementFor = async (context: Context, { strict, allow }: TypedJudging): Promise<Judgement> => {
  const { judgementOf } = await context.trajectories();
  return judgementOf({ strict: strict === true, allow: allow ?? [] });
};
