/** The kinds of options and arguments: how the words of each are read, how it is shown, and which values there are. */

import type { Failure } from "../failure.ts";
import { conflictingOptions, invalidOptionValue, requiredOptionMissing } from "../failures.ts";
import { findNearest } from "../nearest.ts";

/** What an option or an argument takes. */
export interface Kind<Value> {
  /** A noun phrase for the help. */
  readonly about: string;
  /** The placeholder of the value; undefined for an option that takes none. */
  readonly placeholder?: string;
  /** The only values there are. */
  readonly choices?: readonly string[];
  /** True if it takes several values, one each time. */
  readonly repeatable?: boolean;
  /** The value without it, as the help shows it. */
  readonly default?: string;
  /** True for an argument that must be given. */
  readonly required?: boolean;
  /** One letter, without its dash. */
  readonly short?: string;
  /** Heading in the help, which names an option of a group without its text. */
  readonly group?: string;
  /** The option, without its dashes, that it has no effect without. */
  readonly needs?: string;
  /** Reads what was typed, nothing if it was not; `name` is for a failure. @throws Failure */
  readonly parse: (words: readonly string[], name: string) => Value;
}

/** Kinds by their names: kebab-case, as typed. */
export type Kinds = Readonly<Record<string, Kind<unknown>>>;

type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/** The values of kinds, by their names in camel case. */
export type Values<Of extends Kinds> = {
  readonly [Name in keyof Of & string as Camel<Name>]: Of[Name] extends Kind<infer Value> ? Value : never;
};

/** The failure for a value that an option does not take. */
export const wrongValue = (option: string, value: string, wanted: string, suggestion?: string): Failure =>
  invalidOptionValue({ option, value, wanted, suggestion });

/** The failure for two options that exclude each other. */
export const contradiction = (first: string, second: string, why: string): Failure =>
  conflictingOptions({ first, second, why });

/** An option that takes no value. */
export const flag = (about: string): Kind<boolean> => ({ about, parse: (words) => words.length > 0 });

/** One value, parsed; the last one, if it was typed more than once. */
export const custom = <Value>(
  about: string,
  value: string,
  parse: (word: string, name: string) => Value,
): Kind<Value | undefined> => ({
  about,
  placeholder: value,
  parse: (words, name) => {
    const word = words.at(-1);
    return word === undefined ? undefined : parse(word, name);
  },
});

/** Any text. */
export const text = (about: string, value = "text"): Kind<string | undefined> => custom(about, value, (word) => word);

/** A kind with a value for an option that was not typed. */
export const withDefault = <Value>(kind: Kind<Value>, defaultValue: string): Kind<Exclude<Value, undefined>> => ({
  ...required(kind),
  required: false,
  default: defaultValue,
  parse: (words, name) => required(kind).parse(words.length === 0 ? [defaultValue] : words, name),
});

/** An argument that must be given. */
export const required = <Value>(kind: Kind<Value>): Kind<Exclude<Value, undefined>> => ({
  ...kind,
  required: true,
  parse: (words, name) => {
    const value = kind.parse(words, name);
    if (isDefined(value)) return value;
    throw new Error(`nothing was typed for ${name}`);
  },
});

const isDefined = <Value>(value: Value): value is Exclude<Value, undefined> => value !== undefined;

/** A whole number between two bounds. `wanted` describes it in a failure. */
export const count = (
  about: string,
  { value = "n", least: min = 1, most: max = 999_999_999, wanted = "" } = {},
): Kind<number | undefined> =>
  custom(about, value, (word, name) => {
    const number = /^\d{1,9}$/.test(word) ? Number(word) : -1;
    if (number >= min && number <= max) return number;
    throw wrongValue(name, word, wanted || `a number from ${min} ${max === 999_999_999 ? "on" : `to ${max}`}`);
  });

/** A port to listen on. */
export const port = (usual: string): Kind<number> =>
  withDefault(count("the port to listen on; 0 is any free one", { value: "number", least: 0, most: 65_535 }), usual);

/** One of some words. */
export const choice = <const Word extends string>(
  about: string,
  choices: readonly Word[],
  value = choices.join("|"),
): Kind<Word | undefined> => ({
  ...custom(about, value, (word, name) => parseChoice(word, name, choices)),
  choices,
});

const parseChoice = <Word extends string>(word: string, name: string, choices: readonly Word[]): Word => {
  const found = choices.find((each) => each === word);
  if (found !== undefined) return found;
  const wanted = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  throw wrongValue(name, word, wanted, findNearest(word, choices));
};

/** Any number of values, one each time. */
export const repeated = (about: string, value = ""): Kind<readonly string[]> => ({
  about,
  placeholder: value,
  repeatable: true,
  parse: (words) => words,
});

/** Any number of some words, one each time. */
export const choices = <const Word extends string>(
  about: string,
  words: readonly Word[],
  value: string,
): Kind<readonly Word[]> => ({
  ...repeated(about, value),
  choices: words,
  parse: (typed, name) => typed.map((word) => parseChoice(word, name, words)),
});

/** Any number of values, one each time or separated by commas. */
export const list = (about: string, value: string): Kind<readonly string[]> => ({
  ...repeated(about, value),
  parse: (words) => words.flatMap((word) => word.split(",").map((each) => each.trim())),
});

/** Kinds with the same `extra`, such as a group or the option that they need. */
export const withExtra = <Of extends Kinds>(extra: Pick<Kind<unknown>, "group" | "needs">, kinds: Of): Of =>
  Object.fromEntries(Object.entries(kinds).map((entry): readonly unknown[] => [entry[0], { ...entry[1], ...extra }]));

/** Reads kinds from what was typed, by their names. @throws Failure `invalid-option-value`, `required-option-missing` */
export const parseKinds = <Of extends Kinds>(
  kinds: Of,
  { typed, nameOf }: { readonly typed: (name: string) => readonly string[]; nameOf(name: string): string },
): Values<Of> =>
  Object.fromEntries(
    Object.entries(kinds).map(([name, kind]): readonly unknown[] => {
      const words = typed(name);
      if (kind.needs !== undefined && words.length > 0 && typed(kind.needs).length === 0) {
        throw requiredOptionMissing(nameOf(name), nameOf(kind.needs));
      }
      return [camelCase(name), kind.parse(words, nameOf(name))];
    }),
  );

/** The option whose value has a name in camel case. */
export const toOptionName = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const camelCase = (name: string): string => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
