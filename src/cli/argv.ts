/** Parses argv with commander, and runs the command. */
import { Argument, CommanderError, Option, Command as Parser } from "commander";
import { version } from "../../package.json" with { type: "json" };
import type { Failure } from "../failure.ts";
import type { Context } from "../session/context.ts";
import * as failures from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";
import { isInvalid, reject } from "../text/units.ts";
import type { Command, Program } from "./command.ts";
import * as commands from "./command.ts";
import type { GlobalValues } from "./globals.ts";
import { camelCase, type OptionKind, type OptionKinds } from "./kinds.ts";

interface ParsedArgv extends LastParser, Pick<ParseState, "given" | "invalidValues"> {
  readonly root: Command;
  readonly globals: GlobalValues;
  readonly help: "full" | "short" | undefined;
}

/** Writes `--sort -column` as one word, because commander would read `-column` as options. */
const joinSortWords = (argv: readonly string[]) =>
  argv.flatMap((word, at) => {
    if (at > 0 && argv[at - 1] === "--sort" && /^-\w/.test(word)) return [];
    const value = argv[at + 1] ?? "";
    return word === "--sort" && /^-\w/.test(value) ? [`--sort=${value}`] : [word];
  });

export const parseArgv = async (program: Program, words: readonly string[]): Promise<ParsedArgv> => {
  const argv = joinSortWords(words);
  const root = await loadTreeFor(program, argv);
  const state: ParseState = { given: new Map(), invalidValues: [], hasHelpWord: argv.includes("help") };
  const { given, invalidValues } = state;
  const rootParser = createParser(root, state);
  tryToParse(() => rootParser.parse(argv, { from: "user" }));
  const { command = root, parser = rootParser, operands = [], error } = state.last ?? {};
  const help = given.has("help") ? "full" : given.has("h") || argv.length === 0 ? "short" : undefined;
  const globals = rootParser.opts<GlobalValues>();
  return { root, command, parser, operands, given, globals, invalidValues, help, error };
};

/** Facts that the parsers of one command line share, and set while they parse. */
interface ParseState {
  /** Words of options, by name without dashes. */
  readonly given: Map<string, readonly string[]>;
  /** Errors of values. An error is printed as all options of the command line require. */
  readonly invalidValues: unknown[];
  /** True if `help` may be a command. */
  readonly hasHelpWord: boolean;
  last?: LastParser;
}

interface LastParser {
  readonly command: Command;
  readonly parser: Parser;
  /** Includes the first unknown option and all later words. */
  readonly operands: readonly string[];
  readonly error: CommanderError | undefined;
}

/** @param owner the parser of the command, if the parser to create is its `help` */
const createParser = (command: Command, state: ParseState, owner?: Parser): Parser => {
  const parser = new Parser(owner ? "help" : commands.lastWord(command) || "rollcall");
  const end = (error?: CommanderError) => {
    state.last = { command, parser: owner ?? parser, operands: parser.args, error };
    if (error) throw error;
  };
  parser
    .exitOverride(end)
    // `run.ts` prints errors as text or JSON, and prints help when it knows the screen.
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ formatHelp: () => "" })
    .showSuggestionAfterError(false)
    .helpOption(false)
    .helpCommand(false);
  for (const [name, kind] of Object.entries(command.options)) addOption(parser, state, name, kind);
  for (const [name, kind] of Object.entries(command.args)) {
    const argument = new Argument(commands.formatArgument(name, kind)).default(kind.initial);
    parser.addArgument(argument.argParser(createValueParser(`<${name}>`, kind, state)));
  }
  for (const child of command.subcommands) parser.addCommand(createParser(child, state));
  if (state.hasHelpWord && !owner && command.subcommands.length > 0) {
    const help = createParser(command, state, parser);
    parser.addCommand(help).hook("preSubcommand", (_, child) => {
      if (child === help) state.given.set("help", []);
    });
  }
  return command.run ? parser.action(() => end()) : parser;
};

const addOption = (parser: Parser, state: ParseState, name: string, kind: OptionKind<unknown>) => {
  const option = new Option(commands.formatFlags(name, kind)).default(kind.initial);
  // For example, `--no-ledger` has a value of its own, because it conflicts with `--ledger`.
  option.negate = false;
  option.argParser(createValueParser(`--${name}`, kind, state));
  const { given } = state;
  if (name === "help") {
    // `-h` prints less than `--help`.
    delete option.short;
    parser.option("-h").on("option:h", () => given.set("h", []));
  }
  parser.addOption(option).on(`option:${option.name()}`, (word: string = "") => {
    given.set(name, [...(given.get(name) ?? []), word]);
  });
};

const createValueParser =
  (name: string, { parse, repeatable }: OptionKind<unknown>, { invalidValues }: ParseState) =>
  (word: string, previous: unknown) => {
    // The word after an option without its value.
    const value = word === "--" && name.startsWith("--") ? reject("a value before --") : parse(word);
    if (!isInvalid(value)) return repeatable ? [previous ?? [], value].flat() : value;
    const { wanted, part = word, suggestion } = value;
    invalidValues.push(failures.invalidOptionValue(name, part, wanted, suggestion));
    return previous;
  };

const tryToParse = <Result>(parse: () => Result) => {
  try {
    return parse();
  } catch (error) {
    if (error instanceof CommanderError) return undefined;
    throw error;
  }
};

const findNoun = ({ root }: Program, argv: readonly string[]) => {
  const parser = createParser(root, { given: new Map(), invalidValues: [], hasHelpWord: false });
  const [word = ""] = tryToParse(() => parser.parseOptions([...argv]).operands) ?? [];
  return word;
};

/** Loads the noun, which is the first operand before the first option that is not global. */
const loadTreeFor = async (program: Program, argv: readonly string[]) => {
  const nouns = { ...program.nouns, ...program.hidden };
  const word = argv[0] !== undefined && Object.hasOwn(nouns, argv[0]) ? argv[0] : findNoun(program, argv);
  const load = Object.hasOwn(nouns, word) ? nouns[word] : undefined;
  return load ? { ...program.root, subcommands: [await load()] } : await commands.loadTree(program);
};

/** @throws Failure `invalid-arguments`, `subcommand-missing`, `conflicting-options`, `required-option-missing` */
const validateArgv = async (parsed: ParsedArgv) => {
  const { root, command, given, globals, invalidValues, error } = parsed;
  if (error?.code === "commander.help") {
    const { formatShortHelp } = await import("./help.ts");
    const names = command.subcommands.map(commands.lastWord);
    const help = (columns: number | undefined) => formatShortHelp(command, columns);
    throw failures.subcommandMissing(commands.formatInvocation(command), names, help);
  }
  if (error) throw toUsageFailure(parsed, error);
  for (const [name, kind] of Object.entries(listOptions(command, root))) {
    const { placeholder, repeatable, needs, conflicts = {} } = kind;
    const words = given.get(name);
    if (!words) continue;
    if (placeholder && !repeatable && words.length > 1)
      throw failures.invalidArguments(
        `--${name} is given ${words.length} times, but takes one value`,
        `pass --${name} once`,
      );
    for (const [other, reason] of Object.entries(conflicts))
      if (given.has(other)) throw failures.conflictingOptions(`--${name}`, `--${other}`, reason);
    if (needs && !needs.split("|").some((need) => given.has(need)))
      throw failures.requiredOptionMissing(`--${name}`, `--${needs.replaceAll("|", " or --")}`);
  }
  const { json, output = "json" } = globals;
  if (json && output !== "json") throw failures.conflictingOptions("--json", `-o ${output}`, "--json means -o json");
  if (invalidValues.length > 0) throw invalidValues[0];
};

const toUsageFailure = (parsed: ParsedArgv, { code, message }: CommanderError): Failure => {
  const { command, operands } = parsed;
  const seeHelp = `see \`${commands.formatInvocation(command)} --help\``;
  if (code === "commander.unknownOption") return unknownOption(parsed, seeHelp);
  const suggestion = code === "commander.unknownCommand" && suggestCommand(command, operands[0] ?? "");
  // commander starts all messages with `error: `.
  return failures.invalidArguments(
    message.slice("error: ".length),
    suggestion ? `did you mean ${suggestion}?` : seeHelp,
  );
};

/** The message omits the value of an unknown option, because the value may be a secret. */
const unknownOption = ({ root, command, operands }: ParsedArgv, seeHelp: string) => {
  const dashed = operands.filter((word) => /^-./.test(word));
  // commander accepts negative numbers as operands of a command without subcommands.
  const [flag = "", ...value] = (dashed.find((word) => Number.isNaN(Number(word))) ?? dashed[0] ?? "").split("=");
  const name = flag.startsWith("--") ? flag.slice(2) : "";
  const known = [root, command].flatMap(({ options }) => Object.keys(options));
  if (value.length > 0 && known.includes(name))
    return failures.invalidArguments(`--${name} takes no value`, `write --${name} without =`);
  const nearest = name && findNearest(name, known);
  return failures.invalidArguments(`unknown option '${flag}'`, nearest ? `did you mean --${nearest}?` : seeHelp);
};

const suggestCommand = ({ subcommands }: Command, word: string) => {
  const verbs = subcommands.flatMap((noun) => noun.subcommands);
  const [verb, ...others] = verbs.filter((one) => commands.lastWord(one) === word);
  const isOnlyVerb = verb && others.length === 0;
  return isOnlyVerb ? verb.words : findNearest(word, subcommands.map(commands.lastWord));
};

export const listOptions = (command: Command, root: Command): OptionKinds => ({ ...command.options, ...root.options });

/** For help and `--version`, returns a function that formats the text. @throws Failure */
export const runCommand = async (
  program: Program,
  parsed: ParsedArgv,
  start: (globals: GlobalValues) => Context | Promise<Context>,
): Promise<((columns: number) => string) | undefined> => {
  const { root, command, parser, given, globals, help, error } = parsed;
  if (help && error?.code !== "commander.unknownCommand") {
    const { formatFullHelp, formatShortHelp } = await import("./help.ts");
    return (columns) => (help === "full" ? formatFullHelp(command, root, columns) : formatShortHelp(command, columns));
  }
  if (given.has("version")) return () => `${version}\n`;
  await validateArgv(parsed);
  const context = await start(globals);
  const args = Object.keys(command.args).map((name, at) => [camelCase(name), parser.processedArgs[at]]);
  await command.run?.(context, { ...Object.fromEntries(args), ...parser.opts() }, program);
  return undefined;
};
