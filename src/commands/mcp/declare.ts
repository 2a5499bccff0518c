/** `rollcall mcp`: tools that only read, for agents. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";

/** Declares `mcp`. */
export const declareMcp = (parent: Command, start: Start): void => {
  const command = parent
    .command("mcp")
    .summary("serve tools that only read to an agent")
    .description(
      "serve tools that only read to an agent, over standard input and output (Model Context Protocol): models, catalog, call_read and, with --root, check",
    )
    .option("--root <folder>", "let check read the files below this folder, and no others")
    .option("--content", "let call_read give what went into calls and what came out")
    .action(async (typed: { readonly root?: string; readonly content?: boolean }, own: Command) => {
      // Every start would pay for it: it is loaded where it is used.
      const { serve } = await import("./serve.ts");
      await serve(start(own), { root: typed.root, content: typed.content === true });
    });
  examples(command, ["rollcall mcp --local", "rollcall mcp --root ./rollouts --profile work"]);
};
