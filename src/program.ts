/** The command tree and the global options, which read like the usage text, and what becomes of words that it does not take. */
import { type Argument, Command, type CommanderError, Option } from "commander";
import { version } from "../package.json" with { type: "json" };
import { examples, pathOf, screenHelp, verbsOf } from "./commands/help.ts";
import { allOptions, placeOf } from "./commands/words.ts";
import type { Start, Tree } from "./context.ts";
import { Failure } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { colorWhens, formats } from "./output/index.ts";

type Declare = (root: Command, start: Start, tree: Tree) => void;
type Nouns = Readonly<Record<string, () => Promise<Declare>>>;

/** The nouns and what declares them, in the order of the help. */
const nouns: Nouns = {
  log: async () => (await import("./commands/log/declare.ts")).declareLog,
  check: async () => (await import("./commands/check/declare.ts")).declareCheck,
  convert: async () => (await import("./commands/convert/declare.ts")).declareConvert,
  view: async () => (await import("./commands/view/declare.ts")).declareView,
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
  profile: async () => (await import("./commands/profile/declare.ts")).declareProfile,
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
    .addOption(new Option("--color <when>", "auto, always or never").choices(colorWhens))
    .option("--no-color", "no colour")
    .option("--no-pager", "no pager")
    .option("--debug", "show requests and replies, without bodies or secrets")
    .optionsGroup("network")
    .option("--timeout <duration>", "longest silence of the service, such as 30s")
    .option("--max-wait <duration>", "bound of all retries together, such as 5m")
    .option("--insecure-http", "send credentials over plain http")
    .optionsGroup("help")
    .helpOption("-h, --help", "print the help of a command: -h one screen, --help all of it")
    .version(version, "-V, --version", "print the version");
  const [word = ""] = words === undefined ? [] : placeOf(root, words).arguments;
  const noun = Object.hasOwn({ ...nouns, ...more }, word) && !seeAll.has(word) ? word : undefined;
  const declare = async (all: Nouns): Promise<void> => {
    for (const [name, load] of Object.entries(all)) {
      if (noun === undefined || noun === name)
        (await load())(root, start, { open: (one) => program(start, [one]), obey });
    }
  };
  await declare(nouns);
  root.commandsGroup("more");
  await declare(more);
  examples(root, ["rollcall catalog router kimi --local"]);
  return root;
};

/**
 * Does what words ask for. Resolves with the text that they ask for, given the columns that it may take: a help or the version.
 * @throws Failure what the command ends with; `words-wrong`, `verb-missing`, `option-value-wrong` for words that it does not take
 */
export const obey = async (words: readonly string[], start: Start): Promise<Answer | undefined> => {
  const root = await program(start, words);
  const {
    command,
    help = words.length === 0 ? "screen" : undefined,
    arguments: [unknown],
  } = placeOf(root, words);
  if (help !== undefined) {
    if (unknown !== undefined && command.commands.length > 0) throw commandUnknown(command, unknown);
    if (help === "screen") return (columns) => screenHelp(command, columns);
    const { wholeHelp } = await import("./commands/commands/manual.ts");
    return (columns) => wholeHelp(command, columns);
  }
  let printed = "";
  prepare(root, (text) => {
    printed += text;
  });
  root.hook("preAction", (_, action) => requireTaken(action));
  try {
    await root.parseAsync([...words], { from: "user" });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof Stopped)) throw thrown;
    if (thrown.reason.exitCode === 0) return () => printed;
    throw usageFailure(thrown, words);
  }
};

/** A text, laid out for so many columns. */
type Answer = (columns: number) => string;

/** Commander's way of ending, with the command that it happened in. */
class Stopped extends Error {
  readonly command: Command;
  readonly reason: CommanderError;
  constructor(command: Command, reason: CommanderError) {
    super(reason.code);
    this.command = command;
    this.reason = reason;
  }
}

/** Makes commander throw instead of exit, keeps what it would print, and has wrong choices told as all wrong values are. */
const prepare = (command: Command, print: (text: string) => void): void => {
  command.exitOverride((reason) => {
    throw new Stopped(command, reason);
  });
  command.configureOutput({ writeOut: print, writeErr: () => undefined });
  for (const taker of [...command.options, ...command.registeredArguments]) tellChoices(taker);
  for (const child of command.commands) prepare(child, print);
};

/** Lets a value that is none of the choices end as `option-value-wrong`. */
const tellChoices = (taker: Option | Argument): void => {
  const { argChoices: choices, parseArg: parse } = taker;
  if (choices === undefined || parse === undefined) return;
  taker.argParser((value, previous) => {
    if (choices.includes(value)) return parse.call(taker, value, previous);
    throw new Failure("option-value-wrong", {
      option: "flags" in taker ? (taker.long ?? taker.flags) : `<${taker.name()}>`,
      value,
      wanted: choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`,
      suggestion: nearest(value, choices),
    });
  });
};

/** Refuses options of a command above that have no effect on one below it. @throws Failure `words-wrong` */
const requireTaken = (command: Command): void => {
  const taken = allOptions(command);
  for (const above of parentsOf(command)) {
    const isTyped = (option: Option): boolean => above.getOptionValueSource(option.attributeName()) === "cli";
    const stray = above.options.find((option) => isTyped(option) && !taken.some(({ long }) => long === option.long));
    if (stray === undefined) continue;
    const text = `unknown option '${stray.long ?? stray.flags}'`;
    throw new Failure("words-wrong", { text, suggestion: undefined, command: pathOf(command) });
  }
};

const commandUnknown = (command: Command, word: string): Failure => {
  const meant = nearest(
    word,
    verbsOf(command).map((one) => one.name()),
  );
  const suggestion = meant === undefined ? undefined : `(Did you mean ${meant}?)`;
  return new Failure("words-wrong", { text: `unknown command '${word}'`, suggestion, command: pathOf(command) });
};

/** What commander ended with, as a failure. */
const usageFailure = ({ command, reason }: Stopped, argv: readonly string[]): Failure => {
  if (reason.code === "commander.help") {
    const verbs = command.commands.map((verb) => verb.name());
    return new Failure("verb-missing", { command: pathOf(command), verbs, help: screenHelp(command) });
  }
  const [, text = "", near] = /^(?:error: )?(.*?)(?:\n(\(Did you mean [^\n]*\)))?$/s.exec(reason.message) ?? [];
  const valued = reason.code === "commander.unknownOption" ? valuedFlag(command, argv) : undefined;
  if (valued !== undefined) {
    return new Failure("words-wrong", {
      text: `${valued} takes no value`,
      suggestion: undefined,
      command: pathOf(command),
    });
  }
  const elsewhere = reason.code === "commander.unknownCommand" ? meantElsewhere(command, text) : undefined;
  return new Failure("words-wrong", { text, suggestion: elsewhere ?? near, command: pathOf(command) });
};

/** What people look for under another noun. */
const otherNames = new Map([
  ["calls", "ledger calls"],
  ["call list", "ledger calls"],
  ["call ls", "ledger calls"],
  ["call calls", "ledger calls"],
  ["signin", "auth login"],
  ["whoami", "auth status"],
  ["init", "auth login"],
]);

/** The command that a word without its noun was meant for: `login` for `auth login`. */
const meantElsewhere = (command: Command, text: string): string | undefined => {
  const [, word = ""] = /'(.*)'/s.exec(text) ?? [];
  const typed = [pathOf(command), word].join(" ").replace(/^rollcall /, "");
  const verbs = command.commands.flatMap((noun) => noun.commands).filter((verb) => verb.name() === word);
  const meant =
    otherNames.get(typed) ??
    (verbs.length === 1
      ? verbs
          .map(pathOf)
          .join()
          .replace(/^rollcall /, "")
      : undefined);
  return meant === undefined ? undefined : `(Did you mean ${meant}?)`;
};

/** An option without a value that was given one: what stands behind `--with-token=` may be a key, and is not printed. */
const valuedFlag = (command: Command, argv: readonly string[]): string | undefined => {
  const flags = [command, ...parentsOf(command)].flatMap(({ options }) => options.filter(({ required }) => !required));
  return flags.find(({ long }) => argv.some((word) => word.startsWith(`${long}=`)))?.long ?? undefined;
};

const parentsOf = ({ parent }: Command): readonly Command[] => (parent === null ? [] : [parent, ...parentsOf(parent)]);
