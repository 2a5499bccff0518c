/** Defines `rollcall models` (interface 4.2). */
import { command } from "../cli/command.ts";
import { text } from "../cli/kinds.ts";
import { orderOptions } from "../session/options.ts";

export const models = command({
  words: "models",
  about: "list the models that can be called",
  args: { pattern: text("text in the id, or a glob such as 'qwen*'", "text") },
  options: orderOptions,
  examples: ["rollcall models", "rollcall models 'qwen*' --sort -created --json"],
  run: async (context, typed) => (await import("./catalog/catalog-list.ts")).listModels(context, "models", typed),
});
