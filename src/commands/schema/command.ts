/** `rollcall schema`: the JSON Schemas of what `--json` prints. */
import { command, flag, several } from "../../cli/index.ts";

/** `schema`. */
export const schema = command({
  words: "schema",
  summary: "print the JSON Schema of what --json prints",
  about: "print the JSON Schema of what a command prints with --json, whole and without --fields",
  args: { command: several("words of a command, or error, problem, rejected, event; none lists all") },
  options: { line: flag("the schema of one line of -o jsonl") },
  examples: ["rollcall schema ledger status", "rollcall schema models --line"],
  run: async (context, typed) => await (await import("./run.ts")).run(context, typed.command, typed),
});
