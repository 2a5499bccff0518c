/** Defines `rollcall catalog` (interface 4.4 and 4.5). */

import type { CatalogName } from "../../catalogs/catalog-files.ts";
import { type Command, command } from "../../cli/command.ts";
import { custom, flag, inGroup, repeated, required, text, type Values, withDefault } from "../../cli/kinds.ts";
import * as lists from "../../session/options/list-options.ts";
import { parseAge, parsePercent } from "../../text/units.ts";

const listOptions = { ...lists.filterOptions, ...lists.orderOptions, ...inGroup("source", lists.sourceOptions) };

const diffArgs = {
  saved: required(text("a saved list (`catalog all --json`), or - for stdin")),
  pattern: repeated("only models with this text, or a glob for the id"),
};
const diffOptions = {
  with: text("compare with this saved list, not with the current", "file"),
  worse: flag("only what can break a user (dearer, gone, smaller, deprecated)"),
  "max-rise": withDefault(custom("rise of a price that --worse allows", "percent", parsePercent), "0%"),
  within: withDefault(
    custom("with --worse, report models that are deprecated within this time", "duration", parseAge),
    "30d",
  ),
  "exit-code": flag("exit with 10 if the catalogs differ (with --worse, if a model got worse)"),
  ...inGroup("source", { catalog: lists.catalogOption, ...lists.sourceOptions }),
};

const ownTokens = "the call has its own numbers of tokens";

const costOptions = {
  ...inGroup("job", {
    "prompt-tokens": lists.countOption("input tokens, such as 10k"),
    "completion-tokens": lists.countOption("output tokens"),
    cached: lists.countOption("input tokens that are read from a cache"),
    images: lists.countOption("input images"),
    requests: lists.countOption("requests, for models with a price per request"),
    "from-call": {
      ...text("use the tokens and requests of this traced call", "id"),
      conflicts: { "prompt-tokens": ownTokens, "completion-tokens": ownTokens, cached: ownTokens },
    },
  }),
  ...lists.filterOptions,
  ...inGroup("source", { catalog: lists.catalogOption, limit: lists.limitOption, ...lists.sourceOptions }),
};

export type DiffOptions = Values<typeof diffArgs & typeof diffOptions>;
export type CostOptions = Values<typeof costOptions> & { readonly model: readonly string[] };

const listCommand = (catalog: CatalogName | "all", about: string, examples: readonly string[]): Command =>
  command({
    words: `catalog ${catalog}`,
    about,
    args: { pattern: lists.patternArgument },
    options: listOptions,
    examples: examples.map((words) => `rollcall catalog ${catalog} ${words}`),
    loadColumns: async () => (await import("./catalog-columns.ts")).rowColumns(catalog),
    run: async (context, typed) => (await import("./catalog-list.ts")).listEntries(context, catalog, typed),
  });

const singleCatalogExamples = ["kimi", "--feature tools --max-price prompt=0.5", "--sort -context_length,id --local"];
const bothCatalogsExamples = ["kimi", "--feature tools --sort pricing.prompt", "--country EU --limit 3 --json --local"];

export const catalog = command({
  words: "catalog",
  loadOutputs: () => import("./output.ts"),
  about: "list the public catalogs of models",
  examples: ["rollcall catalog analysis", "rollcall catalog router --sort pricing.prompt --local"],
  subcommands: [
    listCommand("analysis", "list the models in the analysis catalog", singleCatalogExamples),
    listCommand("router", "list the models in the router catalog", singleCatalogExamples),
    listCommand("all", "list the models of both catalogs", bothCatalogsExamples),
    command({
      words: "catalog show",
      about: "show all fields of one model",
      args: {
        id: required(text("the full id, such as moonshotai/Kimi-K2.5", "id", { completion: "catalog-models" })),
      },
      options: lists.sourceOptions,
      examples: [
        "rollcall catalog show moonshotai/Kimi-K2.5",
        "rollcall catalog show openai/gpt-oss-120b --json --local",
      ],
      loadColumns: async () => (await import("./catalog-columns.ts")).rowColumns("all"),
      run: async (context, typed) => (await import("./catalog-list.ts")).showModel(context, typed),
    }),
    command({
      words: "catalog diff",
      about: "compare a saved list with the current catalogs, or with another saved list",
      args: diffArgs,
      options: diffOptions,
      examples: ["rollcall catalog diff models.json --worse --max-rise 10% --exit-code"],
      loadColumns: async () => (await import("./catalog-diff.ts")).changeColumns(undefined),
      run: async (context, typed) => (await import("./catalog-diff.ts")).diff(context, typed),
    }),
    command({
      words: "catalog cost",
      about: "compare the costs of models for a number of tokens (cheapest first, deprecated models last)",
      args: { model: repeated("ids or globs (default: all models)") },
      options: costOptions,
      examples: [
        "rollcall catalog cost --prompt-tokens 10k --completion-tokens 2k --local",
        "rollcall catalog cost --from-call 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11",
      ],
      loadColumns: async (typed) => (await import("./catalog-cost.ts")).costColumns(!typed.catalog, 0),
      run: async (context, typed) => (await import("./catalog-cost.ts")).showCosts(context, typed),
    }),
  ],
});
