/** How help is laid out: what a command is for, its options, examples, and where the rest is; on one screen. */
import type { Command, Help, HelpConfiguration, Option } from "commander";

/** Columns of a screen that every terminal has. */
const screenColumns = 80;

/** And lines of it, without the one that the prompt takes. */
const screenLines = 24;

const given = new WeakMap<Command, readonly string[]>();

/** Gives a command examples: lines that work when they are pasted. They end its help. */
export const examples = (command: Command, lines: readonly string[]): void => {
  given.set(command, lines);
};

/** The examples of a command. */
export const examplesOf = (command: Command): readonly string[] => given.get(command) ?? [];

/** How commander lays out the help of every command. */
export const helpLayout: HelpConfiguration = {
  helpWidth: screenColumns,
  subcommandTerm: (command) => {
    const verbs = command.commands.map((verb) => verb.name());
    const [only] = command.commands;
    if (only === undefined) return [command.name(), ...argumentsOf(command)].join(" ");
    if (verbs.length === 1) return [command.name(), only.name(), ...argumentsOf(only)].join(" ");
    const listed = verbs.join("|");
    return `${command.name()} ${listed.length <= mostVerbs ? listed : "<verb>"}`;
  },
  optionDescription: ({ description, defaultValue }) =>
    typeof defaultValue === "string" ? `${description} (${defaultValue})` : description,
  argumentDescription: ({ description, argChoices }) =>
    argChoices === undefined ? description : `${description}: ${argChoices.join(", ")}`,
  formatHelp: (command, helper) => {
    const isRoot = command.parent === null;
    const parts = [
      [sentence(helper.commandDescription(command), helper), `Usage: ${helper.commandUsage(command)}`],
      list(commandItems(command, helper), helper),
      isRoot ? ["Global options, before or after the command:"] : list(ownItems(command, helper), helper),
      groupLines(command, helper),
      exampleLines(command),
      isRoot ? [] : ["Global options (--profile, --local, --json, -o, …): rollcall --help"],
    ];
    const texts = parts.map((lines) => lines.filter((line) => line !== "").join("\n")).filter((text) => text !== "");
    const airy = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
    // A screen has few lines: what begins with a heading needs no empty line before it.
    return airy.split("\n").length <= screenLines ? airy : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  },
};

/** Longest list of a noun's verbs that is shown beside it. */
const mostVerbs = 20;

/** A description as a sentence on lines of its own. */
const sentence = (text: string, helper: Help): string =>
  helper.boxWrap(text.charAt(0).toUpperCase() + text.slice(1), screenColumns);

/** What is listed: how it is typed, and what it means. */
interface Item {
  readonly term: string;
  readonly description: string;
}

const argumentsOf = (command: Command): readonly string[] =>
  command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });

/** Commands, each with what it does; those of a group are only named, beside its heading. */
const commandItems = (command: Command, helper: Help): readonly Item[] => {
  const shown = helper.visibleCommands(command).filter((child) => child.name() !== "help");
  const items = shown
    .filter((child) => child.helpGroup() === "")
    .map((child) => ({ term: helper.subcommandTerm(child), description: helper.subcommandDescription(child) }));
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
  ...helper
    .visibleArguments(command)
    .map((one) => ({ term: helper.argumentTerm(one), description: helper.argumentDescription(one) })),
  ...helper
    .visibleOptions(command)
    .filter((option) => option.long !== "--help" && !isGrouped(option))
    .map((one) => ({ term: helper.optionTerm(one), description: helper.optionDescription(one) })),
];

const list = (items: readonly Item[], helper: Help): readonly string[] => {
  const width = Math.max(0, ...items.map(({ term }) => term.length));
  return items.map(({ term, description }) => helper.formatItem(term, width, description, helper));
};

/** Options that stand in groups: a line or two each, so that many of them fit the screen. */
const groupLines = (command: Command, helper: Help): readonly string[] => {
  const groups = new Map<string, Option[]>();
  // How to get help is said by the help's last line, but for the first that one sees.
  const isShown = ({ long }: Option): boolean => command.parent === null || long !== "--help";
  for (const option of helper.visibleOptions(command).filter(isGrouped).filter(isShown)) {
    const group = option.helpGroupHeading ?? "";
    groups.set(group, [...(groups.get(group) ?? []), option]);
  }
  const width = Math.max(0, ...Array.from(groups.keys(), (group) => group.length));
  return Array.from(groups, ([group, options]) => {
    const terms = options.map((option) => helper.optionTerm(option));
    return filledLines(terms, screenColumns - width - 4)
      .map((line, at) => `  ${(at === 0 ? group : "").padEnd(width)}  ${line}`)
      .join("\n");
  });
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

const exampleLines = (command: Command): readonly string[] => {
  const lines = examplesOf(command);
  return lines.length === 0 ? [] : ["Examples:", ...lines.map((line) => `  ${line}`)];
};
