/** Defines `rollcall catalog` (interface 4.4 and 4.5). */

import type { CatalogName } from "../../catalogs/index.ts";
import * as cli from "../../cli/index.ts";
import { outputFile, reportOption } from "../../options/input-options.ts";
import * as lists from "../../options/list-options.ts";
import * as units from "../../options/unit-options.ts";

const listOptions = { ...lists.filterOptions, ...lists.orderOptions, ...cli.inGroup("source", lists.sourceOptions) };

const diffArgs = {
  file: cli.repeated("two catalog files, or one file to compare with the current catalog of --catalog"),
};
const diffOptions = {
  since: units.timeOption("compare with the saved catalog of this time, such as 30d or 2026-10-01"),
  until: { ...units.timeOption("later time of the comparison"), default: "now", needs: "since" },
  catalog: lists.catalogOption,
  "exit-code": cli.flag("exit with 10 if the catalogs differ"),
  ...lists.sourceOptions,
};

const ownTokens = "the call has its own numbers of tokens";

const costOptions = {
  ...cli.inGroup("job", {
    "prompt-tokens": units.countOption("input tokens, such as 10k"),
    "completion-tokens": units.countOption("output tokens"),
    cached: units.countOption("input tokens that are read from a cache"),
    images: units.countOption("input images"),
    requests: units.countOption("requests, for models with a price per request"),
    "from-call": {
      ...cli.text("use the tokens and requests of this traced call", "id"),
      conflicts: { "prompt-tokens": ownTokens, "completion-tokens": ownTokens, cached: ownTokens },
    },
  }),
  ...lists.filterOptions,
  ...cli.inGroup("source", { catalog: lists.catalogOption, limit: lists.limitOption, ...lists.sourceOptions }),
};

const lockFile = cli.withDefault(outputFile("the lock file"), "rollcall.lock.json");
const lockOptions = { file: lockFile, catalog: lists.catalogOption, ...lists.sourceOptions };

const verifyOptions = {
  file: lockFile,
  "max-rise": cli.withDefault(units.percentOption("maximum rise of a price"), "0%"),
  within: cli.withDefault(units.ageOption("fail if a model is deprecated within this time"), "30d"),
  strict: cli.flag("treat warnings as errors"),
  allow: cli.repeated("silence this rule", "rule", { completion: "lock-rules" }),
  report: reportOption,
  ...lists.sourceOptions,
};

export type DiffOptions = cli.Values<typeof diffArgs & typeof diffOptions>;
export type CostOptions = cli.Values<typeof costOptions> & { readonly model: readonly string[] };
export type LockOptions = cli.Values<typeof lockOptions> & { readonly model: readonly string[] };
export type VerifyOptions = cli.Values<typeof verifyOptions>;

const listCommand = (catalog: CatalogName | "all", about: string, examples: readonly string[]): cli.Command =>
  cli.command({
    words: `catalog ${catalog}`,
    about,
    args: { pattern: lists.patternArgument },
    options: listOptions,
    examples: examples.map((words) => `rollcall catalog ${catalog} ${words} --local`),
    run: async (context, typed) => (await import("./catalog-list.ts")).listEntries(context, catalog, typed),
  });

const singleCatalogExamples = ["kimi", "--feature tools --max-price prompt=0.5", "--sort -context_length,id --limit 3"];
const bothCatalogsExamples = ["kimi", "--feature tools --sort pricing.prompt", "--country EU --limit 3 --json"];

export const catalog = cli.command({
  words: "catalog",
  loadOutputs: () => import("./output.ts"),
  about: "list the public catalogs of models",
  examples: ["rollcall catalog analysis --local", "rollcall catalog router --sort pricing.prompt --local"],
  subcommands: [
    listCommand("analysis", "list the models in the analysis catalog", singleCatalogExamples),
    listCommand("router", "list the models in the router catalog", singleCatalogExamples),
    listCommand("all", "list the models of both catalogs", bothCatalogsExamples),
    cli.command({
      words: "catalog show",
      about: "show all fields of one model",
      args: { id: cli.required(cli.text("the full id, such as moonshotai/Kimi-K2.5")) },
      options: lists.sourceOptions,
      examples: [
        "rollcall catalog show moonshotai/Kimi-K2.5 --local",
        "rollcall catalog show openai/gpt-oss-120b --json --local",
      ],
      run: async (context, typed) => (await import("./catalog-list.ts")).showModel(context, typed),
    }),
    cli.command({
      words: "catalog diff",
      about: "compare the two catalogs, two versions of a catalog, or two files",
      args: diffArgs,
      options: diffOptions,
      examples: ["rollcall catalog diff --local", "rollcall catalog diff --since 30d --exit-code"],
      run: async (context, typed) => (await import("./catalog-diff.ts")).diff(context, typed),
    }),
    cli.command({
      words: "catalog cost",
      about: "compare the costs of models for a number of tokens (cheapest first, deprecated models last)",
      args: { model: cli.repeated("ids or globs (default: all models)") },
      options: costOptions,
      examples: [
        "rollcall catalog cost --prompt-tokens 10k --completion-tokens 2k --local",
        "rollcall catalog cost --from-call 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11",
      ],
      run: async (context, typed) => (await import("./catalog-cost.ts")).showCosts(context, typed),
    }),
    cli.command({
      words: "catalog lock",
      hasSideEffects: true,
      about: "save the current facts of models in a lock file, for catalog verify",
      args: { model: cli.repeated("ids or globs (default: the models of the lock file, or all models)") },
      options: lockOptions,
      examples: [
        "rollcall catalog lock 'moonshotai/*' --local --file /tmp/rollcall.lock.json",
        "rollcall catalog lock openai/gpt-oss-120b zai-org/GLM-4.6",
      ],
      run: async (context, typed) => (await import("./catalog-lock.ts")).lock(context, typed),
    }),
    cli.command({
      words: "catalog verify",
      about: "fail if a locked model disappeared, got worse, or is deprecated now or soon",
      options: verifyOptions,
      examples: [
        "rollcall catalog verify --max-rise 10% --within 60d",
        "rollcall catalog verify --report github --allow country-removed",
      ],
      run: async (context, typed) => (await import("./catalog-lock.ts")).verify(context, typed),
    }),
  ],
});
