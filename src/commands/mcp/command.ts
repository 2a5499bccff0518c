import { command } from "../../cli/command.ts";
import { flag, text, type Values } from "../../cli/kinds.ts";

const options = {
  root: text("folder whose files check, stats and compare may read", "folder"),
  content: flag("let call_read return inputs and outputs of calls"),
};

export type McpOptions = Values<typeof options>;

export const mcp = command({
  words: "mcp",
  group: "more",
  about:
    "serve read-only tools to an agent over standard input and standard output (Model Context Protocol): models, catalog, call_read and, with --root, check, stats and compare",
  options,
  examples: ["rollcall mcp --local", "rollcall mcp --root ./rollouts --profile work"],
  run: async (context, typed, program) => await (await import("./run-mcp.ts")).serve(context, typed, program),
});
