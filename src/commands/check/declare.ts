/** `rollcall check`: the same checks and metrics as `log`, offline. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { choosingOptions } from "../convert/choosing.ts";
import { foreignOptions } from "../convert/foreign.ts";
import { examples } from "../help.ts";
import { collected, judgingOptions } from "../log/judging.ts";
import type { TypedCheck } from "./run.ts";

/** Declares `check`. */
export const declareCheck = (parent: Command, start: Start): void => {
  const command = parent
    .command("check")
    .description("check trajectories, compute metrics, offline")
    .argument("[file...]", "files of groups or trajectories, or their addresses; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--against <file>", "no group may stand in this file of another split", collected)
    .option(
      "--report <form>",
      "github or junit, for a build system; =file writes a file; more than once for several",
      collected,
    )
    .action(
      async (files: string[], typed: TypedCheck, own: Command) =>
        await (await import("./run.ts")).check(start(own), { files, typed }),
    );
  choosingOptions(command.optionsGroup("choosing"));
  foreignOptions(command.optionsGroup("formats"));
  judgingOptions(command.optionsGroup("checks"));
  examples(command, ["rollcall check groups.jsonl", "rollcall check *.jsonl --split train --json"]);
};
