/** Defines `rollcall models` (interface 4.2) and `rollcall catalog` (4.4 and 4.5). */

import { type Command, command } from "../../cli/command.ts";
import { commaList, custom, inGroup, text, type Values } from "../../cli/kinds.ts";
import { orderOptions } from "../../session/options.ts";
import { findNearest } from "../../text/nearest.ts";
import { formatList } from "../../text/sentences.ts";
import { parseCount, parseDecimal, reject } from "../../text/units.ts";

const priceNames: readonly string[] = ["prompt", "completion", "image", "request", "input_cache_read"];

const wordsOption = (about: string) => commaList(about, "name", (word) => word || reject("words separated by commas"));

const parsePrice = (item: string) => {
  const [, name = "", amount = ""] = /^([^=]+)=(.+)$/.exec(item) ?? [];
  const limit = parseDecimal(amount);
  const wanted =
    "maximum prices such as prompt=0.5,completion=2, in US dollars per million tokens, per image or per request";
  if (!limit || limit.digits < 0n) return reject(wanted);
  if (priceNames.includes(name)) return [name, limit] as const;
  const near = findNearest(name, priceNames);
  return reject(`one of ${formatList(priceNames)}, such as prompt=0.5`, near && `${near}=${amount}`);
};

const options = {
  ...inGroup("filters", {
    "input-modality": wordsOption("models that accept all of these inputs: text, image, audio, …"),
    "output-modality": wordsOption("models that return all of these outputs"),
    feature: wordsOption("models with all of these features, such as tools"),
    "min-context": custom("models with at least this context, such as 128k", "tokens", parseCount),
    "max-price": commaList(
      "maximum prices in US dollars per million tokens, image or request: prompt=0.5,completion=2",
      "prices",
      parsePrice,
    ),
  }),
  ...orderOptions,
  ...inGroup("source", {
    "analysis-provider": text("provider of the analysis catalog", "name"),
    "router-provider": text("provider of the router catalog", "name"),
  }),
};

export type CatalogOptions = Values<typeof options>;

const listCommand = (catalog: "analysis" | "router"): Command =>
  command({
    words: `catalog ${catalog}`,
    about: `list the models in the ${catalog} catalog`,
    args: { pattern: text("text in the id or name, or a glob for the id, such as 'qwen*'") },
    options,
    examples: ["kimi", "--feature tools --max-price prompt=0.5", "--sort -context_length,id --local"].map(
      (words) => `rollcall catalog ${catalog} ${words}`,
    ),
    run: async (context, typed) => (await import("./catalog-list.ts")).listModels(context, catalog, typed),
  });

export const catalog = command({
  words: "catalog",
  about: "list the public catalogs of models",
  examples: ["rollcall catalog analysis", "rollcall catalog router --sort pricing.prompt --local"],
  subcommands: [listCommand("analysis"), listCommand("router")],
});

export const models = command({
  words: "models",
  about: "list the models that can be called",
  args: { pattern: text("text in the id, or a glob such as 'qwen*'", "text") },
  options: orderOptions,
  examples: ["rollcall models", "rollcall models 'qwen*' --sort -created --json"],
  run: async (context, typed) => (await import("./catalog-list.ts")).listModels(context, "models", typed),
});
