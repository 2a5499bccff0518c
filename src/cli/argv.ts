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
import { type Kinds, parseKinds } from "./kinds.ts";

export type ParsedArgv = Awaited<ReturnType<typeof parseArgv>>;

/** Does not throw for invalid input, because `runCommand` does. */
export const parseArgv = async (program: Program, argv: readonly string[]) => {
  /** By name without dashes. The value of a flag is empty. */
  const given = new Map<string, readonly string[]>();
  let [command, parser] = [program.root, createParser(program.root, given)];
  const ancestors: Command[] = [];
  let operands: readonly string[] = [];
  /** The first word that is an unknown option, and all words after that word. */
  let unknown = argv;
  let hasHelpWord = false;
  let parseError: CommanderError | undefined;
  for (;;) {
    try {
      const result = parser.parseOptions([...unknown]);
      operands = [...operands, ...result.operands];
      unknown = result.unknown;
    } catch (thrown) {
      if (!(thrown instanceof CommanderError)) throw thrown;
      parseError = thrown;
      break;
    }
    if (command === program.root) {
      command = await loadTreeFor(program, operands[0]);
      addSubcommands(parser, command, given);
    }
    if (command.subcommands.length > 0 && operands[0] === "help") {
      operands = operands.slice(1);
      hasHelpWord = true;
    }
    const [word] = operands;
    const next = command.subcommands.find((one) => commands.lastWord(one) === word);
    if (next === undefined) break;
    ancestors.push(command);
    command = next;
    parser = parser.commands.find((child) => child.name() === word) ?? parser;
    operands = operands.slice(1);
  }
  const wantsFullHelp = hasHelpWord || given.has("help");
  const help = wantsFullHelp ? "full" : given.has("h") || argv.length === 0 ? "short" : undefined;
  return { command, ancestors, given, operands, unknown, help, parser, parseError };
};

const loadTreeFor = async (program: Program, word = "") => {
  const nouns = { ...program.nouns, ...program.hidden };
  const load = Object.hasOwn(nouns, word) ? nouns[word] : undefined;
  return load === undefined ? await commands.loadTree(program) : { ...program.root, subcommands: [await load()] };
};

const createParser = (command: Command, given: Map<string, readonly string[]>) => {
  const parser = new Parser(commands.lastWord(command) || "rollcall").exitOverride();
  parser.configureOutput({ writeOut: () => undefined, writeErr: () => undefined }).helpOption(false);
  for (const [name, kind] of Object.entries(command.options)) {
    const flags = name === "help" ? ["-h", "--help"] : [commands.formatFlags(name, kind)];
    for (const option of flags.map((flag) => new Option(flag, kind.about).hideHelp(flag === "-h"))) {
      parser.addOption(option).on(`option:${option.name()}`, (word: string | null = "") => {
        // If `--color` and `--no-color` are given, the last one counts.
        given.delete(option.negate ? name.replace("no-", "") : `no-${name}`);
        given.set(option.name(), [...(given.get(option.name()) ?? []), word ?? ""]);
      });
    }
  }
  for (const [name, kind] of Object.entries(command.args))
    parser.addArgument(new Argument(commands.formatArgument(name, kind, "...")));
  addSubcommands(parser, command, given);
  return command.run === undefined ? parser : parser.action(() => undefined);
};

const addSubcommands = (parser: Parser, { subcommands }: Command, given: Map<string, readonly string[]>) => {
  for (const subcommand of subcommands) parser.addCommand(createParser(subcommand, given));
};

/** @throws Failure `invalid-arguments`, `subcommand-missing` */
const validateArgv = (parsed: ParsedArgv) => {
  const { command, ancestors, given, operands, unknown, help, parser, parseError } = parsed;
  const [word] = operands;
  if (help !== undefined) {
    if (word === undefined || command.subcommands.length === 0) return;
    throw argumentsFailure(command, `unknown command '${word}'`, suggestCommand(parsed));
  }
  if (given.has("version")) return;
  if (parseError !== undefined) throw toArgumentsFailure(parsed, parseError);
  if (command.run === undefined && operands.length + unknown.length === 0)
    throw subcommandMissing(
      { command: commands.formatInvocation(command), subcommands: command.subcommands.map(commands.lastWord) },
      (columns) => formatShortHelp(command, columns),
    );
  try {
    parser.parse(unknown.length === 0 ? ["--", ...operands] : [...operands, ...unknown], { from: "user" });
  } catch (thrown) {
    throw thrown instanceof CommanderError ? toArgumentsFailure(parsed, thrown) : thrown;
  }
  // commander also accepts the options of a verb's parents.
  for (const parent of ancestors.slice(1)) {
    const unknownOption = Object.keys(parent.options).find(
      (name) => given.has(name) && !Object.hasOwn(command.options, name),
    );
    if (unknownOption !== undefined) throw argumentsFailure(command, `unknown option '--${unknownOption}'`);
  }
};

export const listOptions = (command: Command, root: Command): Kinds => {
  if (command.words === "") return root.options;
  const { version: _, ...globalKinds } = root.options;
  // The command's own options are first, and override global options of the same name.
  return { ...command.options, ...globalKinds, ...command.options };
};

const argumentsFailure = (command: Command, text: string, suggestion?: string) =>
  invalidArguments({ text, suggestion, command: commands.formatInvocation(command) });

const toArgumentsFailure = (parsed: ParsedArgv, reason: CommanderError) => {
  const { command, ancestors, unknown } = parsed;
  if (reason.code === "commander.unknownOption") {
    // The text after `--with-token=` may be a key, so it is not printed.
    const options = [...ancestors, command].flatMap((each) => Object.entries(each.options));
    const flags = options.flatMap(([name, { placeholder }]) => (placeholder === undefined ? [`--${name}`] : []));
    const flagWithValue = flags.find((name) => unknown.some((word) => word.startsWith(`${name}=`)));
    if (flagWithValue !== undefined) return argumentsFailure(command, `${flagWithValue} takes no value`);
  }
  const [, text = "", near] = /^(?:error: )?(.*?)(?:\n(\(Did you mean [^\n]*\)))?$/s.exec(reason.message) ?? [];
  const suggestion = reason.code === "commander.unknownCommand" ? suggestCommand(parsed) : near;
  const missingValue = /^option '(?:-\w, )?(--\S+)(.*)' argument missing$/;
  return argumentsFailure(command, text.replace(missingValue, "$1 requires a value: $1$2"), suggestion);
};

/** Suggests `auth login` for `login`, `ledger calls` for `call list`, or a command with a similar name. */
const suggestCommand = ({ command, operands: [word = ""] }: ParsedArgv) => {
  const below = command.subcommands.flatMap(({ subcommands }) => subcommands);
  const sameWord = below.filter((one) => commands.lastWord(one) === word);
  const meansLedgerCalls = ["calls", "call list"].includes(`${command.words} ${word}`.trimStart());
  const [meant, ...others] = meansLedgerCalls ? ["ledger calls"] : sameWord.map(({ words }) => words);
  const elsewhere = others.length > 0 ? undefined : meant;
  const near = elsewhere ?? findNearest(word, command.subcommands.map(commands.lastWord));
  return near === undefined ? undefined : `(Did you mean ${near}?)`;
};

/** Runs the command. For help and `--version`, returns a function that formats the text instead. @throws Failure */
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
  const names = Object.keys(command.args);
  const args = parseKinds(command.args, {
    typed: (name) => {
      const at = names.indexOf(name);
      return operands.slice(at, command.args[name]?.repeatable === true ? undefined : at + 1);
    },
    nameOf: (name) => `<${name}>`,
  });
  const optionValues = parseKinds(command.options, options);
  await command.run?.(context, { ...args, ...optionValues }, program);
  return undefined;
};
