/** `rollcall models`: the models that can be called (interface 4.2). */
import { command, flag, text, type Values, withExtra } from "../../cli/index.ts";
import { filterOptions, orderOptions } from "../lists/options.ts";

const args = { pattern: text("text in the id, or a glob such as 'qwen*'") };

const options = {
  "with-prices": flag("add prices, limits and deprecation dates from the catalogs"),
  ...withExtra({ needs: "with-prices" }, filterOptions),
  ...orderOptions,
};

export type TypedModels = Values<typeof args & typeof options>;

export const models = command({
  words: "models",
  about: "list the models that can be called",
  args,
  options,
  examples: [
    "rollcall models --local",
    "rollcall models 'qwen*' --sort -created --json --local",
    "rollcall models --with-prices --sort pricing.prompt --local",
  ],
  run: async (context, typed) => await (await import("./run.ts")).run(context, typed),
});
