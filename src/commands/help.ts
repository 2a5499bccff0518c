/** The help of a command on one screen: what it is for, the options that people need most, examples, and where all the rest is. */
import type { Command, Help, Option } from "commander";

/** Columns of a screen that every terminal has. */
const screenColumns = 80;

/** And lines of it, without the one that the prompt takes. */
const screenLines = 23;

const given = new WeakMap<Command, readonly string[]>();

/** Gives a command examples: lines that work when they are pasted. They end its help. */
export const examples = (command: Command, lines: readonly string[]): void => {
  given.set(command, lines);
};

/** Declares a verb: what it does, and its examples. */
export type DeclareVerb = (name: string, description: string, lines: readonly string[]) => Command;

/** Declares verbs of a noun. */
export const verbsIn =
  (noun: Command): DeclareVerb =>
  (name, description, lines) => {
    const command = noun.command(name).description(description);
    examples(command, lines);
    return command;
  };

/** The examples of a command. */
export const examplesOf = (command: Command): readonly string[] => given.get(command) ?? [];

/** What `-h` prints, laid out for a terminal of so many columns; more than every terminal has are not used. */
export const screenHelp = (command: Command, columns = screenColumns): string => {
  const layout = layoutOf(command, columns);
  const { helper } = layout;
  const isRoot = command.parent === null;
  const groups = groupLines(command, layout);
  const laidOut = (): string => {
    const parts = [
      [layout.wrapped(sentence(helper.commandDescription(command))), layout.wrapped(usageOf(command, helper))],
      layout.list(commandItems(command, helper)),
      isRoot ? ["Global options, before or after the command:"] : layout.list(ownItems(command, helper)),
      groups,
      exampleLines(command),
      [layout.wrapped(`All options${isRoot ? "" : " (--json, --local, --profile, …)"}: ${pathOf(command)} --help`)],
    ];
    const texts = parts.map((lines) => lines.filter((line) => line !== "").join("\n")).filter((text) => text !== "");
    const airy = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
    // A screen has few lines: what begins with a heading needs no empty line before it.
    return linesOf(airy) <= screenLines ? airy : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  };
  while (groups.length > 0 && linesOf(laidOut()) > screenLines) groups.pop();
  return laidOut();
};

const linesOf = (text: string): number => text.split("\n").length - 1;

/** A command as it is typed. */
export const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

/** How a text says what a command, an argument or an option is. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const usageOf = (command: Command, helper: Help): string => `Usage: ${helper.commandUsage(command)}`;

/** What is listed: how it is typed, and what it means. */
export interface Item {
  readonly term: string;
  readonly description: string;
}

/** How help is laid out in some columns. */
interface Layout {
  readonly columns: number;
  readonly helper: Help;
  /** Text on as many lines as it takes. */
  wrapped(text: string): string;
  /** Items below each other, what they mean beside them, or below where there is no room. */
  list(items: readonly Item[]): string[];
}

/** Fewest columns of a description that stands beside its term. */
const fewestColumns = 30;

/** Opens the layout of a command's help. */
export const layoutOf = (command: Command, terminalColumns = screenColumns): Layout => {
  const columns = Math.min(screenColumns, terminalColumns);
  const helper = Object.assign(command.createHelp(), { helpWidth: columns, minWidthToWrap: 1 });
  const wrapped = (text: string): string => helper.boxWrap(text, columns);
  const below = ({ term, description }: Item): string =>
    [`  ${term}`, ...helper.boxWrap(description, columns - 6).split("\n")].join("\n      ");
  return {
    columns,
    helper,
    wrapped,
    list(items) {
      const width = Math.max(0, ...items.map(({ term }) => term.length));
      const isBeside = columns - width - 4 >= fewestColumns;
      return items.map((item) =>
        isBeside ? helper.formatItem(item.term, width, item.description, helper) : below(item),
      );
    },
  };
};

/** Longest list of a noun's verbs that is shown beside it. */
const mostVerbs = 20;

/** How a command is typed behind the one above: with its verbs or its arguments. */
const termOf = (command: Command): string => {
  const verbs = command.commands.map((verb) => verb.name());
  const [only] = command.commands;
  // A command of its own, whose verbs stand below other words.
  if (verbs.length > 0 && command.commands.every((below) => below.commands.length > 0)) return command.name();
  if (only === undefined) return [command.name(), ...argumentsOf(command)].join(" ");
  if (verbs.length === 1) return [command.name(), only.name(), ...argumentsOf(only)].join(" ");
  const listed = verbs.join("|");
  return `${command.name()} ${listed.length <= mostVerbs ? listed : "<verb>"}`;
};

const argumentsOf = (command: Command): readonly string[] =>
  command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });

/** The commands below a command that people may know of. */
export const verbsOf = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help");

/** Commands, each with what it does; those of a group are only named, beside its heading. */
const commandItems = (command: Command, helper: Help): readonly Item[] => {
  const shown = verbsOf(command);
  const items = shown
    .filter((child) => child.helpGroup() === "")
    .map((child) => ({ term: termOf(child), description: helper.subcommandDescription(child) }));
  const groups = new Set(shown.map((child) => child.helpGroup()).filter((heading) => heading !== ""));
  const named = Array.from(groups, (heading) => ({
    term: heading,
    description: shown
      .filter((child) => child.helpGroup() === heading)
      .map((child) => child.name())
      .join(", "),
  }));
  return [...items, ...named];
};

const ownItems = (command: Command, helper: Help): readonly Item[] => [
  ...command.registeredArguments.map((one) => ({
    term: one.name(),
    description: [one.description, ...(one.argChoices === undefined ? [] : [one.argChoices.join(", ")])].join(": "),
  })),
  ...helper
    .visibleOptions(command)
    .filter((option) => option.long !== "--help" && !isGrouped(option))
    .map(({ flags, description, defaultValue }) => ({
      term: flags,
      description: typeof defaultValue === "string" ? `${description} (${defaultValue})` : description,
    })),
];

/** Options that stand in groups: a line or two each, so that many of them fit the screen. */
const groupLines = (command: Command, { helper, columns }: Layout): string[] => {
  const groups = new Map<string, Option[]>();
  // How to get help is said by the help's last line, but for the first that one sees.
  const isShown = ({ long }: Option): boolean => command.parent === null || long !== "--help";
  for (const option of helper.visibleOptions(command).filter(isGrouped).filter(isShown)) {
    const group = option.helpGroupHeading ?? "";
    groups.set(group, [...(groups.get(group) ?? []), option]);
  }
  const width = Math.max(0, ...Array.from(groups.keys(), (group) => group.length));
  return Array.from(groups, ([group, options]) =>
    filledLines(
      options.map(({ flags }) => flags),
      columns - width - 4,
    )
      .map((line, at) => `  ${(at === 0 ? group : "").padEnd(width)}  ${line}`)
      .join("\n"),
  );
};

/** Whether help names an option in its group, without a description. */
const isGrouped = ({ helpGroupHeading = "" }: Option): boolean => helpGroupHeading !== "";

/** Terms side by side, as many as fit, none of them broken. */
const filledLines = (terms: readonly string[], width: number): readonly string[] => {
  const lines: string[] = [];
  for (const term of terms) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 2 + term.length <= width) lines.splice(-1, 1, `${line}  ${term}`);
    else lines.push(term);
  }
  return lines;
};

/** The examples of a command below their heading. */
export const exampleLines = (command: Command): readonly string[] => {
  const lines = examplesOf(command);
  return lines.length === 0 ? [] : ["Examples:", ...lines.map((line) => `  ${line}`)];
};
