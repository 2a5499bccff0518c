/** Defines commands, from which the parser, help and MCP tools derive. */
import type { Context } from "../context.ts";
import type { Kind, Kinds, Values } from "./kinds.ts";

export interface Command {
  /** The words after `rollcall`, such as `catalog diff`; empty for the root. */
  readonly words: string;
  readonly about: string;
  /** A shorter `about` for the list of commands in the parent's `-h`. */
  readonly summary?: string;
  readonly args: Kinds;
  readonly options: Kinds;
  readonly examples: readonly string[];
  readonly verbs: readonly Command[];
  /** The help of the root lists the commands of a group without their descriptions, so that it fits one screen. */
  readonly group?: string;
  /** True if the command changes something. `--fields` is then checked first, so that a wrong name changes nothing. */
  readonly changes?: boolean;
  run?(context: Context, typed: Readonly<Record<string, unknown>>, program: Program): Promise<void>;
}

type Nouns = Readonly<Record<string, () => Promise<Command>>>;

/** `hidden` has commands that no help lists. */
export type Program = Readonly<{ root: Command; nouns: Nouns; hidden: Nouns }>;

interface CommandDefinition<Args extends Kinds, Options extends Kinds>
  extends Pick<Command, "words" | "about" | "summary" | "group" | "changes"> {
  readonly args?: Args;
  readonly options?: Options;
  readonly examples?: readonly string[];
  readonly verbs?: readonly Command[];
  run?(context: Context, typed: Values<Args & Options>, program: Program): Promise<void>;
}

/** Defines a command. `run` gets the parsed arguments and options as `typed`, whose type derives from the kinds. */
export const command = <
  const Args extends Kinds = Record<never, never>,
  const Options extends Kinds = Record<never, never>,
>(
  declared: CommandDefinition<Args, Options>,
): Command => ({ args: {}, options: {}, examples: [], verbs: [], ...declared });

export const formatInvocation = ({ words }: Command) => `rollcall ${words}`.trimEnd();
export const lastWord = ({ words }: Command) => words.slice(words.lastIndexOf(" ") + 1);

export const formatFlags = (name: string, { short, placeholder: value }: Kind<unknown>) =>
  `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;

export const formatArgument = (name: string, { required, repeatable }: Kind<unknown>, dots: string) => {
  const term = `${name}${repeatable === true ? dots : ""}`;
  return required === true ? `<${term}>` : `[${term}]`;
};

export const formatUsage = (command: Command) =>
  command.words === ""
    ? "rollcall <command> [options]"
    : [
        formatInvocation(command),
        "[options]",
        ...(command.verbs.length === 0 ? [] : ["[command]"]),
        ...Object.entries(command.args).map(([name, kind]) => formatArgument(name, kind, "...")),
      ].join(" ");

export const loadTree = async ({ root, nouns }: Program): Promise<Command> => ({
  ...root,
  verbs: await Promise.all(Object.values(nouns).map(async (load) => await load())),
});

export const listCommands = (command: Command): readonly Command[] => [command, ...command.verbs.flatMap(listCommands)];
