/** The command tree and the global options, which read like the usage text, and what becomes of words that it does not take. */
import { type Argument, Command, type CommanderError, Option } from "commander";
import { version } from "../package.json" with { type: "json" };
import { examples, helpLayout } from "./commands/help.ts";
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
    .addOption(new Option("--color <when>", "auto, always or never").choices(colorWhens))
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

/**
 * Does what words ask for. Resolves with the help or the version where they ask for that.
 * @throws Failure what the command ends with; `words-wrong`, `verb-missing`, `option-value-wrong` for words that it does not take
 */
export const obey = async (words: readonly string[], start: Start): Promise<string | undefined> => {
  const root = await program(start, words);
  const help = { text: "" };
  prepare(root, help);
  try {
    await root.parseAsync([...helpMeant(root, words)], { from: "user" });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof Stopped)) throw thrown;
    const { command, reason } = thrown;
    if (reason.exitCode === 0) return help.text;
    // No word at all asks for the help too.
    if (command === root && reason.code === "commander.help") return root.helpInformation();
    throw usageFailure(thrown, words);
  }
};

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
const prepare = (command: Command, help: { text: string }): void => {
  command.exitOverride((reason) => {
    throw new Stopped(command, reason);
  });
  command.configureOutput({
    writeOut: (text) => {
      help.text += text;
    },
    writeErr: () => undefined,
  });
  for (const taker of [...command.options, ...command.registeredArguments]) tellChoices(taker);
  for (const child of command.commands) prepare(child, help);
};

/** Lets a value that is none of the choices end as `option-value-wrong`. */
const tellChoices = (taker: Option | Argument): void => {
  const { argChoices: choices, parseArg: parse } = taker;
  if (choices === undefined || parse === undefined) return;
  taker.argParser((value, previous) => {
    if (choices.includes(value)) return parse.call(taker, value, previous);
    const suggestion = nearest(value, choices);
    throw new Failure("option-value-wrong", {
      option: "flags" in taker ? (taker.long ?? taker.flags) : `<${taker.name()}>`,
      value,
      wanted: choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`,
      ...(suggestion === undefined ? {} : { suggestion }),
    });
  });
};

/**
 * Where help is asked for, the words as commander takes them: `help ledger status`, of which it looks at the first word
 * alone, and `-h ledger status`, as `ledger status -h`.
 * @throws Failure `words-wrong`
 */
const helpMeant = (root: Command, argv: readonly string[]): readonly string[] => {
  const typed = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
  const asked = typed.find((word) => word === "-h" || word === "--help");
  if (asked !== undefined) return helpAsked(root, typed, asked);
  if (argv[0] !== "help") return argv;
  const path: string[] = [];
  let command = root;
  for (const word of argv.slice(1).filter((one) => !one.startsWith("-") && one !== "help")) {
    // What stands behind a command that has no verbs is its arguments.
    if (command.commands.length === 0) break;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) throw commandUnknown(command, word);
    path.push(word);
    command = next;
  }
  return [...path, "--help"];
};

/** Words among which one asks for help, which is that of the command that the others name. */
const helpAsked = (root: Command, words: readonly string[], asked: string): readonly string[] => {
  const path: string[] = [];
  let command = root;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word.startsWith("-")) {
      const option = [root, command]
        .flatMap(({ options }) => options)
        .find(({ long, short }) => [long, short].includes(word));
      if (option?.required === true) at++;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined && command.commands.length > 0) return words;
    if (next === undefined) break;
    path.push(word);
    command = next;
  }
  return [...path, asked];
};

const commandUnknown = (command: Command, word: string): Failure => {
  const names = command.createHelp().visibleCommands(command);
  const meant = nearest(
    word,
    names.map((one) => one.name()),
  );
  const suggestion = meant === undefined ? undefined : `(Did you mean ${meant}?)`;
  return new Failure("words-wrong", { text: `unknown command '${word}'`, suggestion, command: pathOf(command) });
};

/** Path of a command as it is typed. */
const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** What commander ended with, as a failure. */
const usageFailure = ({ command, reason }: Stopped, argv: readonly string[]): Failure => {
  if (reason.code === "commander.help") {
    const verbs = command.commands.map((verb) => verb.name());
    return new Failure("verb-missing", { command: pathOf(command), verbs, help: command.helpInformation() });
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
