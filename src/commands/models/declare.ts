/** `rollcall models`: the models that can be called. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { examples } from "../help.ts";
import { filterOptions, filterTyped, orderOptions } from "../lists/options.ts";
import type { TypedModels } from "./run.ts";

/** Declares `models` (interface 4.2). */
export const declareModels = (parent: Command, start: Start): void => {
  const command = parent
    .command("models")
    .description("list the models that can be called")
    .argument("[pattern]", "words of the id, or a glob such as 'qwen*'")
    .option("--with-prices", "joined with the catalogs: prices, deprecation and the rest");
  orderOptions(filterOptions(command)).action(async (pattern: string | undefined, typed: TypedModels, own: Command) => {
    const context = start(own);
    const option = filterTyped(own);
    if (option !== undefined && typed.withPrices !== true) {
      throw new Failure("option-needs", { option, needs: "--with-prices" });
    }
    await (await import("./run.ts")).run(context, { ...typed, pattern });
  });
  examples(command, [
    "rollcall models --local",
    "rollcall models 'qwen*' --sort -created --json --local",
    "rollcall models --with-prices --sort pricing.prompt --local",
  ]);
};
