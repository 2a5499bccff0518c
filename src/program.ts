/** The command tree and the global options: reads like the usage text. */
import { Command, Option } from "commander";
import { version } from "../package.json" with { type: "json" };
import { examples, helpLayout } from "./commands/help.ts";
import type { Start } from "./context.ts";
import { formats } from "./output/index.ts";

type Declare = (root: Command, start: Start) => void;
type Nouns = Readonly<Record<string, () => Promise<Declare>>>;

/** The nouns and what declares them, in the order of the help. */
const nouns: Nouns = {
  log: async () => (await import("./commands/log/declare.ts")).declareLog,
  check: async () => (await import("./commands/check/declare.ts")).declareCheck,
  ledger: async () => (await import("./commands/ledger/declare.ts")).declareLedger,
  models: async () => (await import("./commands/models/declare.ts")).declareModels,
  call: async () => (await import("./commands/call/declare.ts")).declareCall,
  catalog: async () => (await import("./commands/catalog/declare.ts")).declareCatalog,
  auth: async () => (await import("./commands/auth/declare.ts")).declareAuth,
  config: async () => (await import("./commands/config/declare.ts")).declareConfig,
  serve: async () => (await import("./commands/serve/declare.ts")).declareServe,
};

/** What serves other programs, and what is said of rollcall itself, is only named in the help: that is one screen. */
const more: Nouns = {
  mcp: async () => (await import("./commands/mcp/declare.ts")).declareMcp,
  doctor: async () => (await import("./commands/doctor/declare.ts")).declareDoctor,
  commands: async () => (await import("./commands/commands/declare.ts")).declareCommands,
  explain: async () => (await import("./commands/explain/declare.ts")).declareExplain,
  schema: async () => (await import("./commands/schema/declare.ts")).declareSchema,
  completion: async () => (await import("./commands/completion/declare.ts")).declareCompletion,
};

/** Nouns that look at all of the tree. */
const seeAll: ReadonlySet<string> = new Set(["commands"]);

/**
 * Builds the command tree. Where the words say which noun they are for, only that is loaded and declared: the others
 * would take longer than most commands do.
 */
export const program = async (start: Start, words?: readonly string[]): Promise<Command> => {
  const root = new Command("rollcall");
  root
    .configureHelp(helpLayout)
    .usage("<command> [options]")
    .description("Log trajectories to a training service, list its models, read traced calls.")
    .optionsGroup("service")
    .option("--profile <name>", "the saved profile to use")
    .option("--local", "use the service inside this program: nothing leaves the machine")
    .option("--project <team/project>", "the project that calls and usage belong to")
    .option("--base-url <url>", "the service's main address")
    .option("--inference-base-url <url>", "the address of the models")
    .option("--log-base-url <url>", "the address that trajectories are logged to")
    .optionsGroup("results")
    .option("--json", "print one JSON document, and errors as JSON")
    .addOption(new Option("-o, --output <format>", "table, tsv, json, jsonl or csv").choices(formats))
    .option("--fields <names>", "only these columns or keys, separated by commas")
    .option("--header", "a header line in tsv")
    .option("-q, --quiet", "no notices and no progress")
    .option("--no-color", "no colour")
    .option("--no-pager", "no pager")
    .option("--debug", "show requests and replies, without bodies or secrets")
    .optionsGroup("network")
    .option("--timeout <duration>", "longest silence of the service, such as 30s")
    .option("--max-wait <duration>", "bound of all retries together, such as 5m")
    .option("--insecure-http", "send credentials over plain http")
    .optionsGroup("help")
    .helpOption("-h, --help", "print the help of a command")
    .version(version, "-V, --version", "print the version");
  const noun = words === undefined ? undefined : nounOf(root, words);
  const declare = async (all: Nouns): Promise<void> => {
    for (const [name, load] of Object.entries(all)) {
      if (noun === undefined || noun === name) (await load())(root, start);
    }
  };
  await declare(nouns);
  root.commandsGroup("more");
  await declare(more);
  examples(root, ["rollcall catalog router kimi --local", "rollcall models --local --json"]);
  return root;
};

/** The noun that commander will find in the words; undefined where that is not as plain as can be. */
const nounOf = (root: Command, words: readonly string[]): string | undefined => {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-"))
      return Object.hasOwn({ ...nouns, ...more }, word) && !seeAll.has(word) ? word : undefined;
    const option = root.options.find(({ long, short }) => word === long || word === short);
    if (option === undefined) return undefined;
    if (option.required) at++;
  }
  return undefined;
};
