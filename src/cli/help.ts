/** Lays out one screen of help for `-h`, and all help for `--help`. */
import { type Argument, type Command as Commander, Help, type Option } from "commander";
import type { Command } from "./command.ts";
import * as commands from "./command.ts";

/** Size of a common terminal, minus one line for the prompt. */
const screenColumns = 80;
const screenLines = 23;

const minDescriptionWidth = 30;
const maxVerbListLength = 20;

type Item = readonly [term: string, description: string, heading?: string | undefined];
type HelpRequest = Readonly<{ command: Command; parser: Commander }>;

/** Text that both kinds of help have. */
class CommandHelp extends Help {
  override minWidthToWrap = 1;
  protected readonly command: Command;
  protected readonly columns: number;

  constructor(command: Command, columns: number) {
    super();
    this.command = command;
    this.columns = Math.min(screenColumns, columns);
    this.helpWidth = this.columns;
  }

  override commandUsage() {
    return commands.formatUsage(this.command);
  }

  override argumentDescription({ description, argChoices }: Argument) {
    return argChoices ? `${description}: ${argChoices.join(", ")}` : description;
  }

  override visibleGlobalOptions(parser: Commander): Option[] {
    let root = parser;
    while (root.parent) root = root.parent;
    return root === parser ? [] : this.visibleOptions(root);
  }

  /** Writes a description below its term if it would be too narrow next to it. */
  override formatItem(term: string, termWidth: number, description: string, helper: Help) {
    if (this.columns - termWidth - 4 >= minDescriptionWidth)
      return super.formatItem(term, termWidth, description, helper);
    return `  ${term}\n${this.boxWrap(description, this.columns - 6)}`.replaceAll("\n", "\n      ");
  }

  protected wrap(text: string) {
    return this.boxWrap(text, this.columns);
  }

  protected list(items: readonly Item[]) {
    const width = Math.max(0, ...items.map(([term]) => term.length));
    return items.map(([term, description]) => this.formatItem(term, width, description, this));
  }

  protected argumentItems(parser: Commander) {
    return parser.registeredArguments.map((one): Item => [one.name(), this.argumentDescription(one)]);
  }

  protected optionItems(options: readonly Option[]) {
    return options.map((one): Item => [this.optionTerm(one), this.optionDescription(one)]);
  }

  /** Options without a group come first. */
  protected optionGroups(parser: Commander) {
    const groups = this.groupItems<Option>(
      [...parser.options],
      this.visibleOptions(parser),
      (one) => one.helpGroupHeading ?? "",
    );
    const { "": others = [], ...named } = Object.fromEntries(groups);
    return { others, named: Object.entries(named) };
  }

  protected examples() {
    const { examples } = this.command;
    return examples.length === 0 ? [] : ["Examples:", ...examples.map((line) => `  ${line}`)];
  }
}

class ShortHelp extends CommandHelp {
  override argumentDescription(argument: Argument) {
    return this.command.usual?.[argument.name()] ?? super.argumentDescription(argument);
  }

  override optionDescription(option: Option) {
    const { description, defaultValueDescription } = option;
    const about = defaultValueDescription ? `${description} (default: ${defaultValueDescription})` : description;
    return this.command.usual?.[option.name()] ?? about;
  }

  override formatHelp(parser: Commander) {
    const { about, usual } = this.command;
    const isRoot = parser.parent === null;
    const { others, named } = usual ? this.selectOptions(parser, usual) : this.optionGroups(parser);
    const groups = this.formatGroups(named);
    const layOut = () => {
      const parts = [
        [this.wrap(capitalize(about)), this.wrap(`Usage: ${this.commandUsage()}`)],
        this.subcommandLines(),
        isRoot ? [] : this.list([...this.argumentItems(parser), ...this.optionItems(others)]),
        isRoot && groups.length > 0 ? ["Global options, before or after the command:", ...groups] : groups,
        this.examples(),
        [this.wrap(`All options (--json, --local, --profile, …): ${commands.formatInvocation(this.command)} --help`)],
      ];
      const texts = parts.map((lines) => lines.filter(Boolean).join("\n")).filter(Boolean);
      const spaced = `${texts.join("\n\n").replace(/:\n\n(?= )/g, ":\n")}\n`;
      return countLines(spaced) <= screenLines ? spaced : `${texts.join("\n").replace("\n  ", "\n\n  ")}\n`;
    };
    while (groups.length > 0 && countLines(layOut()) > screenLines) groups.pop();
    return layOut();
  }

  private selectOptions(parser: Commander, names: Readonly<Record<string, string>>) {
    const usual = Object.keys(names).flatMap((name) =>
      this.visibleOptions(parser).filter((one) => one.name() === name),
    );
    return { others: usual, named: [] };
  }

  private subcommandLines() {
    const items = listSubcommands(this.command);
    const lines = this.list(items);
    return items.flatMap(([, , heading], at) => [heading ?? "", lines[at] ?? ""].filter(Boolean));
  }

  /** Lists only the names of grouped options. */
  private formatGroups(groups: readonly (readonly [name: string, options: readonly Option[]])[]) {
    const width = Math.max(0, ...groups.map(([name]) => name.length + 1));
    return groups.map(([name, options]) => {
      const [first = "", ...terms] = options.map((one) => this.optionTerm(one));
      const lines = [first];
      for (const term of terms) {
        const line = `${lines.at(-1)}  ${term}`;
        if (line.length > this.columns - width - 4) lines.push(term);
        else lines.splice(-1, 1, line);
      }
      return lines.map((line, at) => `  ${(at === 0 ? `${name}:` : "").padEnd(width)}  ${line}`).join("\n");
    });
  }
}

const countLines = (text: string) => text.split("\n").length - 1;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Commands of a group share an item. */
const listSubcommands = ({ subcommands }: Command) => {
  const items = new Map<string, Item>();
  for (const subcommand of subcommands) {
    const { group, about, heading } = subcommand;
    if (!group) items.set(formatCommandTerm(subcommand), [formatCommandTerm(subcommand), about, heading]);
    else items.set(group, [group, [items.get(group)?.[1], commands.lastWord(subcommand)].filter(Boolean).join(", ")]);
  }
  return [...items.values()];
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
  return `${name} ${listed.length <= maxVerbListLength ? listed : `${listed.split("|", 2).join("|")}|…`}`;
};

class FullHelp extends CommandHelp {
  override optionDescription(option: Option) {
    const { description, flags, argChoices = [], defaultValueDescription } = option;
    const namesChoices = argChoices.every((choice) => `${description} ${flags}`.includes(choice));
    return [
      description,
      !namesChoices && `: ${argChoices.join(", ")}`,
      defaultValueDescription && ` (default: ${defaultValueDescription})`,
      this.command.options[option.name()]?.repeatable && " (repeatable)",
    ]
      .filter(Boolean)
      .join("");
  }

  override formatHelp(parser: Commander) {
    const section = (title: string, items: readonly Item[]) =>
      this.formatItemList(`${title}:`, this.list(items), this).join("\n").trimEnd();
    const options = (title: string, listed: readonly Option[]) => section(title, this.optionItems(listed));
    const { about, subcommands } = this.command;
    const { others, named } = this.optionGroups(parser);
    const parts = [
      this.wrap(`${capitalize(about).replace(/\.$/, "")}.`),
      this.wrap(`Usage: ${this.commandUsage()}`),
      section(
        "Commands",
        subcommands.map(({ words, about }) => [words, about]),
      ),
      section("Arguments", this.argumentItems(parser)),
      options("Options", others),
      ...named.map(([name, listed]) => options(capitalize(name), listed)),
      this.examples().join("\n"),
      options("Global options", this.visibleGlobalOptions(parser)),
    ];
    return `${parts.filter(Boolean).join("\n\n")}\n`;
  }
}

export const formatShortHelp = ({ command, parser }: HelpRequest, columns = screenColumns) =>
  new ShortHelp(command, columns).formatHelp(parser);

export const formatFullHelp = ({ command, parser }: HelpRequest, columns: number) =>
  new FullHelp(command, columns).formatHelp(parser);
