/** `rollcall explain`: what a code or a rule means. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";

/** Declares `explain`. */
export const declareExplain = (parent: Command, start: Start): void => {
  const command = parent
    .command("explain")
    .description("say what an error code, an exit code or a rule means, with an example of the rule")
    .argument("[name]", "such as usage, 8 or role-unknown; none lists all")
    .action(async (name: string | undefined, _: unknown, own: Command) => {
      await (await import("./run.ts")).run(start(own), name);
    });
  examples(command, ["rollcall explain unknown_outcome", "rollcall explain role-unknown", "rollcall explain 8"]);
};
