/** Defines `rollcall models` (interface 4.2). */
import { command } from "../../cli/command.ts";
import { flag, needing, text } from "../../cli/kinds.ts";
import { filterOptions, orderOptions, sourceOptions } from "../../session/options/list-options.ts";

export const models = command({
  words: "models",
  loadOutputs: () => import("./output.ts"),
  about: "list the models that can be called",
  args: { pattern: text("text in the id, or a glob such as 'qwen*'", "text", { completion: "models" }) },
  options: {
    "with-prices": flag("add prices, limits and deprecation dates from the catalogs"),
    ...needing("with-prices", { ...sourceOptions, ...filterOptions }),
    ...orderOptions,
  },
  examples: [
    "rollcall models",
    "rollcall models 'qwen*' --sort -created --json",
    "rollcall models --with-prices --sort pricing.prompt --local",
  ],
  loadColumns: async ({ withPrices }) =>
    (await import("../catalog/catalog-columns.ts")).rowColumns(withPrices ? "priced" : "models"),
  run: async (context, typed) =>
    (await import("../catalog/catalog-list.ts")).listEntries(context, typed.withPrices ? "priced" : "models", typed),
});
