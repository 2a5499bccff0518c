/** `rollcall convert`: other tools' rollouts → groups of trajectories, with a receipt. */
import { type Command, Option } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";
import { judgingOptions } from "../log/judging.ts";
import { choosingOptions } from "./choosing.ts";
import { foreignOptions } from "./foreign.ts";
import type { TypedConvert } from "./run.ts";

/** Declares `convert`. */
export const declareConvert = (parent: Command, start: Start): void => {
  const command = parent
    .command("convert")
    .description("make trajectories of other tools' rollouts, offline")
    .argument("[file...]", "files or folders of rollouts, or their addresses; - or none is standard input")
    .option("--out <file>", "where the groups go; - is standard output", "-")
    .option("--receipt <file>", "a JSON file of what became of every value")
    .option("--exact", "fail where a value has no place")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .addOption(
      new Option("--on-invalid <stop|skip>", "skip: write the valid groups, and the rest aside").choices([
        "stop",
        "skip",
      ]),
    )
    .option("--rejects <file>", "where rejected records go (<file>.rejected)")
    .action(
      async (files: string[], typed: TypedConvert, own: Command) =>
        await (await import("./run.ts")).convert(start(own), { files, typed }),
    );
  choosingOptions(command.optionsGroup("choosing"));
  foreignOptions(command.optionsGroup("formats"));
  judgingOptions(command.optionsGroup("checks"));
  examples(command, [
    "rollcall convert results.jsonl --out groups.jsonl --receipt receipt.json",
    "rollcall convert runs/ --exact | rollcall check",
  ]);
};
