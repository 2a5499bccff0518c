/** Defines `rollcall completion`, and the hidden command that completion scripts call. */

import { command } from "../../cli/command.ts";
import { choice, repeated, required, text } from "../../cli/kinds.ts";
import { conflictingOptions } from "../../system/failures.ts";

export const completion = command({
  words: "completion",
  group: "more",
  about: "print a completion script for a shell",
  args: { shell: required(choice("name of the shell", ["bash", "zsh", "fish", "powershell"])) },
  examples: ["source <(rollcall completion bash)", "rollcall completion fish | source"],
  run: async (context, { shell }) => {
    if (context.screen.isJson) throw conflictingOptions("completion", "--json", "a script is not JSON");
    await context.screen.printText((await import("./run-completion.ts")).scripts[shell]);
  },
});

export const complete = command({
  words: "__complete",
  about: "",
  args: { shell: required(text("")), typed: repeated("") },
  run: async (context, request, program) =>
    (await import("./run-completion.ts")).printCandidates(context, program, request),
});
