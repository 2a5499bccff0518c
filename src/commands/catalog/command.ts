/** `rollcall catalog`: the public catalogs of models (interface 4.4 and 4.5). */
import type { CatalogName } from "../../catalogs/index.ts";
import {
  type Command,
  command,
  custom,
  flag,
  repeated,
  required,
  text,
  type Values,
  withDefault,
  withExtra,
  wrongValue,
} from "../../cli/index.ts";
import { type Decimal, parseDecimal } from "../../decimal.ts";
import { reportOption } from "../inputs/options.ts";
import {
  catalogOption,
  durationOption,
  filterOptions,
  limitOption,
  orderOptions,
  patternArgument,
  sourceOptions,
  timeOption,
  tokenCountOption,
} from "../lists/options.ts";

const listOptions = { ...filterOptions, ...orderOptions, ...withExtra({ group: "source" }, sourceOptions) };

const diffArgs = { file: repeated("two saved catalogs; one, with --catalog, for that file and now") };
const diffOptions = {
  since: timeOption("from the history: what changed since then, such as 30d or 2026-10-01"),
  until: { ...timeOption("up to then, instead of now"), needs: "since" },
  catalog: catalogOption,
  "exit-code": flag("exit 10 where they differ"),
  ...sourceOptions,
};

const models = (about: string) => ({ model: repeated(about) });
const costOptions = {
  ...withExtra(
    { group: "usage" },
    {
      "prompt-tokens": tokenCountOption("tokens in, such as 10k"),
      "completion-tokens": tokenCountOption("tokens out"),
      cached: tokenCountOption("of the tokens in, those that are read from a cache"),
      images: tokenCountOption("images in"),
      requests: tokenCountOption("requests"),
      "from-call": text("what a traced call used", "id"),
    },
  ),
  ...filterOptions,
  ...withExtra({ group: "source" }, { catalog: catalogOption, limit: limitOption, ...sourceOptions }),
};

const lockFile = withDefault(text("the lock file", "file"), "rollcall.lock.json");
const lockOptions = { file: lockFile, catalog: catalogOption, ...sourceOptions };

const parsePercent = (word: string, option: string): Decimal => {
  const percent = parseDecimal(word.replace(/\s*%$/, ""));
  if (percent !== undefined && percent.digits >= 0n) return percent;
  throw wrongValue(option, word, "a percentage such as 10%");
};

const verifyOptions = {
  file: lockFile,
  "max-rise": withDefault(custom("how much a price may rise", "percent", parsePercent), "0%"),
  within: withDefault(durationOption("how near a deprecation may not be"), "30d"),
  strict: flag("warnings fail too: features, parameters, what is not stated"),
  allow: repeated("nothing of a rule; more than once for several", "rule"),
  report: reportOption,
  ...sourceOptions,
};

/** What was typed for the verbs. */
export type TypedList = Values<typeof listOptions> & { readonly pattern: string | undefined };
export type TypedShow = Values<typeof sourceOptions> & { readonly id: string };
export type TypedDiff = Values<typeof diffArgs & typeof diffOptions>;
export type TypedCost = Values<typeof costOptions> & { readonly model: readonly string[] };
export type TypedLock = Values<typeof lockOptions> & { readonly model: readonly string[] };
export type TypedVerify = Values<typeof verifyOptions>;

const listCommand = (catalog: CatalogName | "all", about: string, examples: readonly string[]): Command =>
  command({
    words: `catalog ${catalog}`,
    about,
    args: { pattern: patternArgument },
    options: listOptions,
    examples: examples.map((words) => `rollcall catalog ${catalog} ${words} --local`),
    run: async (context, typed) => {
      const { listCatalog, listCatalogs } = await import("./list.ts");
      await (catalog === "all" ? listCatalogs(context, typed) : listCatalog(context, catalog, typed));
    },
  });

const singleCatalogExamples = ["kimi", "--feature tools --max-price prompt=0.5", "--sort -context_length,id --limit 3"];

/** `catalog` and its verbs. */
export const catalog = command({
  words: "catalog",
  about: "list the public catalogs of models",
  examples: ["rollcall catalog analysis --local", "rollcall catalog router --sort pricing.prompt --local"],
  verbs: [
    listCommand("analysis", "list the models in the catalog of the analysis provider", singleCatalogExamples),
    listCommand("router", "list the models in the catalog of the routing provider", singleCatalogExamples),
    listCommand("all", "list the models of both catalogs, and which catalog has them", [
      ...["kimi", "--feature tools --sort pricing.prompt", "--country EU --limit 3 --json"],
    ]),
    command({
      words: "catalog show",
      about: "show one model, with everything that the catalogs say of it",
      args: { id: required(text("the whole id, such as moonshotai/Kimi-K2.5")) },
      options: sourceOptions,
      examples: [
        "rollcall catalog show moonshotai/Kimi-K2.5 --local",
        "rollcall catalog show openai/gpt-oss-120b --json --local",
      ],
      run: async (context, typed) => await (await import("./list.ts")).showModel(context, typed),
    }),
    command({
      words: "catalog diff",
      about: "compare the two catalogs, two dates, or two files",
      args: diffArgs,
      options: diffOptions,
      examples: ["rollcall catalog diff --local", "rollcall catalog diff --since 30d --exit-code"],
      run: async (context, typed) => await (await import("./compare.ts")).diff(context, typed),
    }),
    command({
      words: "catalog cost",
      about: "price a usage at each model, cheapest first",
      args: models("ids, or globs over them; none: all models"),
      options: costOptions,
      examples: [
        "rollcall catalog cost --prompt-tokens 10k --completion-tokens 2k --local",
        "rollcall catalog cost --from-call 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11",
      ],
      run: async (context, typed) => await (await import("./cost.ts")).run(context, typed),
    }),
    command({
      words: "catalog lock",
      about: "write the facts of models into a lock file, for catalog verify",
      args: models("ids, or globs over them; none: those of the lock file, else all"),
      options: lockOptions,
      examples: [
        "rollcall catalog lock 'moonshotai/*' --local --file /tmp/rollcall.lock.json",
        "rollcall catalog lock openai/gpt-oss-120b zai-org/GLM-4.6",
      ],
      run: async (context, typed) => await (await import("./compare.ts")).lock(context, typed),
    }),
    command({
      words: "catalog verify",
      about: "exit 10 where a locked model is gone, dearer, smaller or about to end",
      options: verifyOptions,
      examples: [
        "rollcall catalog verify --max-rise 10% --within 60d",
        "rollcall catalog verify --report github --allow country-removed",
      ],
      run: async (context, typed) => await (await import("./compare.ts")).verify(context, typed),
    }),
  ],
});
