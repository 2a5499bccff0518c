/** Defines commands, and formats their usage. */

import type { Context } from "../session/context.ts";
import type { OptionKind, OptionKinds, Values } from "./kinds.ts";

export interface Command {
  /** The words after `rollcall`; empty for the root. */
  readonly words: string;
  readonly about: string;
  readonly args: OptionKinds;
  readonly options: OptionKinds;
  readonly examples: readonly string[];
  readonly subcommands: readonly Command[];
  /** Commands of a group share one line in the `-h` of the parent command. */
  readonly group?: string;
  /** Heading above the command, and those that follow it, in the `-h` of the parent command. */
  readonly heading?: string;
  /** The arguments and options that `-h` lists, with shorter descriptions. By default, `-h` lists all. */
  readonly usual?: Readonly<Record<string, string>>;
  run?(context: Context, typed: Readonly<Record<string, unknown>>, program: Program): Promise<void>;
}

type Nouns = Readonly<Record<string, () => Promise<Command>>>;

export type Program = Readonly<{ root: Command; nouns: Nouns; hidden: Nouns }>;

type CommandDefinition<Args extends OptionKinds, Options extends OptionKinds> = Pick<Command, "words" | "about"> &
  Partial<Omit<Command, "args" | "options" | "run">> &
  Readonly<{ args?: Args; options?: Options }> & {
    run?(context: Context, typed: Values<Args & Options>, program: Program): Promise<void>;
  };

export const command = <
  const Args extends OptionKinds = Record<never, never>,
  const Options extends OptionKinds = Record<never, never>,
>(
  definition: CommandDefinition<Args, Options>,
): Command => ({ args: {}, options: {}, examples: [], subcommands: [], ...definition });

export const formatInvocation = ({ words }: Command) => `rollcall ${words}`.trimEnd();
export const lastWord = ({ words }: Command) => words.slice(words.lastIndexOf(" ") + 1);

export const formatFlags = (name: string, { short, placeholder }: OptionKind<unknown>) =>
  `${short ? `-${short}, ` : ""}--${name}${placeholder ? ` <${placeholder}>` : ""}`;

export const formatAbout = ({ about, default: defaultValue }: OptionKind<unknown>) =>
  defaultValue ? `${about} (default: ${defaultValue})` : about;

export const formatArgument = (name: string, { required, repeatable }: OptionKind<unknown>, dots = "...") => {
  const term = `${name}${repeatable ? dots : ""}`;
  return required ? `<${term}>` : `[${term}]`;
};

export const formatUsage = (command: Command) =>
  command.words === ""
    ? "rollcall <command> [options]"
    : [
        formatInvocation(command),
        "[options]",
        ...(command.subcommands.length === 0 ? [] : ["[command]"]),
        ...Object.entries(command.args).map(([name, kind]) => formatArgument(name, kind)),
      ].join(" ");

export const loadTree = async ({ root, nouns }: Program): Promise<Command> => ({
  ...root,
  subcommands: await Promise.all(Object.values(nouns).map((load) => load())),
});

export const listCommands = (command: Command): readonly Command[] => [
  command,
  ...command.subcommands.flatMap(listCommands),
];
