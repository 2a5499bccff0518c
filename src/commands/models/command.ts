/** Defines `rollcall models` (interface 4.2). */
import { command } from "../../cli/command.ts";
import { text } from "../../cli/kinds.ts";
import { orderOptions } from "../../session/options/list-options.ts";

export const models = command({
  words: "models",
  loadOutputs: () => import("./output.ts"),
  about: "list the models that can be called",
  args: { pattern: text("text in the id, or a glob such as 'qwen*'", "text", { completion: "models" }) },
  options: orderOptions,
  examples: ["rollcall models", "rollcall models 'qwen*' --sort -created --json"],
  loadColumns: async () => (await import("../catalog/catalog-columns.ts")).modelColumns,
  run: async (context, typed) => (await import("../catalog/catalog-list.ts")).listModels(context, "models", typed),
});
