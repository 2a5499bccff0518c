/** Words that filters take: those that the field knows, those that a catalog holds, and those that are neither. */
import type { CatalogModel } from "../contract/catalog.ts";
import type { Entries } from "../contract/fields.ts";
import { nearest } from "../nearest.ts";
import { countriesMeant, countryCodes, countryMeant } from "./countries.ts";
import { type Filter, type WordField, wordFields, wordsOf } from "./filter.ts";
import { priceNames, pricesOfToken } from "./prices.ts";

const modalities = ["text", "image", "audio", "video", "file"];
const countries = ["EU", ...countryCodes];

/** Assumed: services use these words; whatever else a catalog holds is a word too. */
export const knownWords: Readonly<Record<WordField, readonly string[]>> = {
  inputModalities: modalities,
  outputModalities: modalities,
  features: ["tools", "json_mode", "structured_outputs", "web_search", "reasoning", "logprobs"],
  parameters:
    "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias".split(
      " ",
    ),
  quantizations: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
  countries,
  onlyCountries: countries,
  maxPrices: [...new Set([...priceNames, ...pricesOfToken])],
};

/** A word of a catalog, and how many models have it. */
interface CountedWord {
  readonly word: string;
  readonly count: number;
}

/** The words that the models have, the most frequent first. */
const occurringWords = (field: WordField, models: Entries<CatalogModel>): readonly CountedWord[] => {
  const counted = new Map<string, { readonly word: string; count: number }>();
  for (const model of models) {
    const own = new Map(wordsOf[field](model).map((word) => [word.toLowerCase(), word]));
    for (const [lower, word] of own) {
      const entry = counted.get(lower) ?? { word, count: 0 };
      entry.count++;
      if (lower.trim() !== "") counted.set(lower, entry);
    }
  }
  return [...counted.values()].sort((a, b) => b.count - a.count);
};

/** A word of a filter that is neither known in the field nor in the catalog. */
export interface UnknownWord {
  readonly field: WordField;
  readonly word: string;
  /** What was probably meant. */
  readonly near: CountedWord | undefined;
  /** What there is instead: near ones first. */
  readonly occurring: readonly CountedWord[];
}

/** The first unknown word of a filter; none where there is no model that could have shown it. */
export const unknownWord = (filter: Filter, models: Entries<CatalogModel>): UnknownWord | undefined => {
  if (models.length === 0) return undefined;
  for (const [field, word] of wordsIn(filter)) {
    const lower = (isOfCountries(field) ? countryMeant(word) : word).toLowerCase();
    if (knownWords[field].some((one) => one.toLowerCase() === lower)) continue;
    const occurring = occurringWords(field, models);
    if (occurring.some((one) => one.word.toLowerCase() === lower)) continue;
    const near = nearWord(field, word, occurring);
    return { field, word, near, occurring: nearFirst(occurring, { lower, near }) };
  }
  return undefined;
};

/** What was probably meant, then what has it within or is within it, then the others; the most frequent of each first. */
const nearFirst = (
  words: readonly CountedWord[],
  { lower, near }: { readonly lower: string; readonly near: CountedWord | undefined },
): readonly CountedWord[] => {
  const rankOf = (one: CountedWord): number => {
    const text = one.word.toLowerCase();
    return one === near ? 0 : text.includes(lower) || lower.includes(text) ? 1 : 2;
  };
  return words.toSorted((a, b) => rankOf(a) - rankOf(b));
};

/** The words of a filter that no model has; `EU` is there where one of its members is. */
export const absentWords = (
  filter: Filter,
  models: Entries<CatalogModel>,
): readonly { readonly field: WordField; readonly word: string }[] => {
  const occurring = new Map<WordField, ReadonlySet<string>>();
  return wordsIn(filter).flatMap(([field, word]) => {
    const there = occurring.get(field) ?? new Set(occurringWords(field, models).map((one) => one.word.toLowerCase()));
    occurring.set(field, there);
    const meant = isOfCountries(field) ? [...countriesMeant([word])] : [word];
    return meant.some((one) => there.has(one.toLowerCase())) ? [] : [{ field, word }];
  });
};

const wordsIn = (filter: Filter): readonly (readonly [WordField, string])[] =>
  wordFields.flatMap((field) => {
    const words = field === "maxPrices" ? Object.keys(filter.maxPrices ?? {}) : (filter[field] ?? []);
    return words.map((word) => [field, word] as const);
  });

const isOfCountries = (field: WordField): boolean => field === "countries" || field === "onlyCountries";

const nearWord = (field: WordField, word: string, occurring: readonly CountedWord[]): CountedWord | undefined => {
  const near =
    nearest(
      word,
      occurring.map((one) => one.word),
    ) ?? (isOfCountries(field) ? undefined : nearest(word, knownWords[field]));
  return near === undefined
    ? undefined
    : (occurring.find((one) => one.word.toUpperCase() === near.toUpperCase()) ?? { word: near, count: 0 });
};
