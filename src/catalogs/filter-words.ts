/** The words that filters take, a record for each option: those that are known, those of a model, those that are neither. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, known } from "../contract/fields.ts";
import { nearest } from "../nearest.ts";
import { countriesMeant, countryCodes, countryMeant } from "./countries.ts";
import type { Filter } from "./filter.ts";
import { priceNames, pricesOfToken, statedPrices } from "./prices.ts";

/** An option that takes words of a catalog. */
interface WordFilter {
  /** The column that shows them; of prices there is one for each. */
  readonly column: string;
  /** Assumed: services use these words. Whatever else a catalog holds is a word too. */
  readonly known: readonly string[];
  readonly of: (model: CatalogModel) => readonly string[];
}

const modalities = ["text", "image", "audio", "video", "file"];

/** The codes as they came. */
const countriesOf = ({ datacenters }: CatalogModel): readonly string[] =>
  (known(datacenters) ?? []).map(({ country_code }) => known(country_code) ?? "");
const countries: WordFilter = { column: "datacenters.country_code", known: ["EU", ...countryCodes], of: countriesOf };

/** By their names in a filter: `inputModality` is `--input-modality`. */
export const wordFilters = {
  inputModality: {
    column: "input_modalities",
    known: modalities,
    of: ({ input_modalities }) => known(input_modalities) ?? [],
  },
  outputModality: {
    column: "output_modalities",
    known: modalities,
    of: ({ output_modalities }) => known(output_modalities) ?? [],
  },
  feature: {
    column: "supported_features",
    known: ["tools", "json_mode", "structured_outputs", "web_search", "reasoning", "logprobs"],
    of: ({ supported_features }) => known(supported_features) ?? [],
  },
  parameter: {
    column: "supported_sampling_parameters",
    known:
      "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias".split(
        " ",
      ),
    of: ({ supported_sampling_parameters }) => known(supported_sampling_parameters) ?? [],
  },
  quantization: {
    column: "quantization",
    known: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
    of: ({ quantization }) => [known(quantization) ?? ""],
  },
  country: countries,
  onlyCountry: countries,
  maxPrice: {
    column: "pricing",
    known: [...new Set([...priceNames, ...pricesOfToken])],
    of: ({ pricing }) => Object.keys(statedPrices(pricing)),
  },
} satisfies Readonly<Record<string, WordFilter>>;

/** The name of such an option. */
export type WordField = keyof typeof wordFilters;

const isWordField = (name: string): name is WordField => Object.hasOwn(wordFilters, name);

/** The option of a part of a filter, as it is typed. */
export const optionOf = (field: string): string =>
  `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** A word of a catalog, and how many models have it. */
interface CountedWord {
  readonly word: string;
  readonly count: number;
}

/** The words that the models have, the most frequent first. */
const occurringWords = (field: WordField, models: Entries<CatalogModel>): readonly CountedWord[] => {
  const counted = new Map<string, { readonly word: string; count: number }>();
  for (const model of models) {
    const own = new Map(wordFilters[field].of(model).map((word) => [word.toLowerCase(), word]));
    for (const [lower, word] of own) {
      const entry = counted.get(lower) ?? { word, count: 0 };
      entry.count++;
      if (lower.trim() !== "") counted.set(lower, entry);
    }
  }
  return [...counted.values()].sort((a, b) => b.count - a.count);
};

/** A word of a filter that is neither known for the option nor in the catalog. */
export interface UnknownWord {
  readonly field: WordField;
  readonly word: string;
  /** What was probably meant. */
  readonly near: CountedWord | undefined;
  /** The words of the catalog, near ones first. */
  readonly occurring: readonly CountedWord[];
}

/** The first unknown word of a filter; undefined if there is no model that could have shown it. */
export const unknownWord = (filter: Filter, models: Entries<CatalogModel>): UnknownWord | undefined => {
  if (models.length === 0) return undefined;
  for (const [field, word] of wordsIn(filter)) {
    const lower = (isOfCountries(field) ? countryMeant(word) : word).toLowerCase();
    if (wordFilters[field].known.some((one) => one.toLowerCase() === lower)) continue;
    const occurring = occurringWords(field, models);
    if (occurring.some((one) => one.word.toLowerCase() === lower)) continue;
    const near = nearWord(field, word, occurring);
    /** First what was probably meant, then what contains the word or is contained in it. */
    const rankOf = (one: CountedWord): number => {
      const text = one.word.toLowerCase();
      return one === near ? 0 : text.includes(lower) || lower.includes(text) ? 1 : 2;
    };
    return { field, word, near, occurring: occurring.toSorted((a, b) => rankOf(a) - rankOf(b)) };
  }
  return undefined;
};

/** The words of a filter that no model has, with their options; `EU` exists if one of its members does. */
export const absentWords = (filter: Filter, models: Entries<CatalogModel>): readonly string[] => {
  const occurring = new Map<WordField, ReadonlySet<string>>();
  return wordsIn(filter).flatMap(([field, word]) => {
    const found = occurring.get(field) ?? new Set(occurringWords(field, models).map((one) => one.word.toLowerCase()));
    occurring.set(field, found);
    const meant = isOfCountries(field) ? [...countriesMeant([word])] : [word];
    return meant.some((one) => found.has(one.toLowerCase())) ? [] : [`${optionOf(field)} ${word}`];
  });
};

const wordsIn = (filter: Filter): readonly (readonly [WordField, string])[] =>
  Object.keys(wordFilters)
    .filter(isWordField)
    .flatMap((field) => {
      const words = field === "maxPrice" ? Object.keys(filter.maxPrice ?? {}) : (filter[field] ?? []);
      return words.map((word) => [field, word] as const);
    });

const isOfCountries = (field: WordField): boolean => field === "country" || field === "onlyCountry";

const nearWord = (field: WordField, word: string, occurring: readonly CountedWord[]): CountedWord | undefined => {
  const words = occurring.map((one) => one.word);
  const near = nearest(word, words) ?? (isOfCountries(field) ? undefined : nearest(word, wordFilters[field].known));
  if (near === undefined) return undefined;
  return occurring.find((one) => one.word.toUpperCase() === near.toUpperCase()) ?? { word: near, count: 0 };
};
