/** The existing commands and options, and the commands and options in a text. */
import { listCommands, loadTree } from "../../src/cli/command.ts";
import { program } from "../../src/commands/program.ts";

interface TreeCommand {
  readonly name: string;
  readonly options: readonly { readonly name: string }[];
}

export interface CommandTree {
  /** All commands. The first one has the global options. */
  readonly commands: readonly TreeCommand[];
  /** The longest command at the beginning of some words; empty if there is none. */
  commandIn(words: string): string;
  /** Commands, options and variables in a text. */
  namedIn(text: string): readonly string[];
  /** Commands in a text that do not exist, and options that neither these commands nor the command of `args` have. */
  unknownIn(text: string, args?: readonly string[]): readonly string[];
}

export const readCommandTree = async (): Promise<CommandTree> => {
  const commands = listCommands(await loadTree(program)).map(({ words: name, options }): TreeCommand => {
    return { name, options: Object.keys(options).map((option) => ({ name: `--${option}` })) };
  });

  const commandIn = (words: string): string => {
    const all = words.trim().split(" ");
    const names = all.map((_, at) => all.slice(0, all.length - at).join(" "));
    return names.find((name) => commands.some((one) => one.name === name)) ?? "";
  };

  const commandsIn = (text: string): readonly string[] =>
    Array.from(text.matchAll(/\brollcall ([a-z][a-z-]*(?: [a-z][a-z-]*)*)/g), ([, words = ""]) => commandIn(words));
  const optionsIn = (text: string): readonly string[] =>
    Array.from(text.matchAll(/(?<![\w-])(--[a-z][a-z-]+)/g), ([, option = ""]) => option);

  return {
    commands,
    commandIn,
    namedIn: (text) => [
      ...commandsIn(text).map((name) => `rollcall ${name}`),
      ...optionsIn(text),
      ...Array.from(text.matchAll(/\b(ROLLCALL_[A-Z_]+[A-Z])\b/g), ([, variable = ""]) => variable),
    ],
    unknownIn: (text, args = []) => {
      const named = ["", commandIn(args.join(" ")), ...commandsIn(text)];
      const known = new Set(
        commands.filter(({ name }) => named.includes(name)).flatMap((one) => one.options.map(({ name }) => name)),
      );
      return [
        ...(commandsIn(text).includes("") ? [text] : []),
        ...optionsIn(text).filter((option) => !known.has(option)),
      ];
    },
  };
};
