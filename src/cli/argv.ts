/** Parses argv with commander, and runs the command. */
import { CommanderError } from "commander";
import { version } from "../../package.json" with { type: "json" };
import type { Failure } from "../failure.ts";
import type { Context } from "../session/context.ts";
import { conflictingOptions, invalidArguments, requiredOptionMissing, subcommandMissing } from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";
import type { Command, Program } from "./command.ts";
import * as commands from "./command.ts";
import type { GlobalValues } from "./globals.ts";
import { camelCase, type OptionKinds } from "./kinds.ts";
import { createParser, type ParseState } from "./parser.ts";

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
  const root = await loadTreeFor(program, findNoun(program.root, argv));
  const state: ParseState = { given: new Map(), invalidValues: [], hasHelpWord: argv.includes("help") };
  const { given, invalidValues } = state;
  const rootParser = createParser(root, state);
  catchParserError(() => rootParser.parse(argv, { from: "user" }));
  const { command = root, parser = rootParser, operands = [], error } = state.last ?? {};
  const help = given.has("help") ? "full" : given.has("h") || argv.length === 0 ? "short" : undefined;
  const globals = rootParser.opts<GlobalValues>();
  return { root, command, parser, operands, given, globals, invalidValues, help, error };
};

const catchParserError = (parse: () => void) => {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
};

/** Returns the first operand before the first option that is not global. */
const findNoun = (root: Command, argv: readonly string[]) => {
  const parser = createParser(root, { given: new Map(), invalidValues: [], hasHelpWord: false });
  let noun: string | undefined;
  catchParserError(() => {
    [noun] = parser.parseOptions([...argv]).operands;
  });
  return noun ?? "";
};

const loadTreeFor = async (program: Program, word: string) => {
  const nouns = { ...program.nouns, ...program.hidden };
  const load = Object.hasOwn(nouns, word) ? nouns[word] : undefined;
  return load ? { ...program.root, subcommands: [await load()] } : await commands.loadTree(program);
};

/** @throws Failure `invalid-arguments`, `subcommand-missing`, `conflicting-options`, `required-option-missing` */
const validateArgv = async (parsed: ParsedArgv) => {
  const { root, command, given, invalidValues, error } = parsed;
  if (error?.code === "commander.help") {
    const { formatShortHelp } = await import("./help.ts");
    const names = command.subcommands.map(commands.lastWord);
    const help = (columns: number | undefined) => formatShortHelp(parsed, columns);
    throw subcommandMissing(commands.formatInvocation(command), names, help);
  }
  if (error) throw toUsageFailure(parsed, error);
  for (const [name, { placeholder, repeatable }] of Object.entries(listOptions(command, root))) {
    const words = given.get(name) ?? [];
    if (placeholder && !repeatable && words.length > 1)
      throw invalidArguments(`--${name} is given ${words.length} times, but takes one value`, `pass --${name} once`);
  }
  for (const [name, { needs }] of Object.entries(command.options))
    if (needs && given.has(name) && !needs.split("|").some((need) => given.has(need)))
      throw requiredOptionMissing(`--${name}`, `--${needs.replaceAll("|", " or --")}`);
  if (invalidValues.length > 0) throw invalidValues[0];
};

const toUsageFailure = (parsed: ParsedArgv, { code, message }: CommanderError): Failure => {
  const { command, operands } = parsed;
  const seeHelp = `see \`${commands.formatInvocation(command)} --help\``;
  if (code === "commander.unknownOption") return unknownOption(parsed, seeHelp);
  const conflict = code === "commander.conflictingOption" && findConflict(parsed);
  if (conflict) return conflictingOptions(...conflict);
  const suggestion = code === "commander.unknownCommand" && suggestCommand(command, operands[0] ?? "");
  // commander starts all messages with `error: `.
  return invalidArguments(message.slice("error: ".length), suggestion ? `did you mean ${suggestion}?` : seeHelp);
};

/** commander's options have no field for the reason of a conflict. */
const findConflict = ({ command, given }: ParsedArgv) => {
  for (const [name, { conflicts = {} }] of Object.entries(command.options))
    for (const [other, reason] of Object.entries(conflicts))
      if (given.has(name) && given.has(other)) return [`--${name}`, `--${other}`, reason] as const;
  return undefined;
};

/** The message omits the value of an unknown option, because the value may be a secret. */
const unknownOption = ({ root, command, operands }: ParsedArgv, seeHelp: string) => {
  const dashed = operands.filter((word) => /^-./.test(word));
  // commander accepts negative numbers as operands of a command without subcommands.
  const [flag = "", ...value] = (dashed.find((word) => Number.isNaN(Number(word))) ?? dashed[0] ?? "").split("=");
  const name = flag.startsWith("--") ? flag.slice(2) : "";
  const known = [root, command].flatMap(({ options }) => Object.keys(options));
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
  return { ...command.options, ...globalKinds };
};

/** For help and `--version`, returns a function that formats the text. @throws Failure */
export const runCommand = async (
  program: Program,
  parsed: ParsedArgv,
  start: (globals: GlobalValues) => Context | Promise<Context>,
): Promise<((columns: number) => string) | undefined> => {
  const { command, parser, given, globals, help, error } = parsed;
  if (help && error?.code !== "commander.unknownCommand") {
    const { formatFullHelp, formatShortHelp } = await import("./help.ts");
    return (columns) => (help === "full" ? formatFullHelp : formatShortHelp)(parsed, columns);
  }
  if (given.has("version")) return () => `${version}\n`;
  await validateArgv(parsed);
  const context = await start(globals);
  const args = Object.keys(command.args).map((name, at) => [camelCase(name), parser.processedArgs[at]]);
  await command.run?.(context, { ...Object.fromEntries(args), ...parser.opts() }, program);
  return undefined;
};
