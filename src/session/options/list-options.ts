/** Defines the options of commands that print lists. */

import * as cli from "../../cli/kinds.ts";
import { parseDecimal } from "../../text/decimal.ts";
import { parseCount, parseDeadline, parseTime, reject } from "../../text/units.ts";

const parseWord = (word: string) => word || reject("words separated by commas");

const wordsOption = (about: string, placeholder = "name") =>
  cli.commaList(about, placeholder, parseWord, { completion: "filter-words" });

const parsePrice = (item: string) => {
  const [, name = "", amount = ""] = /^([^=]+)=(.+)$/.exec(item) ?? [];
  const price = parseDecimal(amount);
  const wanted =
    "maximum prices such as prompt=0.5,completion=2, in US dollars per million tokens, per image or per request";
  return price && price.digits >= 0n ? ([name, amount] as const) : reject(wanted);
};

export const countOption = (about: string, placeholder = "n") => cli.custom(about, placeholder, parseCount);

export const filterOptions = cli.inGroup("filters", {
  "input-modality": wordsOption("models that accept all of these inputs: text, image, audio, …"),
  "output-modality": wordsOption("models that return all of these outputs"),
  feature: wordsOption("models with all of these features, such as tools"),
  parameter: wordsOption("models with all of these sampling parameters"),
  quantization: wordsOption("models with one of these quantizations, such as fp8"),
  country: wordsOption("models with a data center in one of these countries, such as FI or EU", "code"),
  "only-country": wordsOption("models whose data centers are all in these countries", "code"),
  "min-context": countOption("models with at least this context, such as 128k", "tokens"),
  "min-output": countOption("models whose maximum output is at least this long", "tokens"),
  "max-price": cli.commaList(
    "maximum prices in US dollars per million tokens, image or request: prompt=0.5,completion=2",
    "prices",
    parsePrice,
    { completion: "price-names" },
  ),
  free: cli.flag("models without cost"),
  deprecated: {
    ...cli.flag("models with a past deprecation date"),
    conflicts: { "not-deprecated": "no model matches both" },
  },
  "not-deprecated": cli.flag("models without a past deprecation date"),
  "deprecated-within": cli.custom(
    "models that are deprecated now or by this time, such as 30d (in 30 days) or 2026-12-31",
    "duration",
    parseDeadline,
  ),
  "created-since": cli.custom("models created since this time, such as 90d or 2026-01-31", "when", parseTime),
});

export const limitOption = cli.count("only the first n entries");
export const orderOptions = cli.inGroup("order", {
  sort: cli.commaList("columns to sort by; -column for descending order", "columns", (column) => column, {
    completion: "sort-columns",
  }),
  limit: limitOption,
});

export const sourceOptions = {
  "analysis-provider": cli.text("provider of the analysis catalog", "name"),
  "router-provider": cli.text("provider of the router catalog", "name"),
};

export const catalogOption = cli.choice("only this catalog", ["analysis", "router"]);
export const patternArgument = cli.text("text in the id or name, or a glob for the id, such as 'qwen*'");

export type FilterOptions = cli.Values<typeof filterOptions>;
export type OrderOptions = cli.Values<typeof orderOptions>;
export type CatalogSourceOptions = cli.Values<typeof sourceOptions>;
