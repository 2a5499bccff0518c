/** `rollcall commands`: the whole command tree, for programs that call rollcall. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";

/** Declares `commands`. */
export const declareCommands = (parent: Command, start: Start): void => {
  const command = parent
    .command("commands")
    .description("list every command; with --json, its arguments, options, values and examples too")
    .action(async (_: unknown, own: Command) => await (await import("./run.ts")).run(start(own), parent));
  examples(command, ["rollcall commands", "rollcall commands --json"]);
};
