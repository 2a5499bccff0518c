/** Where words lead in the command tree, as far as they were typed: for the help that they ask for, and for what can be typed next. */
import type { Command, Option } from "commander";

/** Where in the tree words lead. */
export interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly waiting: Option | undefined;
  /** The arguments of the command that are there. */
  readonly arguments: readonly string[];
  /** Whether `--` was typed. */
  readonly onlyArguments: boolean;
  readonly options: ReadonlySet<Option>;
  /** The help that they ask for: `-h` for one screen of it, `--help` or the word `help` for all of it. */
  readonly help: "screen" | "whole" | undefined;
}

/** Reads the words behind the program's name. */
export const placeOf = (root: Command, words: readonly string[]): Place => {
  let command = root;
  let waiting: Option | undefined;
  let onlyArguments = false;
  let help: Place["help"];
  const taken: string[] = [];
  const options = new Set<Option>();
  for (const word of words) {
    if (waiting !== undefined) waiting = undefined;
    else if (onlyArguments || !word.startsWith("-") || word === "-") {
      const next = taken.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (next !== undefined) command = next;
      else if (word === "help" && taken.length === 0 && command.commands.length > 0) help = "whole";
      else taken.push(word);
    } else if (word === "--") onlyArguments = true;
    else {
      const found = optionsIn(command, word);
      for (const option of found.options) options.add(option);
      if (found.options.some(({ long }) => long === "--help"))
        help = help === "whole" || word.startsWith("--") ? "whole" : "screen";
      waiting = found.waiting;
    }
  }
  return { command, waiting, arguments: taken, onlyArguments, options, help };
};

/** The options in a word such as `--json`, `-q` or `-qo`, and the last of them where its value is the next word. */
const optionsIn = (
  command: Command,
  word: string,
): Pick<Place, "waiting"> & { readonly options: readonly Option[] } => {
  if (word.startsWith("--")) {
    const [name = ""] = word.split("=");
    const option = optionNamed(command, name);
    if (option === undefined) return { options: [], waiting: undefined };
    return { options: [option], waiting: !word.includes("=") && option.required ? option : undefined };
  }
  const options: Option[] = [];
  for (let at = 1; at < word.length; at++) {
    const option = optionNamed(command, `-${word[at]}`);
    if (option === undefined) break;
    options.push(option);
    // What follows an option that takes a value is the value.
    if (takesValue(option)) return { options, waiting: at === word.length - 1 && option.required ? option : undefined };
  }
  return { options, waiting: undefined };
};

/** Whether an option has a value. */
export const takesValue = (option: Option): boolean => option.required || option.optional;

/** The option that a command takes by a long or a short name. */
export const optionNamed = (command: Command, name: string): Option | undefined =>
  allOptions(command).find(({ long, short }) => name === long || name === short);

const takenAbove = new WeakMap<Command, readonly string[]>();

/** Says which options of the command above it, if not all, a command and those below it take. */
export const takeFromAbove = (command: Command, names: readonly string[]): void => void takenAbove.set(command, names);

/** A command's own options first, then those of the commands above it that it takes. */
export const allOptions = (command: Command): readonly Option[] => {
  const own = command.createHelp().visibleOptions(command);
  if (command.parent === null) return own;
  const names = new Set(own.map(({ long }) => long));
  const above = takenAbove.get(command);
  const { options: global } = rootOf(command);
  const isTaken = (option: Option): boolean =>
    !names.has(option.long) &&
    option.long !== "--version" &&
    (above === undefined || above.includes(option.long ?? "") || global.includes(option));
  return [...own, ...allOptions(command.parent).filter(isTaken)];
};

/** The command that all others stand below. */
export const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent));
