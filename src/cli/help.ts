/** Formats one screen of help for `-h`, and all help for `--help`. */
import { Help } from "commander";
import type { Command, Program } from "./command.ts";
import * as commands from "./command.ts";
import type { OptionKind, OptionKinds } from "./kinds.ts";

/** Size of a common terminal, minus one line for the prompt. */
const screenColumns = 80;
const screenLines = 23;

const minDescriptionWidth = 30;
const maxVerbListLength = 20;

type Item = Readonly<Record<"term" | "description", string>>;
type NamedKind = readonly [name: string, kind: OptionKind<unknown>];

const createLayout = (terminalColumns: number) => {
  const columns = Math.min(screenColumns, terminalColumns);
  const helper = Object.assign(new Help(), { helpWidth: columns, minWidthToWrap: 1 });
  const list = (items: readonly Item[]) => {
    const width = Math.max(0, ...items.map(({ term }) => term.length));
    const isWide = columns - width - 4 >= minDescriptionWidth;
    return items.map(({ term, description }) =>
      isWide
        ? helper.formatItem(term, width, description, helper)
        : `  ${term}\n${helper.boxWrap(description, columns - 6)}`.replaceAll("\n", "\n      "),
    );
  };
  return { columns, list, wrap: (text: string) => helper.boxWrap(text, columns) };
};

export const formatShortHelp = (command: Command, terminalColumns = screenColumns) => {
  const { columns, wrap, list } = createLayout(terminalColumns);
  const isRoot = command.words === "";
  const groups = formatGroups(command, columns);
  const layOut = () => {
    const parts = [
      [wrap(capitalize(command.about)), wrap(`Usage: ${commands.formatUsage(command)}`)],
      list(listSubcommands(command)),
      isRoot ? [] : list(listOwnItems(command)),
      isRoot && groups.length > 0 ? ["Global options, before or after the command:", ...groups] : groups,
      formatExamples(command),
      [wrap(`All options (--json, --local, --profile, …): ${commands.formatInvocation(command)} --help`)],
    ];
    const texts = parts.map((lines) => lines.filter(Boolean).join("\n")).filter(Boolean);
    const spaced = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
    return countLines(spaced) <= screenLines ? spaced : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  };
  while (groups.length > 0 && countLines(layOut()) > screenLines) groups.pop();
  return layOut();
};

const countLines = (text: string) => text.split("\n").length - 1;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const listSubcommands = ({ subcommands }: Command) => {
  const items = new Map<string, string>();
  for (const subcommand of subcommands) {
    const { group, summary, about } = subcommand;
    if (!group) items.set(formatCommandTerm(subcommand), summary ?? about);
    else items.set(group, [items.get(group), commands.lastWord(subcommand)].filter(Boolean).join(", "));
  }
  return Array.from(items, ([term, description]) => ({ term, description }));
};

const formatCommandTerm = (command: Command): string => {
  const { subcommands, args } = command;
  const [only, ...others] = subcommands;
  const name = commands.lastWord(command);
  if (!only)
    return [name, ...Object.entries(args).map(([arg, kind]) => commands.formatArgument(arg, kind, "…"))].join(" ");
  // Users mainly type such a command, for example `serve`, without a subcommand.
  if (subcommands.every((one) => one.subcommands.length > 0)) return name;
  if (others.length === 0) return `${name} ${formatCommandTerm(only)}`;
  const listed = subcommands.map(commands.lastWord).join("|");
  return `${name} ${listed.length <= maxVerbListLength ? listed : "<verb>"}`;
};

const listOwnItems = ({ args, options }: Command) => {
  const own = Object.entries(options).filter(([, { group }]) => !group);
  const items = own.map(([name, kind]) => ({
    term: commands.formatFlags(name, kind),
    description: commands.formatAbout(kind),
  }));
  return [...listArguments(args), ...items];
};

const listArguments = (args: OptionKinds) =>
  Object.entries(args).map(([term, { about, choices }]) => ({
    term,
    description: choices ? `${about}: ${choices.join(", ")}` : about,
  }));

const groupOptions = (options: OptionKinds) => {
  const groups = new Map<string | undefined, NamedKind[]>([[undefined, []]]);
  for (const [name, kind] of Object.entries(options))
    groups.set(kind.group, [...(groups.get(kind.group) ?? []), [name, kind]]);
  return groups;
};

const formatGroups = ({ options }: Command, columns: number) => {
  const groups = [...groupOptions(options)].flatMap(([name, kinds]) => (name ? [{ name: `${name}:`, kinds }] : []));
  const width = Math.max(0, ...groups.map(({ name }) => name.length));
  return groups.map(({ name, kinds }) => {
    const [first = "", ...terms] = kinds.map((named) => commands.formatFlags(...named));
    const lines = [first];
    for (const term of terms) {
      const line = `${lines.at(-1)}  ${term}`;
      if (line.length > columns - width - 4) lines.push(term);
      else lines.splice(-1, 1, line);
    }
    return lines.map((line, at) => `  ${(at === 0 ? name : "").padEnd(width)}  ${line}`).join("\n");
  });
};

const formatExamples = ({ examples }: Command) =>
  examples.length === 0 ? [] : ["Examples:", ...examples.map((line) => `  ${line}`)];

export const formatFullHelp = (command: Command, root: Command | undefined, terminalColumns: number) => {
  const { wrap, list } = createLayout(terminalColumns);
  const section = (title: string, items: readonly Item[]) =>
    items.length === 0 ? "" : [`${title}:`, ...list(items)].join("\n");
  const options = (title: string, kinds: readonly NamedKind[]) => section(title, kinds.map(toOptionItem));
  const subcommands = command.subcommands.map(({ words, about }) => ({ term: words, description: about }));
  const parts = [
    wrap(`${capitalize(command.about).replace(/\.$/, "")}.`),
    wrap(`Usage: ${commands.formatUsage(command)}`),
    section("Commands", subcommands),
    section("Arguments", listArguments(command.args)),
    ...Array.from(groupOptions(command.options), ([group = "options", kinds]) => options(capitalize(group), kinds)),
    formatExamples(command).join("\n"),
    root ? options("Global options", Object.entries(root.options)) : "",
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
};

const toOptionItem = ([name, kind]: NamedKind) => {
  const { about, placeholder, choices = [], default: defaultValue, repeatable } = kind;
  const namesChoices = choices.every((choice) => `${about} ${placeholder}`.includes(choice));
  const notes = [defaultValue && ` (default: ${defaultValue})`, repeatable && " (repeatable)"];
  const description = [about, !namesChoices && `: ${choices.join(", ")}`, ...notes].filter(Boolean).join("");
  return { term: commands.formatFlags(name, kind), description };
};

const typesByPlaceholder: Readonly<Record<string, string>> = { dir: "folder", n: "number" };
const types = ["choice", "file", "folder", "duration", "size", "number", "url"] as const;

const describeValue = (name: string, { choices }: OptionKind<unknown>) => {
  const type = choices ? "choice" : (typesByPlaceholder[name] ?? name);
  return { name, kind: types.find((known) => known === type) ?? ("text" as const), choices: choices ?? null };
};

const describeCommand = (command: Command) => ({
  name: command.words,
  about: command.about,
  usage: commands.formatUsage(command),
  arguments: Object.entries(command.args).map(([name, kind]) => ({
    ...describeValue(name, kind),
    about: kind.about,
    required: kind.required === true,
    repeatable: kind.repeatable === true,
  })),
  options: Object.entries(command.options).map(([name, kind]) => ({
    name: `--${name}`,
    short: kind.short ? `-${kind.short}` : null,
    about: kind.about,
    value: kind.placeholder ? describeValue(kind.placeholder, kind) : null,
    default: kind.default ?? null,
    repeatable: kind.repeatable === true,
    group: kind.group ?? null,
  })),
  verbs: command.subcommands.map(commands.lastWord),
  examples: command.examples,
});

export const describeCommands = async (program: Program) =>
  commands.listCommands(await commands.loadTree(program)).map(describeCommand);
