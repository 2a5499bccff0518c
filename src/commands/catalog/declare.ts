/** `rollcall catalog`: the public catalogs of models. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { type DeclareVerb, examples, verbsIn } from "../help.ts";
import { catalogOption, filterOptions, orderOptions, sourceOptions } from "../lists/options.ts";
import type { TypedCost } from "./cost.ts";
import type { TypedDiff } from "./diff.ts";
import type { TypedList } from "./list.ts";
import type { TypedLock } from "./lock.ts";
import type { TypedShow } from "./show.ts";
import type { TypedVerify } from "./verify.ts";

/** Declares `catalog` and its verbs (interface 4.4 and 4.5). */
export const declareCatalog = (parent: Command, start: Start): void => {
  const group = parent.command("catalog").description("list the public catalogs of models");
  const verb = verbsIn(group);
  declareList(verb, start, { catalog: "analysis", of: "the analysis provider" });
  declareList(verb, start, { catalog: "router", of: "the routing provider" });
  declareAll(verb, start);
  declareShow(verb, start);
  declareDiff(verb, start);
  declareCost(verb, start);
  declareLock(verb, start);
  declareVerify(verb, start);
  examples(group, ["rollcall catalog analysis --local", "rollcall catalog router --sort pricing.prompt --local"]);
};

const aboutPattern = "words of the id or name, or a glob over the id such as 'qwen*'";

const declareList = (
  verb: DeclareVerb,
  start: Start,
  { catalog, of }: { readonly catalog: "analysis" | "router"; readonly of: string },
): void => {
  const command = verb(catalog, `list the models in the catalog of ${of}`, [
    `rollcall catalog ${catalog} kimi --local`,
    `rollcall catalog ${catalog} --feature tools --max-price prompt=0.5 --local`,
    `rollcall catalog ${catalog} --sort -context_length,id --limit 3 --local`,
  ]).argument("[pattern]", aboutPattern);
  sourceOptions(orderOptions(filterOptions(command)).optionsGroup("source")).action(
    async (pattern: string | undefined, typed: TypedList, own: Command) => {
      await (await import("./list.ts")).listCatalog(start(own), catalog, { ...typed, pattern });
    },
  );
};

const declareAll = (verb: DeclareVerb, start: Start): void => {
  const command = verb("all", "list the models of both catalogs, and which catalog has them", [
    "rollcall catalog all kimi --local",
    "rollcall catalog all --feature tools --sort pricing.prompt --local",
    "rollcall catalog all --country EU --limit 3 --json --local",
  ]).argument("[pattern]", aboutPattern);
  sourceOptions(orderOptions(filterOptions(command)).optionsGroup("source")).action(
    async (pattern: string | undefined, typed: TypedList, own: Command) => {
      await (await import("./list.ts")).listCatalogs(start(own), { ...typed, pattern });
    },
  );
};

const declareShow = (verb: DeclareVerb, start: Start): void => {
  const command = verb("show", "show one model, with everything that the catalogs say of it", [
    "rollcall catalog show moonshotai/Kimi-K2.5 --local",
    "rollcall catalog show openai/gpt-oss-120b --json --local",
  ]).argument("<id>", "the whole id, such as moonshotai/Kimi-K2.5");
  sourceOptions(command).action(async (id: string, typed: TypedShow, own: Command) => {
    await (await import("./show.ts")).run(start(own), { ...typed, id });
  });
};

const declareDiff = (verb: DeclareVerb, start: Start): void => {
  const command = verb("diff", "compare the two catalogs, two dates, or two files", [
    "rollcall catalog diff --local",
    "rollcall catalog diff --since 30d --exit-code",
  ])
    .argument("[file...]", "two saved catalogs; one, with --catalog, for that file and now")
    .option("--since <time>", "from the history: what changed since then, such as 30d or 2026-10-01")
    .option("--until <time>", "up to then, instead of now");
  sourceOptions(catalogOption(command).option("--exit-code", "exit 10 where they differ")).action(
    async (files: string[], typed: TypedDiff, own: Command) => {
      await (await import("./diff.ts")).run(start(own), { ...typed, files });
    },
  );
};

const declareCost = (verb: DeclareVerb, start: Start): void => {
  const command = verb("cost", "price a usage at each model, cheapest first", [
    "rollcall catalog cost --prompt-tokens 10k --completion-tokens 2k --local",
    "rollcall catalog cost --from-call 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11",
  ])
    .argument("[model...]", "ids, or globs over them; none: all models")
    .optionsGroup("usage")
    .option("--prompt-tokens <n>", "tokens in, such as 10k")
    .option("--completion-tokens <n>", "tokens out")
    .option("--cached <n>", "of the tokens in, those that are read from a cache")
    .option("--images <n>", "images in")
    .option("--requests <n>", "requests")
    .option("--from-call <id>", "what a traced call used")
    .optionsGroup("models");
  filterOptions(command).optionsGroup("source");
  sourceOptions(catalogOption(command).option("--limit <n>", "only the first of them")).action(
    async (models: string[], typed: TypedCost, own: Command) => {
      await (await import("./cost.ts")).run(start(own), { ...typed, models });
    },
  );
};

/** Gathers the values of an option that stands several times. */
const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** The lock file where none is named. */
const usualLockFile = "rollcall.lock.json";

const declareLock = (verb: DeclareVerb, start: Start): void => {
  const command = verb("lock", "write the facts of models into a lock file, for catalog verify", [
    "rollcall catalog lock 'moonshotai/*' --local --file /tmp/rollcall.lock.json",
    "rollcall catalog lock openai/gpt-oss-120b zai-org/GLM-4.6",
  ])
    .argument("[model...]", "ids, or globs over them; none: those of the lock file, else all")
    .option("--file <file>", "the lock file", usualLockFile);
  sourceOptions(catalogOption(command)).action(async (models: string[], typed: TypedLock, own: Command) => {
    await (await import("./lock.ts")).run(start(own), { ...typed, models });
  });
};

const declareVerify = (verb: DeclareVerb, start: Start): void => {
  const command = verb("verify", "exit 10 where a locked model is gone, dearer, smaller or about to end", [
    "rollcall catalog verify --max-rise 10% --within 60d",
    "rollcall catalog verify --report github --allow country-left",
  ])
    .option("--file <file>", "the lock file", usualLockFile)
    .option("--max-rise <percent>", "how much a price may rise", "0%")
    .option("--within <duration>", "how near a deprecation may not be", "30d")
    .option("--strict", "warnings fail too: features, parameters, what is not stated")
    .option("--allow <rule>", "nothing of a rule; more than once for several", collected)
    .option(
      "--report <form>",
      "github or junit, for a build system; =file writes a file; more than once for several",
      collected,
    );
  sourceOptions(command).action(async (typed: TypedVerify, own: Command) => {
    await (await import("./verify.ts")).run(start(own), typed);
  });
};
