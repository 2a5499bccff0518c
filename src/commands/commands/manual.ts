/** The manual of a command: what `--help` prints, and what the man pages are made of. */
import type { Command } from "commander";
import { exampleLines, type Item, layoutOf, pathOf, sentence, verbsOf } from "../help.ts";
import { allOptions, rootOf } from "../words.ts";
import { type ArgumentFacts, describeCommand, type OptionFacts } from "./tree.ts";

/** Everything that `--help` prints, laid out for a terminal of so many columns; more than every terminal has are not used. */
export const wholeHelp = (command: Command, columns: number): string => {
  const { list, wrapped } = layoutOf(command, columns);
  const facts = describeCommand(command);
  const section = (title: string, items: readonly Item[]): string =>
    items.length === 0 ? "" : [`${title}:`, ...list(items)].join("\n");
  const optionSections = (of: Command, heading: string): readonly string[] =>
    groupsOf(describeCommand(of).options).map(([group, options]) => section(group ?? heading, options.map(optionItem)));
  const root = rootOf(command);
  const taken = new Set(allOptions(command).map(({ long }) => long));
  const parts = [
    wrapped(`${sentence(facts.about).replace(/\.$/, "")}.`),
    wrapped(`Usage: ${facts.usage}`),
    section("Commands", verbsOf(command).map(commandItem)),
    section("Arguments", facts.arguments.map(argumentItem)),
    ...optionSections(command, "Options"),
    exampleLines(command).join("\n"),
    ...between(command).map((one) =>
      section(
        `Options of ${pathOf(one)}`,
        describeCommand(one)
          .options.filter(({ name }) => taken.has(name))
          .map(optionItem),
      ),
    ),
    ...(command === root ? [] : [section("Global options", describeCommand(root).options.map(optionItem))]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
};

/** The commands above one that are below the root: their options are taken too. */
const between = ({ parent }: Command): readonly Command[] =>
  parent === null || parent.parent === null ? [] : [...between(parent), parent];

const commandItem = (command: Command): Item => ({
  term: pathOf(command).replace(/^rollcall /, ""),
  description: command.description(),
});

const argumentItem = (argument: ArgumentFacts): Item => ({ term: argument.name, description: aboutArgument(argument) });

const optionItem = (option: OptionFacts): Item => ({
  term: [
    [option.short, option.name].filter((one) => one !== null).join(", "),
    ...(option.value === null ? [] : [`<${option.value.name}>`]),
  ].join(" "),
  description: aboutOption(option),
});

/** Options by the headings of the help, those without one first. */
export const groupsOf = (
  options: readonly OptionFacts[],
): readonly (readonly [group: string | null, options: readonly OptionFacts[]])[] =>
  [...new Set(options.map(({ group }) => (group === null ? null : sentence(group))))]
    .toSorted((one, other) => Number(one !== null) - Number(other !== null))
    .map((group) => [group, options.filter((one) => (one.group === null ? null : sentence(one.group)) === group)]);

/** What an argument is, and which values there are. */
export const aboutArgument = ({ about, choices }: ArgumentFacts): string =>
  choices === null ? about : `${about}: ${choices.join(", ")}`;

/** What an option means, which values there are, and what holds without it. */
export const aboutOption = ({ about, value, default: usual, repeatable }: OptionFacts): string => {
  // Most descriptions, and the names of some values, say the choices already.
  const choices = (value?.choices ?? []).filter((choice) => !`${about} ${value?.name}`.includes(choice));
  return [
    about,
    ...(choices.length === 0 ? [] : [`one of ${value?.choices?.join(", ")}`]),
    ...(usual === null ? [] : [`without it: ${usual}`]),
    ...(repeatable && !/several|again/.test(about) ? ["may be given again"] : []),
  ].join("; ");
};
