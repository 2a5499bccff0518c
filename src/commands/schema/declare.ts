/** `rollcall schema`: the JSON Schemas of what `--json` prints. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";

/** Declares `schema`. */
export const declareSchema = (parent: Command, start: Start): void => {
  const command = parent
    .command("schema")
    .summary("print the JSON Schema of what --json prints")
    .description("print the JSON Schema of what a command prints with --json, whole and without --fields")
    .argument("[command...]", "words of a command, or error, problem, rejected, event; none lists all")
    .option("--line", "the schema of one line of -o jsonl")
    .action(async (words: string[], typed: { readonly line?: boolean }, own: Command) => {
      await (await import("./run.ts")).run(start(own), words, typed);
    });
  examples(command, ["rollcall schema ledger status", "rollcall schema models --line"]);
};
