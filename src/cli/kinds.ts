/** Defines the kinds of options and arguments, and parses values. */
import { conflictingOptions, invalidOptionValue, requiredOptionMissing } from "../failures.ts";
import { findNearest } from "../nearest.ts";

/** Where the completion of a value comes from. A placeholder `file`, `dir` or `folder` needs none. */
export type CompletionSource =
  | "batches"
  | "call-columns"
  | "columns"
  | "files"
  | "filter-words"
  | "formats"
  | "lock-rules"
  | "models"
  | "price-names"
  | "profiles"
  | "projects"
  | "report-forms"
  | "rules"
  | "settings"
  | "sort-columns"
  | "splits"
  | "topics";

export type OptionKind<Value> = Readonly<{
  about: string;
  /** Name of the value in the help; missing or empty for a flag. */
  placeholder?: string;
  choices?: readonly string[];
  repeatable?: boolean;
  /** Text of the default in the help. */
  default?: string;
  required?: boolean;
  short?: string;
  /** Heading in the help. */
  group?: string;
  completion?: CompletionSource;
  /** True if agents may use the option: it names no file, reveals no content, writes nothing and never waits. */
  forAgents?: boolean;
  /** True if the option conflicts with `--follow`. */
  needsWholeFile?: boolean;
  /** Name of an option that this option requires. */
  needs?: string;
  /** Maps each conflicting option to the reason of the conflict. */
  conflicts?: Readonly<Record<string, string>>;
  /** `words` may be empty. @throws Failure */
  parse: (words: readonly string[], name: string) => Value;
}>;

export type OptionKinds = Readonly<Record<string, OptionKind<unknown>>>;

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

export type Values<Of extends OptionKinds> = {
  readonly [Name in keyof Of & string as CamelCase<Name>]: Of[Name] extends OptionKind<infer Value> ? Value : never;
};

export const flag = (about: string): OptionKind<boolean> => ({ about, parse: (words) => words.length > 0 });

export const custom = <Value>(
  about: string,
  placeholder: string,
  parse: (word: string, name: string) => Value,
): OptionKind<Value | undefined> => ({
  about,
  placeholder,
  parse: (words, name) => {
    const word = words.at(-1);
    return word === undefined ? undefined : parse(word, name);
  },
});

export const text = (about: string, placeholder = "text") => custom(about, placeholder, (word) => word);

export const withDefault = <Value>(kind: OptionKind<Value>, defaultValue: string): OptionKind<NonNullable<Value>> => ({
  ...kind,
  default: defaultValue,
  parse: (words, name) => required(kind).parse(words.length === 0 ? [defaultValue] : words, name),
});

type OptionFacts = Pick<OptionKind<unknown>, "default" | "completion" | "forAgents" | "needsWholeFile">;

/** A `default` here is only stated, because settings or the input can override it. */
export const withFacts = <Kind extends OptionKind<unknown>>(kind: Kind, facts: OptionFacts): Kind => ({
  ...kind,
  ...facts,
});

export const required = <Value>(kind: OptionKind<Value>): OptionKind<NonNullable<Value>> => ({
  ...kind,
  required: true,
  parse: (words, name) => {
    const value = kind.parse(words, name);
    if (value !== undefined && value !== null) return value;
    // `validateArgv` refuses missing arguments earlier.
    throw new Error(`nothing was typed for ${name}`);
  },
});

const maxCount = 999_999_999;

export const count = (about: string, { placeholder = "n", min = 1, max = maxCount } = {}) =>
  custom(about, placeholder, (word, name) => {
    const number = /^\d{1,9}$/.test(word) ? Number(word) : -1;
    if (number >= min && number <= max) return number;
    const range = max === maxCount ? `of at least ${min}` : `from ${min} to ${max}`;
    throw invalidOptionValue(name, word, `a whole number ${range}`);
  });

export const port = (defaultPort: string) =>
  withDefault(
    count("port to listen on; 0 picks a free one", { placeholder: "number", min: 0, max: 65_535 }),
    defaultPort,
  );

export const choice = <const Word extends string>(
  about: string,
  choices: readonly Word[],
  placeholder = choices.join("|"),
): OptionKind<Word | undefined> => ({
  ...custom(about, placeholder, (word, name) => parseChoice(word, name, choices)),
  choices,
});

const parseChoice = <Word extends string>(word: string, name: string, choices: readonly Word[]) => {
  const found = choices.find((each) => each === word);
  if (found !== undefined) return found;
  const wanted = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  throw invalidOptionValue(name, word, wanted, findNearest(word, choices));
};

export const repeated = (about: string, placeholder = ""): OptionKind<readonly string[]> => ({
  about,
  placeholder,
  repeatable: true,
  parse: (words) => words,
});

export const choices = <const Word extends string>(
  about: string,
  words: readonly Word[],
  placeholder: string,
): OptionKind<readonly Word[]> => ({
  ...repeated(about, placeholder),
  choices: words,
  parse: (typed, name) => typed.map((word) => parseChoice(word, name, words)),
});

export const commaList = (about: string, placeholder: string): OptionKind<readonly string[]> => ({
  ...repeated(about, placeholder),
  parse: (words) => words.flatMap((word) => word.split(",").map((each) => each.trim())),
});

export const inGroup = <Of extends OptionKinds>(group: string, kinds: Of): Of => extendKinds(kinds, { group });
export const forAgents = <Of extends OptionKinds>(kinds: Of): Of => extendKinds(kinds, { forAgents: true });
export const needing = <Of extends OptionKinds>(needs: string, kinds: Of): Of => extendKinds(kinds, { needs });

const extendKinds = <Of extends OptionKinds>(kinds: Of, extra: Partial<OptionKind<unknown>>): Of =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]): readonly unknown[] => [name, { ...kind, ...extra }]));

/** @throws Failure `invalid-option-value`, `required-option-missing`, `conflicting-options` */
export const parseKinds = <Of extends OptionKinds>(
  kinds: Of,
  { typed, nameOf }: { typed: (name: string) => readonly string[]; nameOf(name: string): string },
): Values<Of> =>
  Object.fromEntries(
    Object.entries(kinds).map(([name, kind]): readonly unknown[] => {
      const words = typed(name);
      if (kind.needs && words.length > 0 && typed(kind.needs).length === 0)
        throw requiredOptionMissing(nameOf(name), nameOf(kind.needs));
      const conflict = Object.entries(kind.conflicts ?? {}).find(([other]) => typed(other).length > 0);
      if (words.length > 0 && conflict) throw conflictingOptions(nameOf(name), nameOf(conflict[0]), conflict[1]);
      return [camelCase(name), kind.parse(words, nameOf(name))];
    }),
  );

const camelCase = (name: string) => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
