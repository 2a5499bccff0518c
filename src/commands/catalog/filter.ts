/** The options that pick models of a catalog: what was typed, and the filter that is meant. */
import type { Command } from "commander";
import type { Filter, UnknownWord, WordField } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import type { Entries } from "../../contract/fields.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../../decimal.ts";
import { Failure } from "../../failure.ts";
import { ageMs, parseMoment } from "../lists/moment.ts";

/** The options as typed. */
export interface TypedFilter {
  readonly inputModality?: readonly string[];
  readonly outputModality?: readonly string[];
  readonly feature?: readonly string[];
  readonly parameter?: readonly string[];
  readonly quantization?: readonly string[];
  readonly country?: readonly string[];
  readonly onlyCountry?: readonly string[];
  readonly minContext?: string;
  readonly minOutput?: string;
  readonly maxPrice?: readonly string[];
  readonly free?: boolean;
  readonly deprecated?: boolean;
  readonly notDeprecated?: boolean;
  readonly deprecatedWithin?: string;
  readonly createdSince?: string;
}

/** Declares the options, in a group of their own. */
export const filterOptions = (command: Command): Command =>
  command
    .optionsGroup("filters")
    .option("--input-modality <name>", "takes it: text, image, audio, …; several: all of them", gathered)
    .option("--output-modality <name>", "gives it; several: all of them", gathered)
    .option("--feature <name>", "has it, such as tools; several: all of them", gathered)
    .option("--parameter <name>", "takes this sampling parameter; several: all of them", gathered)
    .option("--quantization <name>", "runs in it, such as fp8; several: one of them", gathered)
    .option("--country <code>", "has a data centre there, such as FI or EU; several: in one of them", gathered)
    .option("--only-country <code>", "has all its data centres there; several: in one of them", gathered)
    .option("--min-context <tokens>", "has room for so many, such as 128k")
    .option("--min-output <tokens>", "gives up to so many")
    .option("--max-price <prices>", "costs at most, in the table's units: prompt=0.5,completion=2", gathered)
    .option("--free", "costs nothing")
    .option("--deprecated", "its deprecation date has come")
    .option("--not-deprecated", "it has not, or none is set")
    .option("--deprecated-within <duration>", "it has come, or comes within such a time: 30d, or by a date")
    .option("--created-since <when>", "came since then: a date, or an age such as 90d");

/** Gathers the values of an option that stands several times, or lists its values with commas. */
export const gathered = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...value.split(",").map((one) => one.trim()),
];

/** The names of the options that were typed. */
export const typedFilters = (typed: TypedFilter): readonly string[] =>
  Object.entries({
    ...Object.fromEntries(wordLists(typed)),
    "--min-context": typed.minContext,
    "--min-output": typed.minOutput,
    "--max-price": typed.maxPrice,
    "--free": typed.free,
    "--deprecated": typed.deprecated,
    "--not-deprecated": typed.notDeprecated,
    "--deprecated-within": typed.deprecatedWithin,
    "--created-since": typed.createdSince,
  }).flatMap(([option, value]) => (value === undefined ? [] : [option]));

/** What was meant. @throws Failure `option-value-wrong`, `options-contradict` */
export const filterOf = (
  typed: TypedFilter & { readonly pattern?: string | undefined },
  { now }: { readonly now: number },
): Filter => {
  if (typed.deprecated === true && typed.notDeprecated === true) {
    const why = "a model's deprecation date has come, or it has not";
    throw new Failure("options-contradict", { first: "--deprecated", second: "--not-deprecated", why });
  }
  return {
    pattern: typed.pattern,
    ...wordsOf(typed),
    minContext: tokensOf("--min-context", typed.minContext),
    minOutput: tokensOf("--min-output", typed.minOutput),
    maxPrices: typed.maxPrice === undefined ? undefined : pricesOf(typed.maxPrice),
    free: typed.free,
    deprecated: typed.deprecated === true ? true : typed.notDeprecated === true ? false : undefined,
    deprecatedBy: endOf(typed.deprecatedWithin, now),
    createdSince:
      typed.createdSince === undefined
        ? undefined
        : parseMoment(typed.createdSince, { option: "--created-since", now }) / 1000,
  };
};

const optionNames: Readonly<Record<WordField, string>> = {
  inputModalities: "--input-modality",
  outputModalities: "--output-modality",
  features: "--feature",
  parameters: "--parameter",
  quantizations: "--quantization",
  countries: "--country",
  onlyCountries: "--only-country",
  maxPrices: "--max-price",
};

const wordsOf = (typed: TypedFilter): Filter => {
  for (const [option, list] of wordLists(typed)) {
    if (list?.includes("") === true) throw wrong(option, list.join(","), "a word, or several with commas between them");
  }
  return {
    inputModalities: typed.inputModality,
    outputModalities: typed.outputModality,
    features: typed.feature,
    parameters: typed.parameter,
    quantizations: typed.quantization,
    countries: typed.country,
    onlyCountries: typed.onlyCountry,
  };
};

/** The options that take words, with those that were typed. */
const wordLists = (typed: TypedFilter): readonly (readonly [string, readonly string[] | undefined])[] => [
  [optionNames.inputModalities, typed.inputModality],
  [optionNames.outputModalities, typed.outputModality],
  [optionNames.features, typed.feature],
  [optionNames.parameters, typed.parameter],
  [optionNames.quantizations, typed.quantization],
  [optionNames.countries, typed.country],
  [optionNames.onlyCountries, typed.onlyCountry],
];

/** Thousands and millions, as people write them. */
const factors: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["k", 1000],
  ["m", 1_000_000],
]);

/** A number of tokens, such as `128k`. @throws Failure `option-value-wrong` */
export const tokensOf = (option: string, typed: string | undefined): number | undefined => {
  if (typed === undefined) return undefined;
  const [, digits = "", unit = ""] = /^(\d{1,12})([km]?)$/i.exec(typed) ?? [];
  const factor = digits === "" ? undefined : factors.get(unit.toLowerCase());
  if (factor === undefined) throw wrong(option, typed, "a number of tokens, such as 131072, 128k or 1M");
  return Number(digits) * factor;
};

/** The most that each price may be: the least of those that were typed, since all of them must hold. */
const pricesOf = (typed: readonly string[]): Readonly<Record<string, string>> => {
  const most = new Map<string, { readonly amount: string; readonly price: Decimal }>();
  for (const one of typed) {
    const [, name = "", amount = ""] = /^([^=]+)=(.+)$/.exec(one) ?? [];
    const price = parseDecimal(amount);
    if (price === undefined || price.digits < 0n) {
      const wanted =
        "the names of prices and the most they may be, such as prompt=0.5,completion=2: US dollars per million tokens, image and request each";
      throw wrong("--max-price", one, wanted);
    }
    const before = most.get(name);
    if (before === undefined || compareDecimals(price, before.price) < 0) most.set(name, { amount, price });
  }
  return Object.fromEntries(Array.from(most, ([name, { amount }]) => [name, amount]));
};

const endOf = (typed: string | undefined, now: number): string | undefined => {
  if (typed === undefined) return undefined;
  const option = "--deprecated-within";
  const age = ageMs(typed);
  const ms = age === undefined ? parseMoment(typed, { option, now }) : now + age;
  return new Date(Math.min(ms, lastDay)).toISOString().slice(0, 10);
};

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

const wrong = (option: string, value: string, wanted: string): Failure =>
  new Failure("option-value-wrong", { option, value, wanted });

/** The words of a filter that no model has, as they were typed. */
export const absentIn = async (
  context: Context,
  filter: Filter,
  models: Entries<CatalogModel>,
): Promise<readonly string[]> => {
  const { absentWords } = await context.catalogs();
  return absentWords(filter, models).map(({ field, word }) => `${optionNames[field]} ${word}`);
};

/** Words that are named in one sentence. */
const mostWords = 8;

/** Refuses words that neither the field knows nor the models have. @throws Failure `option-value-wrong` */
export const requireWords = async (context: Context, filter: Filter, models: Entries<CatalogModel>): Promise<void> => {
  const { unknownWord, knownWords } = await context.catalogs();
  const unknown = unknownWord(filter, models);
  if (unknown === undefined) return;
  const { field, word, near } = unknown;
  throw new Failure("option-value-wrong", {
    option: optionNames[field],
    value: word,
    wanted: instead(unknown, knownWords[field]),
    ...(near === undefined ? {} : { suggestion: counted(near) }),
  });
};

const instead = ({ occurring }: UnknownWord, known: readonly string[]): string => {
  if (occurring.length === 0) return `such words as ${known.slice(0, mostWords).join(", ")}`;
  const more = occurring.length > mostWords ? ` and ${occurring.length - mostWords} more` : "";
  return `what occurs: ${occurring.slice(0, mostWords).map(counted).join(", ")}${more}`;
};

const counted = ({ word, count }: { readonly word: string; readonly count: number }): string =>
  count === 0 ? word : `${word} (${count} ${count === 1 ? "model" : "models"})`;
