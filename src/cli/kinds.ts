/** Defines the kinds of options and arguments, and parses values. */
import { findNearest } from "../text/nearest.ts";
import { type InvalidText, isInvalid, reject } from "../text/units.ts";

type TextParser<Value> = (word: string) => Value | InvalidText;

/** An option or argument, from which commander's object, the help and the completion are made. */
export interface OptionKind<Value, Initial = Value> {
  readonly about: string;
  /** Name of the value in the help; missing or empty for a flag. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  /** True if the values of all uses are joined. `parse` returns a list. */
  readonly repeatable?: boolean;
  /** Text of the default in the help. */
  readonly default?: string;
  /** The value if the option is not given. */
  readonly initial?: Initial;
  readonly required?: boolean;
  readonly short?: string;
  /** Heading in the help. */
  readonly group?: string;
  /** Name of an option that this option requires. */
  readonly needs?: string;
  /** Maps each conflicting option to the reason of the conflict. */
  readonly conflicts?: Readonly<Record<string, string>>;
  readonly parse: TextParser<Value>;
}

export type OptionKinds = Readonly<Record<string, OptionKind<unknown>>>;

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

export type Values<Of extends OptionKinds> = {
  readonly [Name in keyof Of & string as CamelCase<Name>]: Of[Name] extends OptionKind<infer Value, infer Initial>
    ? Value | Initial
    : never;
};

/** A `default` here is only stated, because settings or the input can override it. */
export type OptionFacts = Pick<OptionKind<unknown>, "default">;

export const flag = (about: string): OptionKind<boolean> => ({ about, initial: false, parse: () => true });

export const custom = <Value>(
  about: string,
  placeholder: string,
  parse: TextParser<Value>,
  facts: OptionFacts = {},
): OptionKind<Value, undefined> => ({ about, placeholder, parse, ...facts });

export const text = (about: string, placeholder = "text", facts: OptionFacts = {}) =>
  custom(about, placeholder, (word) => word, facts);

export const withDefault = <Value>(kind: OptionKind<Value, unknown>, word: string): OptionKind<Value> => {
  const initial = kind.parse(word);
  if (isInvalid(initial)) throw new Error(initial.wanted);
  return { ...kind, default: word, initial };
};

/** commander refuses a command line without a required argument. */
export const required = <Value>({ initial: _, ...kind }: OptionKind<Value, unknown>): OptionKind<Value> => ({
  ...kind,
  required: true,
});

const maxCount = 999_999_999;

type CountOptions = Readonly<{ placeholder?: string; min?: number; max?: number }>;

export const count = (about: string, { placeholder = "n", min = 1, max = maxCount }: CountOptions = {}) => {
  const parse = (word: string) => {
    const number = /^\d{1,9}$/.test(word) ? Number(word) : -1;
    if (number >= min && number <= max) return number;
    const range = max === maxCount ? `of at least ${min}` : `from ${min} to ${max}`;
    return reject(`a whole number ${range}`);
  };
  return custom(about, placeholder, parse);
};

export const port = (defaultPort: string) =>
  withDefault(
    count("port to listen on; 0 picks a free one", { placeholder: "number", min: 0, max: 65_535 }),
    defaultPort,
  );

export const choice = <const Word extends string>(
  about: string,
  choices: readonly Word[],
  placeholder = choices.join("|"),
): OptionKind<Word, undefined> => ({
  ...custom(about, placeholder, (word) => parseChoice(word, choices)),
  choices,
});

const parseChoice = <Word extends string>(word: string, choices: readonly Word[]) => {
  const found = choices.find((each) => each === word);
  if (found !== undefined) return found;
  const wanted = [choices.slice(0, -1).join(", "), choices.at(-1)].filter(Boolean).join(" or ");
  return reject(wanted, findNearest(word, choices));
};

export const list = <Item>(
  about: string,
  placeholder: string,
  parse: TextParser<readonly Item[]>,
): OptionKind<readonly Item[]> => ({ about, placeholder, repeatable: true, initial: [], parse });

export const repeated = (about: string, placeholder = "") => list(about, placeholder, (word) => [word]);

export const splitAtCommas = (word: string) => word.split(",").map((each) => each.trim());

export const commaList = <Item>(about: string, placeholder: string, parse: TextParser<Item>) => {
  const parseItems = (word: string) => {
    const items: Item[] = [];
    for (const part of splitAtCommas(word)) {
      const item = parse(part);
      if (isInvalid(item)) return { ...item, part };
      items.push(item);
    }
    return items;
  };
  return list(about, placeholder, parseItems);
};

export const inGroup = <Of extends OptionKinds>(group: string, kinds: Of): Of => extendKinds(kinds, { group });
export const needing = <Of extends OptionKinds>(needs: string, kinds: Of): Of => extendKinds(kinds, { needs });

const extendKinds = <Of extends OptionKinds>(kinds: Of, extra: Partial<OptionKind<unknown>>): Of =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]): readonly unknown[] => [name, { ...kind, ...extra }]));

export const camelCase = (name: string) => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
