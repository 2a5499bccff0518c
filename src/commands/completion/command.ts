/** `rollcall completion`: scripts that complete words in a shell, and the hidden command that they call. */
import { choice, command, repeated, required, text } from "../../cli/index.ts";

/** `completion`. */
export const completion = command({
  words: "completion",
  about: "print a script that completes words in a shell",
  args: { shell: required(choice("whose script", ["bash", "zsh", "fish", "powershell"])) },
  examples: ["source <(rollcall completion bash)", "rollcall completion fish | source"],
  run: async (context, { shell }) => await (await import("./run.ts")).printScript(context, shell),
});

/** `__complete`: only the scripts know its arguments. */
export const complete = command({
  words: "__complete",
  about: "",
  hidden: true,
  args: { shell: required(text("")), typed: repeated("") },
  run: async (context, asked, program) =>
    await (await import("./run.ts")).printCandidates(context, { ...asked, program }),
});
