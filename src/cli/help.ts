/** The help of a command: `-h` is one screen with what people need most, `--help` is all of it. */
import { Help } from "commander";
import {
  argumentText,
  type Command,
  commandsIn,
  flagsOf,
  nameOf,
  type Program,
  pathOf,
  usageOf,
  verbsOf,
  wholeTree,
} from "./command.ts";
import type { Kind, Kinds } from "./kinds.ts";

/** Columns of a screen that every terminal has. */
const screenColumns = 80;

/** Lines of a screen that every terminal has, without the prompt's. */
const screenLines = 23;

/** What is listed: how it is typed, and what it means. */
interface Item {
  readonly term: string;
  readonly description: string;
}

/** Minimum width of a description next to its term, in columns. */
const minDescription = 30;

/** Maximum length of a noun's verbs that are shown next to it. */
const maxVerbs = 20;

const layoutFor = (terminalColumns: number) => {
  const columns = Math.min(screenColumns, terminalColumns);
  const helper = Object.assign(new Help(), { helpWidth: columns, minWidthToWrap: 1 });
  const below = ({ term, description }: Item): string =>
    [`  ${term}`, ...helper.boxWrap(description, columns - 6).split("\n")].join("\n      ");
  return {
    columns,
    wrapped: (text: string): string => helper.boxWrap(text, columns),
    /** Items below each other, their descriptions next to them, or below them if there is no room. */
    list(items: readonly Item[]): readonly string[] {
      const width = Math.max(0, ...items.map(({ term }) => term.length));
      const isBeside = columns - width - 4 >= minDescription;
      return items.map((item) =>
        isBeside ? helper.formatItem(item.term, width, item.description, helper) : below(item),
      );
    },
  };
};

/** What `-h` prints, for a terminal of so many columns, of which at most 80 are used. */
export const screenHelp = (command: Command, terminalColumns = screenColumns): string => {
  const { columns, wrapped, list } = layoutFor(terminalColumns);
  const isRoot = command.words === "";
  const groups = groupLines(command, columns);
  const laidOut = (): string => {
    const parts = [
      [wrapped(sentence(command.about)), wrapped(`Usage: ${usageOf(command)}`)],
      list(verbItems(command)),
      isRoot ? ["Global options, before or after the command:"] : list(ownItems(command)),
      groups,
      exampleLines(command),
      [wrapped(`All options${isRoot ? "" : " (--json, --local, --profile, …)"}: ${pathOf(command)} --help`)],
    ];
    const texts = parts.map((lines) => lines.filter((line) => line !== "").join("\n")).filter((text) => text !== "");
    const airy = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
    // A screen has few lines: a heading needs no empty line before it.
    return linesIn(airy) <= screenLines ? airy : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
  };
  while (groups.length > 0 && linesIn(laidOut()) > screenLines) groups.pop();
  return laidOut();
};

const linesIn = (text: string): number => text.split("\n").length - 1;

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The verbs of a command with their descriptions; those of a group are only named, next to its heading. */
const verbItems = (command: Command): readonly Item[] => {
  const shown = verbsOf(command);
  const items = shown
    .filter(({ group }) => group === undefined)
    .map((verb) => ({ term: verbTerm(verb), description: verb.summary ?? verb.about }));
  const groups = new Set(shown.flatMap(({ group }) => group ?? []));
  const named = Array.from(groups, (group) => ({
    term: group,
    description: shown
      .filter((verb) => verb.group === group)
      .map(nameOf)
      .join(", "),
  }));
  return [...items, ...named];
};

/** How a command is typed after the one above: with its verbs or its arguments. */
const verbTerm = (command: Command): string => {
  const { verbs } = command;
  const [only] = verbs;
  // A command of its own, with verbs below another word.
  if (verbs.length > 0 && verbs.every((verb) => verb.verbs.length > 0)) return nameOf(command);
  const args = ({ args }: Command) => Object.entries(args).map(([name, kind]) => argumentText(name, kind, "…"));
  if (only === undefined) return [nameOf(command), ...args(command)].join(" ");
  if (verbs.length === 1) return [nameOf(command), nameOf(only), ...args(only)].join(" ");
  const listed = verbs.map(nameOf).join("|");
  return `${nameOf(command)} ${listed.length <= maxVerbs ? listed : "<verb>"}`;
};

const ownItems = ({ args, options }: Command): readonly Item[] => [
  ...argumentItems(args),
  ...Object.entries(options)
    .filter(([, { group }]) => group === undefined)
    .map(([name, kind]) => ({
      term: flagsOf(name, kind),
      description: kind.default === undefined ? kind.about : `${kind.about} (${kind.default})`,
    })),
];

/** Arguments: what they are, and which values there are. */
const argumentItems = (args: Kinds): readonly Item[] =>
  Object.entries(args).map(([term, { about, choices }]) => ({
    term,
    description: choices === undefined ? about : `${about}: ${choices.join(", ")}`,
  }));

/** The options in groups, a line or two for each group, so that many of them fit the screen. */
const groupLines = ({ options }: Command, columns: number): string[] => {
  const groups = groupsIn(options).flatMap(([group, kinds]) => (group === undefined ? [] : [[group, kinds] as const]));
  const width = Math.max(0, ...groups.map(([group]) => group.length));
  return groups.map(([group, kinds]) =>
    filledLines(
      kinds.map(([name, kind]) => flagsOf(name, kind)),
      columns - width - 4,
    )
      .map((line, at) => `  ${(at === 0 ? group : "").padEnd(width)}  ${line}`)
      .join("\n"),
  );
};

type Named = readonly [name: string, kind: Kind<unknown>];

/** Options by their groups, those without one first. */
const groupsIn = (options: Kinds): readonly (readonly [group: string | undefined, kinds: readonly Named[]])[] => {
  const groups = new Map<string | undefined, Named[]>([[undefined, []]]);
  for (const named of Object.entries(options)) {
    const { group } = named[1];
    groups.set(group, [...(groups.get(group) ?? []), named]);
  }
  return [...groups];
};

/** Terms next to each other, as many as fit, none of them broken. */
const filledLines = (terms: readonly string[], width: number): readonly string[] => {
  const lines: string[] = [];
  for (const term of terms) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 2 + term.length <= width) lines.splice(-1, 1, `${line}  ${term}`);
    else lines.push(term);
  }
  return lines;
};

const exampleLines = ({ examples }: Command): readonly string[] =>
  examples.length === 0 ? [] : ["Examples:", ...examples.map((line) => `  ${line}`)];

/** What `--help` prints, for a terminal of so many columns, of which at most 80 are used. */
export const wholeHelp = (command: Command, above: readonly Command[], terminalColumns: number): string => {
  const { wrapped, list } = layoutFor(terminalColumns);
  const section = (title: string, items: readonly Item[]): string =>
    items.length === 0 ? "" : [`${title}:`, ...list(items)].join("\n");
  const [root, ...between] = above;
  const taken = new Set(Object.keys(command.above));
  const parts = [
    wrapped(`${sentence(command.about).replace(/\.$/, "")}.`),
    wrapped(`Usage: ${usageOf(command)}`),
    section(
      "Commands",
      verbsOf(command).map(({ words, about }) => ({ term: words, description: about })),
    ),
    section("Arguments", argumentItems(command.args)),
    ...groupsIn(command.options).map(([group, kinds]) =>
      section(group === undefined ? "Options" : sentence(group), kinds.map(optionItem)),
    ),
    exampleLines(command).join("\n"),
    ...between.map((one) =>
      section(
        `Options of ${pathOf(one)}`,
        Object.entries(one.options)
          .filter(([name]) => taken.has(name))
          .map(optionItem),
      ),
    ),
    root === undefined ? "" : section("Global options", Object.entries(root.options).map(optionItem)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
};

const optionItem = ([name, kind]: Named): Item => ({ term: flagsOf(name, kind), description: aboutOption(kind) });

/** What an option means, which values there are, and what holds without it. */
const aboutOption = ({ about, value = "", choices = [], default: usual, repeatable }: Kind<unknown>): string => {
  // Most descriptions, and some placeholders, name the choices already.
  const isNamed = choices.every((choice) => `${about} ${value}`.includes(choice));
  return [
    about,
    ...(isNamed ? [] : [`one of ${choices.join(", ")}`]),
    ...(usual === undefined ? [] : [`without it: ${usual}`]),
    ...(repeatable === true && !/several|again/.test(about) ? ["may be given again"] : []),
  ].join("; ");
};

/** Types of values, by the placeholders that stand for them; others are text. */
const valueTypes: Readonly<Record<string, string>> = {
  file: "file",
  dir: "folder",
  folder: "folder",
  duration: "duration",
  size: "size",
  n: "number",
  number: "number",
  url: "url",
};

const valueFacts = (name: string, { choices }: Kind<unknown>) => ({
  name,
  kind: choices === undefined ? (valueTypes[name] ?? "text") : "choice",
  choices: choices ?? null,
});

/** An option as data. */
const optionFacts = ([name, kind]: Named) => ({
  name: `--${name}`,
  short: kind.short === undefined ? null : `-${kind.short}`,
  about: kind.about,
  value: kind.value === undefined ? null : valueFacts(kind.value, kind),
  default: kind.default ?? null,
  repeatable: kind.repeatable === true,
  group: kind.group ?? null,
});

/** A command as data: what `rollcall commands --json` prints. */
export const commandFacts = (command: Command) => ({
  name: command.words,
  about: command.about,
  usage: usageOf(command),
  arguments: Object.entries(command.args).map(([name, kind]) => ({
    ...valueFacts(name, kind),
    about: kind.about,
    required: kind.required === true,
    repeatable: kind.repeatable === true,
  })),
  options: Object.entries(command.options).map(optionFacts),
  verbs: verbsOf(command).map(nameOf),
  examples: command.examples,
});

/** All commands as data, the program first, and a noun before its verbs. */
export const describeCommands = async (program: Program): Promise<readonly ReturnType<typeof commandFacts>[]> =>
  commandsIn(await wholeTree(program)).map(commandFacts);
