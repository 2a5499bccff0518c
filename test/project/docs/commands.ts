/** The reference of all commands, which is made from the help that they print. */
import { type HelpSection, parseHelp } from "../../../build/help.js";
import { listCommands, loadTree } from "../../../src/cli/command.ts";
import { program } from "../../../src/commands/program.ts";
import { runRollcall } from "../../support/run.ts";

/** Words that lead to a command, from the program's name on. */
export type CommandPath = readonly string[];

const commands = listCommands(await loadTree(program));

/** Every command, a noun before its verbs. */
export const commandPaths = (): readonly CommandPath[] =>
  commands.map(({ words }) => ["rollcall", ...words.split(" ").filter((word) => word !== "")]);

type Item = HelpSection["items"][number];

/** The page: the global options, the options that several commands share, and each command with its own. */
export const commandsPage = async (): Promise<string> => {
  const helps: CommandHelp[] = [];
  for (const path of commandPaths()) helps.push(await helpOf(path.slice(1)));
  const [start, ...commands] = helps;
  const shared = sharedSections(commands);
  const parts = [
    "# Commands",
    intro,
    ...(start === undefined ? [] : [commandPart(start, [])]),
    "## Shared options",
    ...shared.map(
      ({ title, takers, items }) => `### ${title}\n\nCommands: ${listed(takers)}.\n\n${fenced(linesOf(items))}`,
    ),
    ...commands.map((help) => commandPart(help, shared)),
  ];
  return `${parts.join("\n\n")}\n`;
};

const intro = `\`rollcall <command> --help\` prints the help of a command, and \`-h\` prints one screen of it.
Every command accepts the global options, which are the options of \`rollcall\` itself.
Options that several commands share are described once, under "Shared options".`;

/** The output of a command with `--help`, without the global options. */
interface CommandHelp {
  readonly name: string;
  readonly about: string;
  readonly usage: string;
  readonly sections: readonly HelpSection[];
}

const helpOf = async (words: CommandPath): Promise<CommandHelp> => {
  const { about, usage, sections } = parseHelp((await runRollcall([...words, "--help"])).stdout);
  return {
    name: words.join(" "),
    about,
    usage,
    sections: sections.filter(({ title }) => title !== "Global options"),
  };
};

/** Options that the same commands describe in the same words under the same title. */
interface SharedSection {
  readonly title: string;
  readonly takers: readonly string[];
  readonly items: readonly Item[];
}

/** Most options that a section is named after; longer ones have the title of the help. */
const maxInTitle = 3;

const sharedSections = (commands: readonly CommandHelp[]): readonly SharedSection[] => {
  const options = new Map<string, { readonly item: Item; readonly title: string; readonly takers: string[] }>();
  for (const { name, sections } of commands) {
    for (const { title, items } of sections) {
      for (const item of items.filter(isOption)) {
        const known = options.get(keyOf(item));
        if (known === undefined) options.set(keyOf(item), { item, title, takers: [name] });
        else known.takers.push(name);
      }
    }
  }
  const groups = new Map<string, SharedSection>();
  for (const { item, title, takers } of options.values()) {
    if (takers.length === 1) continue;
    const key = [title, ...takers].join("\n");
    groups.set(key, { title, takers, items: [...(groups.get(key)?.items ?? []), item] });
  }
  return Array.from(groups.values(), (section) =>
    section.items.length > maxInTitle ? section : { ...section, title: section.items.map(nameOf).join(", ") },
  );
};

const isOption = ({ term }: Item): boolean => term.startsWith("-");
const keyOf = ({ term, about }: Item): string => `${term} ${about}`;
const nameOf = ({ term }: Item): string => `\`${term.replace(/ <.*/, "")}\``;
const linesOf = (items: readonly Item[]): readonly string[] => items.flatMap(({ lines }) => lines);
const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
const fenced = (lines: readonly string[]): string => ["```text", ...lines, "```"].join("\n");

/** A command with the options that only it has, and the names of the sections with the others. */
const commandPart = ({ name, about, usage, sections }: CommandHelp, shared: readonly SharedSection[]): string => {
  const others = shared.filter(({ takers }) => takers.includes(name));
  const keys = new Set(others.flatMap(({ items }) => items.map(keyOf)));
  const own = sections.flatMap(({ title, lines, items }) => {
    const kept = items.some(isOption) ? linesOf(items.filter((item) => !keys.has(keyOf(item)))) : lines;
    return kept.length === 0 ? [] : ["", `${title}:`, ...kept];
  });
  return [
    `## ${["rollcall", name].join(" ").trim()}`,
    about,
    fenced([`Usage: ${usage}`, ...own]),
    ...(name === "explain" ? ["[rules.md](reference/rules.md) lists all rules."] : []),
    ...(others.length === 0 ? [] : [`Shared options: ${others.map(({ title }) => title).join(", ")}.`]),
  ].join("\n\n");
};
