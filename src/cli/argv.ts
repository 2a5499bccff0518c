/** Parses argv with commander, and runs the command. */
import { Argument, CommanderError, Option, Command as Parser } from "commander";
import { version } from "../../package.json" with { type: "json" };
import type { Context } from "../context.ts";
import { invalidArguments, subcommandMissing } from "../failures.ts";
import { findNearest } from "../nearest.ts";
import type { Command, Program } from "./command.ts";
import * as commands from "./command.ts";
import { type GlobalValues, globalOptions } from "./globals.ts";
import { formatFullHelp, formatShortHelp } from "./help.ts";
import { type OptionKinds, parseKinds } from "./kinds.ts";

export type ParsedArgv = Awaited<ReturnType<typeof parseArgv>>;

/** Writes `--sort -column` as one word, because commander would read `-column` as options. */
const joinSortWords = (argv: readonly string[]) =>
  argv.flatMap((word, at) => {
    if (at > 0 && argv[at - 1] === "--sort" && /^-\w/.test(word)) return [];
    const value = argv[at + 1] ?? "";
    return word === "--sort" && /^-\w/.test(value) ? [`--sort=${value}`] : [word];
  });

export const parseArgv = async (program: Program, words: readonly string[]) => {
  const argv = joinSortWords(words);
  /** Values of options, by name without dashes. */
  const given = new Map<string, readonly string[]>();
  const typed = listOperands(program.root, argv);
  const root = await loadTreeFor(program, typed[0] ?? "");
  let verbs = root.subcommands;
  const helpPosition = typed.findIndex((word) => {
    if (word === "help" && verbs.length > 0) return true;
    verbs = verbs.find((verb) => commands.lastWord(verb) === word)?.subcommands ?? [];
    return false;
  });
  const hasHelpWord = helpPosition >= 0;
  /** Position of the `help` that is not the value of an option. */
  const helpIndex = hasHelpWord
    ? argv.findIndex((_, at) => listOperands(program.root, argv.slice(0, at + 1)).length > helpPosition)
    : argv.length;
  const ancestors: Command[] = [];
  let [command, parser] = [
    root,
    createParser(root, given, (child, childParser) => {
      ancestors.push(command);
      [command, parser] = [child, childParser];
    }),
  ];
  let error: CommanderError | undefined;
  try {
    parser.parse(argv.toSpliced(helpIndex, 1), { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    error = thrown;
  }
  const wantsFullHelp = hasHelpWord || given.has("help");
  const help = wantsFullHelp ? "full" : given.has("h") || argv.length === 0 ? "short" : undefined;
  /** Includes the first unknown option and all later words. */
  const operands: readonly string[] = parser.args;
  return { command, ancestors, given, operands, help, error };
};

/** Returns the operands before the first option that is not global. */
const listOperands = (root: Command, argv: readonly string[]) => {
  try {
    return createParser(root, new Map()).parseOptions([...argv]).operands;
  } catch {
    return [];
  }
};

const loadTreeFor = async (program: Program, word: string) => {
  const nouns = { ...program.nouns, ...program.hidden };
  const load = Object.hasOwn(nouns, word) ? nouns[word] : undefined;
  return load ? { ...program.root, subcommands: [await load()] } : await commands.loadTree(program);
};

/** @param enter receives each subcommand in argv, outermost first */
const createParser = (
  command: Command,
  given: Map<string, readonly string[]>,
  enter: (command: Command, parser: Parser) => void = () => undefined,
) => {
  const parser = new Parser(commands.lastWord(command) || "rollcall").exitOverride();
  parser
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .showSuggestionAfterError(false)
    .helpOption(false)
    .helpCommand(false);
  for (const [name, kind] of Object.entries(command.options)) {
    const flags = name === "help" ? ["-h", "--help"] : [commands.formatFlags(name, kind)];
    for (const option of flags.map((flag) => new Option(flag, kind.about).hideHelp(flag === "-h"))) {
      parser.addOption(option).on(`option:${option.name()}`, (word: string | null = "") => {
        // The last of `--color` and `--no-color` applies, but `--ledger` conflicts with `--no-ledger`.
        const opposite = option.negate ? name.replace("no-", "") : `no-${name}`;
        const conflicts = { ...kind.conflicts, ...command.options[opposite]?.conflicts };
        if (!Object.hasOwn(conflicts, option.negate ? opposite : name)) given.delete(opposite);
        given.set(option.name(), [...(given.get(option.name()) ?? []), word ?? ""]);
      });
    }
  }
  for (const [name, kind] of Object.entries(command.args))
    parser.addArgument(new Argument(commands.formatArgument(name, kind)));
  const children = new Map(command.subcommands.map((child) => [createParser(child, given, enter), child]));
  for (const child of children.keys()) parser.addCommand(child);
  parser.hook("preSubcommand", (_, child) => {
    const subcommand = children.get(child);
    if (subcommand) enter(subcommand, child);
  });
  return command.run ? parser.action(() => undefined) : parser;
};

/** @throws Failure `invalid-arguments`, `subcommand-missing` */
const validateArgv = ({ command, ancestors, given, operands, help, error }: ParsedArgv) => {
  const invocation = commands.formatInvocation(command);
  const names = command.subcommands.map(commands.lastWord);
  const isUnknownCommand = error?.code === "commander.unknownCommand";
  if (given.has("version") || (help && !isUnknownCommand)) return;
  if (error?.code === "commander.help")
    throw subcommandMissing(invocation, names, (columns) => formatShortHelp(command, columns));
  // commander accepts all options of parent commands, but rollcall accepts only global options.
  const stray = ancestors
    .slice(1)
    .flatMap((parent) => Object.keys(parent.options))
    .find((name) => given.has(name) && !Object.hasOwn(command.options, name));
  const seeHelp = `see \`${invocation} --help\``;
  if (stray) throw invalidArguments(`unknown option '--${stray}'`, seeHelp);
  if (!error) return;
  const known = [...ancestors, command].flatMap(({ options }) => Object.keys(options));
  if (error.code === "commander.unknownOption") throw unknownOption(operands, known, seeHelp);
  const suggestion = isUnknownCommand ? suggestCommand(command, operands[0] ?? "") : undefined;
  throw invalidArguments(error.message.slice(errorPrefix.length), suggestion ? `did you mean ${suggestion}?` : seeHelp);
};

/** commander starts all messages with this text. */
const errorPrefix = "error: ";

/** The message omits the value of an unknown option, because the value may be a secret. */
const unknownOption = (operands: readonly string[], known: readonly string[], seeHelp: string) => {
  const dashed = operands.filter((word) => /^-./.test(word));
  // commander accepts negative numbers as operands of a command without subcommands.
  const [flag = "", ...value] = (dashed.find((word) => Number.isNaN(Number(word))) ?? dashed[0] ?? "").split("=");
  const name = flag.startsWith("--") ? flag.slice(2) : "";
  if (value.length > 0 && known.includes(name))
    return invalidArguments(`--${name} takes no value`, `write --${name} without =`);
  const nearest = name && findNearest(name, known);
  return invalidArguments(`unknown option '${flag}'`, nearest ? `did you mean --${nearest}?` : seeHelp);
};

const suggestCommand = ({ elsewhere, subcommands }: Command, word: string) => {
  const verbs = subcommands.flatMap((noun) => noun.subcommands);
  const [verb, ...others] = verbs.filter((one) => commands.lastWord(one) === word);
  const isOnlyVerb = verb && others.length === 0;
  return elsewhere?.[word] ?? (isOnlyVerb ? verb.words : findNearest(word, subcommands.map(commands.lastWord)));
};

export const listOptions = (command: Command, { options }: Command): OptionKinds => {
  if (command.words === "") return options;
  const { version: _, ...globalKinds } = options;
  // Own options come first and override global options.
  return { ...command.options, ...globalKinds, ...command.options };
};

/** For help and `--version`, returns a function that formats the text. @throws Failure */
export const runCommand = async (
  program: Program,
  parsed: ParsedArgv,
  start: (globals: GlobalValues) => Context | Promise<Context>,
): Promise<((columns: number) => string) | undefined> => {
  const { command, ancestors, given, operands, help } = parsed;
  validateArgv(parsed);
  if (help === "short") return (columns) => formatShortHelp(command, columns);
  if (help === "full") return (columns) => formatFullHelp(command, ancestors[0], columns);
  if (given.has("version")) return () => `${version}\n`;
  const options = { typed: (name: string) => given.get(name) ?? [], nameOf: (name: string) => `--${name}` };
  const context = await start(parseKinds(globalOptions, options));
  const args = parseKinds(command.args, {
    typed: (name) => {
      const at = Object.keys(command.args).indexOf(name);
      return operands.slice(at, command.args[name]?.repeatable ? undefined : at + 1);
    },
    nameOf: (name) => `<${name}>`,
  });
  await command.run?.(context, { ...args, ...parseKinds(command.options, options) }, program);
  return undefined;
};
