/** `rollcall completion`: scripts that complete words in a shell, and the hidden command that they ask. */
import { Argument, type Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";
import type { CompletionShell } from "./scripts.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const satisfies readonly CompletionShell[];

/** What the scripts ask. It stands in no help: only they know what to say to it. */
const asking = "__complete";

/** Declares `completion`. */
export const declareCompletion = (parent: Command, start: Start): void => {
  const command = parent
    .command("completion")
    .description("print a script that completes words in a shell")
    .addArgument(new Argument("<shell>", "whose script").choices(shells))
    .action(async (shell: CompletionShell, _: unknown, own: Command) => {
      await (await import("./run.ts")).printScript(start(own), shell);
    });
  examples(command, ["source <(rollcall completion bash)", "rollcall completion fish | source"]);
  parent
    .command(asking, { hidden: true })
    .argument("<shell>")
    .argument("[typed...]")
    .action(async (shell: string, typed: string[], _: unknown, own: Command) => {
      await (await import("./run.ts")).printCandidates(start(own), { root: parent, shell, typed });
    });
};
