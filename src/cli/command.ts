/** What a command is: words, arguments, options, examples and its run in one value. All else about it is made from that. */
import type { Context } from "../context.ts";
import type { Kind, Kinds, Values } from "./kinds.ts";

/** A command, or a noun with its verbs. */
export interface Command {
  /** Its words after the program's name, such as `catalog diff`; empty for the program itself. */
  readonly words: string;
  readonly about: string;
  /** A shorter text for lists of commands. */
  readonly summary?: string;
  readonly args: Kinds;
  readonly options: Kinds;
  /** Options of the command above that it takes too. */
  readonly above: Kinds;
  /** Command lines that work if they are pasted. */
  readonly examples: readonly string[];
  readonly verbs: readonly Command[];
  /** Heading under which the help of the program only names it. */
  readonly group?: string;
  /** True if no help shows it. */
  readonly hidden?: boolean;
  run?(context: Context, typed: Readonly<Record<string, unknown>>, program: Program): Promise<void>;
}

/** The program: its global options, and its commands, each of which is loaded if it is needed. */
export interface Program {
  readonly root: Command;
  readonly nouns: Readonly<Record<string, () => Promise<Command>>>;
}

interface CommandDefinition<Args extends Kinds, Options extends Kinds, Above extends Kinds>
  extends Pick<Command, "words" | "about" | "summary" | "group" | "hidden"> {
  readonly args?: Args;
  readonly options?: Options;
  readonly above?: Above;
  readonly examples?: readonly string[];
  readonly verbs?: readonly Command[];
  run?(context: Context, typed: Values<Args & Options & Above>, program: Program): Promise<void>;
}

/** Makes a command; the types of what its `run` is given are those of its kinds. */
export const command = <
  const Args extends Kinds = Record<never, never>,
  const Options extends Kinds = Record<never, never>,
  const Above extends Kinds = Record<never, never>,
>(
  declared: CommandDefinition<Args, Options, Above>,
): Command => ({ args: {}, options: {}, above: {}, examples: [], verbs: [], ...declared });

/** A command as it is typed. */
export const formatInvocation = ({ words }: Pick<Command, "words">): string => `rollcall ${words}`.trimEnd();

/** The last word of a command. */
export const lastWord = ({ words }: Pick<Command, "words">): string => words.slice(words.lastIndexOf(" ") + 1);

/** The commands below a command that a help shows. */
export const visibleVerbs = ({ verbs }: Command): readonly Command[] => verbs.filter(({ hidden }) => hidden !== true);

/** An option as it is typed, with its placeholder. */
export const formatFlags = (name: string, { short, placeholder: value }: Kind<unknown>): string =>
  `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;

/** An argument as it is typed; `dots` follow one that takes several values. */
export const formatArgument = (name: string, { required, repeatable }: Kind<unknown>, dots: string): string => {
  const term = `${name}${repeatable === true ? dots : ""}`;
  return required === true ? `<${term}>` : `[${term}]`;
};

/** How a command is typed, for its help. */
export const formatUsage = (command: Command): string =>
  command.words === ""
    ? "rollcall <command> [options]"
    : [
        formatInvocation(command),
        "[options]",
        ...(command.verbs.length === 0 ? [] : ["[command]"]),
        ...Object.entries(command.args).map(([name, kind]) => formatArgument(name, kind, "...")),
      ].join(" ");

/** The program with all its commands. */
export const loadTree = async ({ root, nouns }: Program): Promise<Command> => ({
  ...root,
  verbs: await Promise.all(Object.values(nouns).map(async (load) => await load())),
});

/** A command, and those below it that a help shows, a noun before its verbs. */
export const listCommands = (command: Command): readonly Command[] => [
  command,
  ...visibleVerbs(command).flatMap(listCommands),
];
