/** A verb of the command tree as an agent calls it: its arguments and options as parameters, and the words that they mean. */
import type { Command } from "commander";
import { choice, flag, type Given, needed, type Parameter, text, textOrNumber, texts } from "../../mcp/index.ts";
import { type ArgumentFacts, type CommandFacts, describeTree, type OptionFacts } from "../commands/tree.ts";

/** A verb. */
export interface Verb {
  readonly parameters: readonly Parameter<unknown>[];
  /** The names of parameters by the arguments and options that they stand for: `--feature` is `features`. */
  readonly names: ReadonlyMap<string, string>;
  /** Options and arguments, as they would be typed behind the verb. */
  words(given: Given): readonly string[];
}

/** How a verb is offered. */
interface Offered {
  /** Options that are not offered, such as those that would write a file. */
  readonly without: readonly string[];
  /** Parameters whose name is not that of the option or argument. */
  readonly names?: Readonly<Record<string, string>>;
  /** Most values of an argument that takes several. */
  readonly most?: number;
}

/** What stands for one option or argument. */
interface Part {
  readonly parameter: Parameter<unknown>;
  words(given: Given): readonly string[];
}

/** A verb by its words, such as `catalog router`. */
export const verbOf = (root: Command, verb: string, { without, names = {}, most = 1 }: Offered): Verb => {
  const facts = factsOf(root, verb);
  const options = facts.options.filter(({ name }) => !without.includes(name));
  const named = new Map([
    ...facts.arguments.map(({ name }): [string, string] => [`<${name}>`, names[name] ?? name]),
    ...options.map((option): [string, string] => [option.name, names[option.name] ?? nameOf(option)]),
  ]);
  const typed = options.map((option) => optionPart(option, named.get(option.name) ?? "", facts.options));
  const placed = facts.arguments.map((argument) => argumentPart(argument, named.get(`<${argument.name}>`) ?? "", most));
  return {
    parameters: [...placed, ...typed].map(({ parameter }) => parameter),
    names: named,
    // Behind two dashes nothing is taken for an option.
    words: (given) => [
      ...typed.flatMap((part) => part.words(given)),
      "--",
      ...placed.flatMap((part) => part.words(given)),
    ],
  };
};

const factsOf = (root: Command, verb: string): CommandFacts => {
  const facts = describeTree(root).find(({ name }) => name === verb);
  if (facts === undefined) throw new Error(`no verb ${verb}`);
  return facts;
};

/** `--input-modality`, which may stand several times, is `input_modalities`. */
const nameOf = ({ name, repeatable }: OptionFacts): string => {
  const own = name.replace(/^--/, "").replaceAll("-", "_");
  return repeatable ? `${own.replace(/y$/, "ie")}s` : own;
};

/** Most values of an option that may stand several times. */
const mostValues = 20;

const optionPart = (option: OptionFacts, name: string, all: readonly OptionFacts[]): Part => {
  const { name: long, about, value, repeatable } = option;
  if (value === null) return flagPart(long, { name, about }, all);
  if (repeatable) {
    const parameter = texts({ name, about }, { most: mostValues });
    return { parameter, words: (given) => (given(parameter) ?? []).flatMap((one) => [long, one]) };
  }
  const { choices } = value;
  const parameter = choices === null ? textOrNumber({ name, about }) : choice({ name, about }, choices);
  return {
    parameter,
    words: (given) => {
      const typed = given<string | number | undefined>(parameter);
      return typed === undefined ? [] : [long, String(typed)];
    },
  };
};

/** False is the option that says the opposite, where there is one. */
const flagPart = (
  long: string,
  about: { readonly name: string; readonly about: string },
  all: readonly OptionFacts[],
): Part => {
  const parameter = flag(about);
  const opposite = all.find(({ name }) => name === long.replace("--", "--not-"))?.name;
  const wordFor = (value: boolean | undefined) => (value === true ? long : value === false ? opposite : undefined);
  return { parameter, words: (given) => [wordFor(given(parameter))].filter((word) => word !== undefined) };
};

const argumentPart = ({ about, repeatable, required }: ArgumentFacts, name: string, most: number): Part => {
  if (repeatable) {
    const parameter = needed(texts({ name, about }, { least: 1, most }));
    return { parameter, words: (given) => given(parameter) };
  }
  const parameter = required ? needed(text({ name, about })) : text({ name, about });
  return { parameter, words: (given) => [given<string | undefined>(parameter)].filter((word) => word !== undefined) };
};
