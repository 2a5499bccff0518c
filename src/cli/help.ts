/** Formats the help of a command: one screen for `-h`, everything for `--help`. */
import { Help } from "commander";
import type { Command, Program } from "./command.ts";
import * as commands from "./command.ts";
import type { Kind, Kinds } from "./kinds.ts";

/** The size of the smallest supported terminal, without the line of the prompt. */
const screenColumns = 80;
const screenLines = 23;

/** A description that would get fewer columns goes below its term. */
const minDescriptionWidth = 30;
/** If the names of the verbs are longer, `<verb>` replaces them. */
const maxVerbsLength = 20;

type Item = Readonly<Record<"term" | "description", string>>;
type NamedKind = readonly [name: string, kind: Kind<unknown>];

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
  return { columns, list, wrapped: (text: string) => helper.boxWrap(text, columns) };
};

export const shortHelp = (command: Command, terminalColumns = screenColumns) => {
  const { columns, wrapped, list } = createLayout(terminalColumns);
  const isRoot = command.words === "";
  const common = isRoot ? "" : " (--json, --local, --profile, …)";
  const groups = groupLines(command, columns);
  const laidOut = () => {
    const parts = [
      [wrapped(capitalize(command.about)), wrapped(`Usage: ${commands.formatUsage(command)}`)],
      list(verbItems(command)),
      isRoot ? ["Global options, before or after the command:"] : list(ownItems(command)),
      groups,
      exampleLines(command),
      [wrapped(`All options${common}: ${commands.formatInvocation(command)} --help`)],
    ];
    const texts = parts.map((lines) => lines.filter((line) => line !== "").join("\n")).filter((text) => text !== "");
    const spaced = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
    // Omits the empty lines between parts if the help would not fit one screen.
    return countLines(spaced) <= screenLines ? spaced : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  };
  while (groups.length > 0 && countLines(laidOut()) > screenLines) groups.pop();
  return laidOut();
};

const countLines = (text: string) => text.split("\n").length - 1;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const verbItems = (command: Command) => {
  const named = new Map<string, string[]>();
  const items: Item[] = [];
  for (const verb of command.verbs) {
    const { group, summary, about } = verb;
    if (group === undefined) items.push({ term: verbTerm(verb), description: summary ?? about });
    else named.set(group, [...(named.get(group) ?? []), commands.lastWord(verb)]);
  }
  return [...items, ...Array.from(named, ([term, names]) => ({ term, description: names.join(", ") }))];
};

const verbTerm = (command: Command): string => {
  const { verbs, args } = command;
  const [only, ...others] = verbs;
  const name = commands.lastWord(command);
  if (only === undefined)
    return [name, ...Object.entries(args).map(([arg, kind]) => commands.formatArgument(arg, kind, "…"))].join(" ");
  // If each verb has verbs of its own, the command is mainly used without a verb: `serve`, not `serve keys`.
  if (verbs.every((verb) => verb.verbs.length > 0)) return name;
  if (others.length === 0) return `${name} ${verbTerm(only)}`;
  const listed = verbs.map(commands.lastWord).join("|");
  return `${name} ${listed.length <= maxVerbsLength ? listed : "<verb>"}`;
};

const ownItems = ({ args, options }: Command) => [
  ...argumentItems(args),
  ...(groupOptions(options).get(undefined) ?? []).map(([name, kind]) => ({
    term: commands.formatFlags(name, kind),
    description: kind.default === undefined ? kind.about : `${kind.about} (default: ${kind.default})`,
  })),
];

const argumentItems = (args: Kinds) =>
  Object.entries(args).map(([term, { about, choices }]) => ({
    term,
    description: choices === undefined ? about : `${about}: ${choices.join(", ")}`,
  }));

const groupOptions = (options: Kinds): ReadonlyMap<string | undefined, readonly NamedKind[]> => {
  const groups = new Map<string | undefined, NamedKind[]>([[undefined, []]]);
  for (const named of Object.entries(options)) {
    const { group } = named[1];
    groups.set(group, [...(groups.get(group) ?? []), named]);
  }
  return groups;
};

/** Lists the options of each group without descriptions, so that the help fits one screen. */
const groupLines = ({ options }: Command, columns: number): string[] => {
  const groups = [...groupOptions(options)].flatMap(([name, kinds]) => (name ? [{ name: `${name}:`, kinds }] : []));
  const width = Math.max(0, ...groups.map(({ name }) => name.length));
  return groups.map(({ name, kinds }) => {
    const lines: string[] = [];
    for (const term of kinds.map((named) => commands.formatFlags(...named))) {
      const line = lines.at(-1);
      const isFull = line === undefined || line.length + 2 + term.length > columns - width - 4;
      if (isFull) lines.push(term);
      else lines.splice(-1, 1, `${line}  ${term}`);
    }
    return lines.map((line, at) => `  ${(at === 0 ? name : "").padEnd(width)}  ${line}`).join("\n");
  });
};

const exampleLines = ({ examples }: Command) =>
  examples.length === 0 ? [] : ["Examples:", ...examples.map((line) => `  ${line}`)];

export const fullHelp = (command: Command, root: Command | undefined, terminalColumns: number) => {
  const { wrapped, list } = createLayout(terminalColumns);
  const section = (title: string, items: readonly Item[]) =>
    items.length === 0 ? "" : [`${title}:`, ...list(items)].join("\n");
  const options = (title: string, kinds: readonly NamedKind[]) => section(title, kinds.map(optionItem));
  const verbs = command.verbs.map(({ words, about }) => ({ term: words, description: about }));
  const parts = [
    wrapped(`${capitalize(command.about).replace(/\.$/, "")}.`),
    wrapped(`Usage: ${commands.formatUsage(command)}`),
    section("Commands", verbs),
    section("Arguments", argumentItems(command.args)),
    ...Array.from(groupOptions(command.options), ([group = "options", kinds]) => options(capitalize(group), kinds)),
    exampleLines(command).join("\n"),
    root === undefined ? "" : options("Global options", Object.entries(root.options)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
};

const optionItem = ([name, kind]: NamedKind) => {
  const { about, placeholder = "", choices = [], default: defaultValue, repeatable } = kind;
  const namesChoices = choices.every((choice) => `${about} ${placeholder}`.includes(choice));
  const description = [
    `${about}${namesChoices ? "" : `: ${choices.join(", ")}`}`,
    ...(defaultValue === undefined ? [] : [`(default: ${defaultValue})`]),
    ...(repeatable === true ? ["(repeatable)"] : []),
  ].join(" ");
  return { term: commands.formatFlags(name, kind), description };
};

/** Types of values by their placeholders. Default: text. */
const valueTypes: Readonly<Record<string, string>> = {
  ...{ file: "file", dir: "folder", folder: "folder", duration: "duration", size: "size" },
  ...{ n: "number", number: "number", url: "url" },
};

const describeValue = (name: string, { choices }: Kind<unknown>) => ({
  name,
  kind: choices === undefined ? (valueTypes[name] ?? "text") : "choice",
  choices: choices ?? null,
});

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
    short: kind.short === undefined ? null : `-${kind.short}`,
    about: kind.about,
    value: kind.placeholder === undefined ? null : describeValue(kind.placeholder, kind),
    default: kind.default ?? null,
    repeatable: kind.repeatable === true,
    group: kind.group ?? null,
  })),
  verbs: command.verbs.map(commands.lastWord),
  examples: command.examples,
});

export const describeCommands = async (program: Program) =>
  commands.listCommands(await commands.loadTree(program)).map(describeCommand);
