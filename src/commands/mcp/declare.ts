/** `rollcall mcp`: tools that only read, for agents. */
import type { Command } from "commander";
import type { Start, Tree } from "../../context.ts";
import { examples } from "../help.ts";
import type { McpOptions } from "./run.ts";

/** Declares `mcp`. */
export const declareMcp = (parent: Command, start: Start, tree: Tree): void => {
  const command = parent
    .command("mcp")
    .summary("serve tools that only read to an agent")
    .description(
      "serve tools that only read to an agent, over standard input and output (Model Context Protocol): models, catalog, call_read and, with --root, check",
    )
    .option("--root <folder>", "let check read the files below this folder, and no others")
    .option("--content", "let call_read give what went into calls and what came out")
    .action(
      async ({ root, content }: Partial<McpOptions>, own: Command) =>
        await (await import("./run.ts")).serve(start(own), tree, { root, content: content === true }),
    );
  examples(command, ["rollcall mcp --local", "rollcall mcp --root ./rollouts --profile work"]);
};
