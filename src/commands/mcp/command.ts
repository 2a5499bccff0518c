/** `rollcall mcp`: tools that only read, for agents. */
import { command, flag, text, type Values } from "../../cli/index.ts";

const options = {
  root: text("let check read the files below this folder, and no others", "folder"),
  content: flag("let call_read give what went into calls and what came out"),
};

/** What was typed for `mcp`. */
export type McpOptions = Values<typeof options>;

/** `mcp`. */
export const mcp = command({
  words: "mcp",
  summary: "serve tools that only read to an agent",
  about:
    "serve tools that only read to an agent, over standard input and output (Model Context Protocol): models, catalog, call_read and, with --root, check",
  options,
  examples: ["rollcall mcp --local", "rollcall mcp --root ./rollouts --profile work"],
  run: async (context, typed, program) => await (await import("./run.ts")).serve(context, typed, program),
});
