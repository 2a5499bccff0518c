/** The command tree as data: what `rollcall commands` prints, and what the man pages are made of. */
import type { Argument, Command, Option } from "commander";
import { examplesOf, pathOf, verbsOf } from "../help.ts";

/** What stands for an option's value or an argument. */
interface ValueFacts {
  readonly name: string;
  readonly kind: ValueSort;
  /** The only values there are; null where it can be others. */
  readonly choices: readonly string[] | null;
}

/** Sorts of values, as far as their names say them. */
const valueSorts = ["choice", "file", "folder", "duration", "size", "number", "url", "text"] as const;
/** A sort of value. */
type ValueSort = (typeof valueSorts)[number];

/** An argument of a command. */
export interface ArgumentFacts extends ValueFacts {
  readonly about: string;
  readonly required: boolean;
  readonly repeatable: boolean;
}

/** An option of a command. */
export interface OptionFacts {
  readonly name: string;
  readonly short: string | null;
  readonly about: string;
  /** Null for an option that takes none. */
  readonly value: ValueFacts | null;
  readonly default: string | null;
  readonly repeatable: boolean;
  /** The heading it stands under in the help. */
  readonly group: string | null;
}

/** A command, or a noun that has verbs. */
export interface CommandFacts {
  /** Its words behind the program's name; empty for the program itself. */
  readonly name: string;
  readonly about: string;
  readonly usage: string;
  readonly arguments: readonly ArgumentFacts[];
  readonly options: readonly OptionFacts[];
  /** The last words of the commands below it. */
  readonly verbs: readonly string[];
  /** Lines that can be pasted. */
  readonly examples: readonly string[];
}

/** Every command that stands in a help: a noun before its verbs, the program itself first. */
export const describeTree = (command: Command): readonly CommandFacts[] => [
  describeCommand(command),
  ...verbsOf(command).flatMap(describeTree),
];

/** One command. */
export const describeCommand = (command: Command): CommandFacts => ({
  name: command.parent === null ? "" : pathOf(command).slice("rollcall ".length),
  about: command.description(),
  usage: `${pathOf(command)} ${command.usage()}`,
  arguments: command.registeredArguments.map((argument) => ({
    ...valueFacts(argument, argument.name()),
    about: argument.description,
    required: argument.required,
    repeatable: argument.variadic,
  })),
  // Help is an option of every command, and said of the program alone.
  options: command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => command.parent === null || long !== "--help")
    .map(optionFacts),
  verbs: verbsOf(command).map((child) => child.name()),
  examples: examplesOf(command),
});

const optionFacts = (option: Option): OptionFacts => {
  const { long, short, description, defaultValue, helpGroupHeading = "" } = option;
  const placeholder = /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1];
  return {
    name: long ?? short ?? option.flags,
    short: long === undefined ? null : (short ?? null),
    about: description,
    value: placeholder === undefined ? null : valueFacts(option, placeholder),
    default: typeof defaultValue === "string" ? defaultValue : null,
    repeatable: isRepeatable(option),
    group: helpGroupHeading === "" ? null : helpGroupHeading,
  };
};

/** Whether an option that stands several times has several values: what is gathered of it is a list. */
export const isRepeatable = (option: Option): boolean =>
  option.variadic || Array.isArray(option.parseArg?.(option.argChoices?.[0] ?? "", option.defaultValue));

const valueFacts = ({ argChoices }: Option | Argument, name: string): ValueFacts => {
  const choices = argChoices ?? (name.includes("|") ? name.split("|") : null);
  return { name, kind: choices === null ? (sorts[name] ?? "text") : "choice", choices };
};

/** What the names of values say of them. */
const sorts: Readonly<Record<string, ValueSort>> = {
  file: "file",
  dir: "folder",
  folder: "folder",
  duration: "duration",
  size: "size",
  n: "number",
  number: "number",
  url: "url",
};
