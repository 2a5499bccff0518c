/** Makes commander's objects from the records of commands, options and arguments. */
import { Argument, type CommanderError, Option, Command as Parser } from "commander";
import { invalidOptionValue } from "../system/failures.ts";
import type { Command } from "./command.ts";
import * as commands from "./command.ts";
import { camelCase, type OptionKind } from "./kinds.ts";

/** Facts that the parsers of one command line share, and set while they parse. */
export interface ParseState {
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
export const createParser = (command: Command, state: ParseState, owner?: Parser): Parser => {
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
    const argument = new Argument(commands.formatArgument(name, kind), kind.about).default(kind.initial);
    if (kind.choices) argument.choices(kind.choices);
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
  const option = new Option(commands.formatFlags(name, kind), kind.about)
    .default(kind.initial, kind.default)
    .conflicts(Object.keys(kind.conflicts ?? {}).map(camelCase));
  if (kind.group) option.helpGroup(kind.group);
  if (kind.choices) option.choices(kind.choices);
  // For example, `--no-ledger` has a value of its own, because it conflicts with `--ledger`.
  option.negate = false;
  option.argParser(createValueParser(`--${name}`, kind, state));
  const { given } = state;
  if (name === "help") {
    // `-h` prints less than `--help`.
    delete option.short;
    parser.addOption(new Option("-h").hideHelp()).on("option:h", () => given.set("h", []));
  }
  parser.addOption(option).on(`option:${option.name()}`, (word: string = "") => {
    given.set(name, [...(given.get(name) ?? []), word]);
  });
};

const createValueParser =
  (name: string, { parse, repeatable }: OptionKind<unknown>, { invalidValues }: ParseState) =>
  (word: string, previous: unknown) => {
    try {
      // The word after an option without its value.
      if (word === "--" && name.startsWith("--")) throw invalidOptionValue(name, word, "a value before --");
      const value = parse(word, name);
      return repeatable ? [previous ?? [], value].flat() : value;
    } catch (error) {
      invalidValues.push(error);
      return previous;
    }
  };
