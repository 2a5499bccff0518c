/** `rollcall completion`: scripts that complete words in a shell, and the hidden command that they ask. */
import { Argument, type Command } from "commander";
import type { Context, Start } from "../../context.ts";
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
    .action(async (shell: CompletionShell, _: unknown, own: Command) => await printScript(start(own), shell));
  examples(command, ["source <(rollcall completion bash)", "rollcall completion fish | source"]);
  parent
    .command(asking, { hidden: true })
    .argument("<shell>")
    .argument("[typed...]")
    .action(async (shell: string, typed: string[], _: unknown, own: Command) => {
      await printCandidates(start(own), { root: parent, shell, typed });
    });
};

const printScript = async ({ screen }: Context, shell: CompletionShell): Promise<void> => {
  const { completionScript } = await import("./scripts.ts");
  await screen.text(completionScript(shell));
};

/** Prints what can be typed next. Never fails: an error in the middle of a prompt helps nobody. */
const printCandidates = async (
  context: Context,
  asked: { readonly root: Command; readonly shell: string; readonly typed: readonly string[] },
): Promise<void> => {
  const { answer } = await import("./answer.ts");
  const lines = await answer({ ...asked, context }).catch(() => []);
  await context.screen.text(lines.map((line) => `${line}\n`).join(""));
};
