/** The models that the options of a filter mean: what was typed as a filter, and the words in it that nothing has. */

import {
  absentWords,
  type Filter,
  knownWords,
  matcherOf,
  mistypedFields,
  type UnknownWord,
  unknownWord,
  type WordField,
  wordFields,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import type { Entries } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../../decimal.ts";
import { openMistypings } from "../lists/mistyped.ts";
import type { TypedFilter } from "../lists/options.ts";

/** What was meant. @throws Failure `option-value-wrong`, `options-contradict` */
export const filterOf = (
  typed: TypedFilter & { readonly pattern?: string | undefined },
  { now }: { readonly now: number },
): Filter => {
  if (typed.deprecated && typed.notDeprecated)
    throw contradiction("--deprecated", "--not-deprecated", "a model's deprecation date has come, or it has not");
  const deprecatedBy = typed.deprecatedWithin?.(now);
  const createdSince = typed.createdSince?.(now);
  return {
    pattern: typed.pattern,
    ...wordsOf(typed),
    minContext: typed.minContext,
    minOutput: typed.minOutput,
    maxPrices: typed.maxPrice.length === 0 ? undefined : pricesOf(typed.maxPrice),
    free: typed.free ? true : undefined,
    deprecated: typed.deprecated ? true : typed.notDeprecated ? false : undefined,
    deprecatedBy:
      deprecatedBy === undefined ? undefined : new Date(Math.min(deprecatedBy, lastDay)).toISOString().slice(0, 10),
    createdSince: createdSince === undefined ? undefined : createdSince / 1000,
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

/** The names of the columns that show what a filter looks at. */
export const columnsFiltered = (filter: Filter): readonly string[] => [
  ...Object.keys(filter.maxPrices ?? {}).map((name) => `pricing.${name}`),
  ...(filter.free === undefined ? [] : ["pricing.prompt", "pricing.completion"]),
  ...filterColumns.flatMap(([field, column]) => (filter[field] === undefined ? [] : [column])),
];

const filterColumns = [
  ["inputModalities", "input_modalities"],
  ["outputModalities", "output_modalities"],
  ["features", "supported_features"],
  ["parameters", "supported_sampling_parameters"],
  ["quantizations", "quantization"],
  ["countries", "datacenters.country_code"],
  ["onlyCountries", "datacenters.country_code"],
  ["minContext", "context_length"],
  ["minOutput", "max_output_length"],
  ["deprecated", "deprecation_date"],
  ["deprecatedBy", "deprecation_date"],
  ["createdSince", "created"],
] as const;

/** @throws Failure `option-value-wrong` if a word is empty */
const wordsOf = (typed: TypedFilter): Filter => {
  const words = {
    inputModalities: typed.inputModality,
    outputModalities: typed.outputModality,
    features: typed.feature,
    parameters: typed.parameter,
    quantizations: typed.quantization,
    countries: typed.country,
    onlyCountries: typed.onlyCountry,
  };
  for (const field of wordFields) {
    const list = field === "maxPrices" ? [] : words[field];
    if (list.includes(""))
      throw wrongValue(optionNames[field], list.join(","), "a word, or several with commas between them");
  }
  return Object.fromEntries(Object.entries(words).filter(([, list]) => list.length > 0));
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
      throw wrongValue("--max-price", one, wanted);
    }
    const before = most.get(name);
    if (before === undefined || compareDecimals(price, before.price) < 0) most.set(name, { amount, price });
  }
  return Object.fromEntries(Array.from(most, ([name, { amount }]) => [name, amount]));
};

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

/** The words of a filter that no model has, as they were typed. */
export const absentIn = (filter: Filter, models: Entries<CatalogModel>): readonly string[] =>
  absentWords(filter, models).map(({ field, word }) => `${optionNames[field]} ${word}`);

/** Words that are named in one sentence. */
const mostWords = 8;

/** Refuses words that neither the field knows nor the models have. @throws Failure `option-value-wrong` */
export const requireWords = (filter: Filter, models: Entries<CatalogModel>): void => {
  const unknown = unknownWord(filter, models);
  if (unknown === undefined) return;
  const { field, word, near } = unknown;
  const suggestion = near === undefined ? undefined : countedWord(near);
  throw wrongValue(optionNames[field], word, instead(unknown, knownWords[field]), suggestion);
};

const instead = ({ occurring }: UnknownWord, known: readonly string[]): string => {
  if (occurring.length === 0) return `such words as ${known.slice(0, mostWords).join(", ")}`;
  const more = occurring.length > mostWords ? ` and ${occurring.length - mostWords} more` : "";
  return `what occurs: ${occurring.slice(0, mostWords).map(countedWord).join(", ")}${more}`;
};

const countedWord = ({ word, count }: { readonly word: string; readonly count: number }): string =>
  count === 0 ? word : `${word} (${counted(count, "model")})`;

/** Opens the gathering of mistyped fields of a catalog, among the models that the pattern means. */
export const openMistyped = ({ pattern }: Filter) =>
  openMistypings({
    fieldsOf: mistypedFields,
    isMeant: matcherOf({ pattern }, { now: 0 }),
    what: "shown as it came and matched by no filter",
  });
