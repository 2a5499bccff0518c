/** `rollcall explain`: the meaning of a code or a rule. */
import { command, text } from "../../cli/index.ts";

/** `explain`. */
export const explain = command({
  words: "explain",
  about: "say what an error code, an exit code or a rule means, with an example of the rule",
  args: { name: text("such as usage, 8 or role-unknown; none lists all") },
  examples: ["rollcall explain unknown_outcome", "rollcall explain role-unknown", "rollcall explain 8"],
  run: async (context, { name }) => await (await import("./run.ts")).run(context, name),
});
