/** Lays out one screen of help for `-h`, and all help for `--help`. */
import { Help } from "commander";
import type { Command } from "./command.ts";
import * as commands from "./command.ts";
import type { OptionKind, OptionKinds } from "./kinds.ts";

/** Size of a common terminal, minus one line for the prompt. */
const screenColumns = 80;
const screenLines = 23;

const minDescriptionWidth = 30;
const maxVerbListLength = 20;

type NamedKind = readonly [name: string, kind: OptionKind<unknown>];
type Item = readonly [term: string, description: string, heading?: string | undefined];

const wrap = (text: string, columns: number) => Object.assign(new Help(), { minWidthToWrap: 1 }).boxWrap(text, columns);

/** Writes a description below its term if it would be too narrow next to it. */
const formatItems = (items: readonly Item[], columns: number) => {
  const width = Math.max(0, ...items.map(([term]) => term.length));
  const isBelow = columns - width - 4 < minDescriptionWidth;
  const indent = " ".repeat(isBelow ? 6 : width + 4);
  return items.map(([term, description]) => {
    const text = wrap(description, columns - indent.length).replaceAll("\n", `\n${indent}`);
    return isBelow ? `  ${term}\n${indent}${text}` : `  ${term.padEnd(width)}  ${text}`;
  });
};

const toArgumentItem = ([name, { about, choices }]: NamedKind): Item => [
  name,
  choices ? `${about}: ${choices.join(", ")}` : about,
];

const toOptionItem = ([name, kind]: NamedKind): Item => {
  const end = kind.repeatable ? " (repeatable)" : "";
  return [commands.formatFlags(name, kind), commands.formatAbout(kind) + end];
};

const formatExamples = ({ examples }: Command) => ["Examples:", ...examples.map((line) => `  ${line}`)].join("\n");

/** Options without a group come first. */
const listGroups = (options: OptionKinds) => {
  const groups = new Set(["", ...Object.values(options).map(({ group = "" }) => group)]);
  return Array.from(groups, (name) => {
    return [name, Object.entries(options).filter(([, { group = "" }]) => group === name)] as const;
  });
};

/** @param columns those of the terminal */
export const formatShortHelp = (command: Command, columns = screenColumns) => {
  const width = Math.min(screenColumns, columns);
  const { about, args, options, usual } = command;
  const isRoot = command.words === "";
  const [[, ungrouped] = ["", []], ...grouped] = listGroups(options);
  const shown = usual
    ? Object.keys(usual).flatMap((name) => (options[name] ? [[name, options[name]] as const] : []))
    : ungrouped;
  const groups = isRoot || usual ? [] : formatNames(grouped, width);
  const argItems = Object.entries(args).map((entry): Item => {
    const [name, about] = toArgumentItem(entry);
    return [name, usual?.[name] ?? about];
  });
  const items = shown.map(([name, kind]): Item => {
    return [commands.formatFlags(name, kind), usual?.[name] ?? commands.formatAbout(kind)];
  });
  const layOut = () => {
    const texts = [
      `${wrap(capitalize(about), width)}\n${wrap(`Usage: ${commands.formatUsage(command)}`, width)}`,
      formatSubcommands(command, width),
      isRoot ? "" : formatItems([...argItems, ...items], width).join("\n"),
      groups.join("\n"),
      formatExamples(command),
      wrap(`All options (--json, --local, --profile, …): ${commands.formatInvocation(command)} --help`, width),
    ].filter(Boolean);
    const spaced = `${texts.join("\n\n")}\n`;
    return countLines(spaced) <= screenLines ? spaced : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  };
  while (groups.length > 0 && countLines(layOut()) > screenLines) groups.pop();
  return layOut();
};

/** Lists only the names of grouped options. */
const formatNames = (groups: ReturnType<typeof listGroups>, columns: number) => {
  const width = Math.max(0, ...groups.map(([name]) => name.length + 1));
  return groups.map(([group, options]) => {
    const terms = options.map(([name, kind]) => commands.formatFlags(name, kind).replaceAll(" ", noBreak));
    const lines = wrap(terms.join("  "), columns - width - 4).replaceAll("\n", `\n${" ".repeat(width + 4)}`);
    return `  ${`${group}:`.padEnd(width)}  ${lines}`.replaceAll(noBreak, " ");
  });
};

const noBreak = "\ue001";

const countLines = (text: string) => text.split("\n").length - 1;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Commands of a group share an item. */
const formatSubcommands = ({ subcommands }: Command, columns: number) => {
  const items = new Map<string, Item>();
  for (const subcommand of subcommands) {
    const { group, about, heading } = subcommand;
    if (!group) items.set(formatCommandTerm(subcommand), [formatCommandTerm(subcommand), about, heading]);
    else items.set(group, [group, [items.get(group)?.[1], commands.lastWord(subcommand)].filter(Boolean).join(", ")]);
  }
  const listed = [...items.values()];
  const lines = formatItems(listed, columns);
  return listed.flatMap(([, , heading = ""], at) => [heading, lines[at] ?? ""].filter(Boolean)).join("\n");
};

const formatCommandTerm = (command: Command): string => {
  const { subcommands, args } = command;
  const [only, ...others] = subcommands;
  const name = commands.lastWord(command);
  if (!only)
    return [name, ...Object.entries(args).map(([arg, kind]) => commands.formatArgument(arg, kind, "…"))].join(" ");
  if (others.length === 0) return `${name} ${formatCommandTerm(only)}`;
  const listed = subcommands.map(commands.lastWord).join("|");
  return `${name} ${listed.length <= maxVerbListLength ? listed : `${listed.split("|", 2).join("|")}|…`}`;
};

export const formatFullHelp = (command: Command, root: Command, columns: number) => {
  const width = Math.min(screenColumns, columns);
  const section = (title: string, items: readonly Item[]) =>
    items.length === 0 ? "" : [`${title}:`, ...formatItems(items, width)].join("\n");
  const globalNames = Object.keys(root.options).map((name) => `--${name}`);
  const parts = [
    wrap(`${capitalize(command.about).replace(/\.$/, "")}.`, width),
    wrap(`Usage: ${commands.formatUsage(command)}`, width),
    section(
      "Commands",
      command.subcommands.map(({ words, about }) => [words, about]),
    ),
    section("Arguments", Object.entries(command.args).map(toArgumentItem)),
    ...listGroups(command.options).map(([name, options]) =>
      section(name === "" ? "Options" : capitalize(name), options.map(toOptionItem)),
    ),
    formatExamples(command),
    command === root ? "" : wrap(`Global options (rollcall --help): ${globalNames.join(", ")}`, width),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
};
