/** Which models of a catalog are meant: a record for each option of a filter, with its test and its words. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, typedValue } from "../contract/replies.ts";
import { compareDecimals, parseDecimal, shiftDigits } from "../decimal.ts";
import { findNearest } from "../nearest.ts";
import { countryCodes, parseCountries, parseCountry } from "./countries.ts";
import { deprecationDay, knownPriceNames, priceExponent, readPrice, statedPrices } from "./fields.ts";
import { compilePattern, utcDay } from "./models.ts";

type Strings = readonly string[];

type Test = (model: CatalogModel) => boolean;

/** An option. What a model does not state does not hold. Case does not matter. */
interface FilterOption<Value> {
  /** The column that shows what is asked about. */
  readonly column?: string;
  /** Makes the test of a value; `now` is in milliseconds since 1970. */
  readonly test: (value: Value, now: number) => Test;
  readonly words?: WordFacts;
}

/** Facts about the words that an option takes. */
interface WordFacts {
  /** The words of a model. */
  readonly of: (model: CatalogModel) => Strings;
  /** Assumed: services use these words. Any other word of a catalog is a word too. */
  readonly usual: Strings;
  readonly areCountries?: boolean;
}

const lowerCased = (words: Strings): Strings => words.map((word) => word.toLowerCase());

/** All words must be in a list of the model. */
const stringsOption = (column: string, of: WordFacts["of"], usual: string): FilterOption<Strings> => ({
  column,
  test: (words) => {
    const wanted = lowerCased(words);
    return (model) => {
      const own = lowerCased(of(model));
      return wanted.every((word) => own.includes(word));
    };
  },
  words: { of, usual: usual.split(" ") },
});

/** The country of each data center; an empty text if it states none. */
const countryCodesOf: WordFacts["of"] = ({ datacenters }) =>
  (typedValue(datacenters) ?? []).map(({ country_code }) => typedValue(country_code) ?? "");

/** `EU` stands for its members. */
const countriesOption = (
  holds: (codes: Strings, isMeant: (code: string) => boolean) => boolean,
): FilterOption<Strings> => ({
  column: "datacenters.country_code",
  test: (words) => {
    const meant = parseCountries(words);
    return (model) => holds(countryCodesOf(model), (code) => meant.has(code.trim().toUpperCase()));
  },
  words: { of: countryCodesOf, usual: ["EU", ...countryCodes], areCountries: true },
});

/** Assumed: 0 says "not stated". */
const minOption = <Value>(
  column: "context_length" | "max_output_length" | "created",
  least: (value: Value, now: number) => number,
): FilterOption<Value> => ({
  column,
  test: (value, now) => (model) => {
    const own = typedValue(model[column]) ?? 0;
    return own !== 0 && own >= least(value, now);
  },
});

/** A date that can't be read has neither come nor not. */
const deprecationOption = <Value>(
  day: (value: Value, now: number) => string,
  isWanted = true,
): FilterOption<Value> => ({
  column: "deprecation_date",
  test: (value, now) => (model) => {
    const end = deprecationDay(model);
    return (end === undefined ? undefined : (end ?? "9999-99-99") <= day(value, now)) === isWanted;
  },
});

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

/** A time in milliseconds since 1970, for the time of now. */
type RelativeTime = (now: number) => number;

const modalities = "text image audio video file";

/** The options by their names: `inputModality` is `--input-modality`. */
const options = {
  pattern: {
    test: (pattern: string) => {
      const matches = compilePattern(pattern);
      return ({ id, name }: CatalogModel) => matches({ id: typedValue(id) ?? "", name: typedValue(name) ?? "" });
    },
  },
  inputModality: stringsOption("input_modalities", (model) => typedValue(model.input_modalities) ?? [], modalities),
  outputModality: stringsOption("output_modalities", (model) => typedValue(model.output_modalities) ?? [], modalities),
  feature: stringsOption(
    "supported_features",
    (model) => typedValue(model.supported_features) ?? [],
    "tools json_mode structured_outputs web_search reasoning logprobs",
  ),
  parameter: stringsOption(
    "supported_sampling_parameters",
    (model) => typedValue(model.supported_sampling_parameters) ?? [],
    "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias",
  ),
  quantization: {
    column: "quantization",
    test: (words: Strings) => {
      const wanted = lowerCased(words);
      return ({ quantization }: CatalogModel) => wanted.includes((typedValue(quantization) ?? "").toLowerCase());
    },
    words: {
      of: ({ quantization }: CatalogModel) => [typedValue(quantization) ?? ""],
      usual: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
    },
  },
  country: countriesOption((codes, isMeant) => codes.some(isMeant)),
  onlyCountry: countriesOption((codes, isMeant) => codes.length > 0 && codes.every(isMeant)),
  minContext: minOption("context_length", (tokens: number) => tokens),
  minOutput: minOption("max_output_length", (tokens: number) => tokens),
  /** Exact decimals in US dollars by the name of the price: per million tokens, or per unit (`image`, `request`). */
  maxPrice: {
    test: (prices: Readonly<Record<string, string>>) => {
      const limits = Object.entries(prices).map(([name, text]) => ({ name, limit: parseDecimal(text) }));
      return ({ pricing }: CatalogModel) =>
        limits.every(({ name, limit }) => {
          const price = readPrice(pricing, name);
          return price && limit ? compareDecimals(price, shiftDigits(limit, -priceExponent(name))) <= 0 : false;
        });
    },
    words: {
      of: ({ pricing }: CatalogModel) => statedPrices(pricing),
      usual: knownPriceNames,
    },
  },
  free: {
    column: "pricing.prompt",
    test:
      (_: boolean) =>
      ({ pricing }: CatalogModel) =>
        ["prompt", "completion", ...statedPrices(pricing)].every((name) => readPrice(pricing, name)?.digits === 0n),
  },
  deprecated: deprecationOption((_: boolean, now) => utcDay(now)),
  notDeprecated: deprecationOption((_: boolean, now) => utcDay(now), false),
  deprecatedWithin: deprecationOption((end: RelativeTime, now) => utcDay(Math.min(end(now), lastDay))),
  createdSince: minOption("created", (since: RelativeTime, now) => since(now) / 1000),
};

type ValueOf<Of> = Of extends { readonly test: (value: infer Value, now: number) => Test } ? Value : never;
type Values = { readonly [Name in keyof typeof options]: ValueOf<(typeof options)[Name]> };

/** Options that were given, or not. All of them must hold. */
export type Filter = { readonly [Name in keyof Values]?: Values[Name] | undefined };

const typedOptions: { readonly [Name in keyof Values]: FilterOption<Values[Name]> } = options;

/** An option that was given. */
interface GivenOption {
  readonly name: string;
  readonly columns: Strings;
  readonly test: (now: number) => Test;
  readonly words: Strings;
  readonly facts: WordFacts;
}

const noWords: WordFacts = { of: () => [], usual: [] };

const isOption = (name: string): name is keyof Values => Object.hasOwn(options, name);

const givenOptions = (filter: Filter): readonly GivenOption[] =>
  Object.keys(options).flatMap((name) => (isOption(name) ? toGivenOption(name, filter[name]) : []));

const toGivenOption = <Name extends keyof Values>(
  name: Name,
  value: Values[Name] | undefined,
): readonly GivenOption[] => {
  if (value === undefined || value === false) return [];
  const { column, test, words: facts = noWords }: FilterOption<Values[Name]> = typedOptions[name];
  const words = facts === noWords ? [] : Array.isArray(value) ? value.map(String) : Object.keys(value);
  const columns = column === undefined ? words.map((word) => `pricing.${word}`) : [column];
  const more = name === "free" ? ["pricing.completion"] : [];
  return [{ name, columns: [...columns, ...more], test: (now) => test(value, now), words, facts }];
};

/** The names of the columns that show what a filter asks about. */
export const filteredColumns = (filter: Filter): Strings => givenOptions(filter).flatMap(({ columns }) => columns);

/** True if a filter asks for anything but a pattern. */
export const hasFilters = (filter: Filter): boolean => givenOptions(filter).some(({ name }) => name !== "pattern");

/** The test of a filter. `now` is in milliseconds since 1970. */
export const createMatcher = (filter: Filter, now: number): Test => {
  const tests = givenOptions(filter).map(({ test }) => test(now));
  return (model) => tests.every((test) => test(model));
};

/** The usual words of an option, such as `--feature`; none if it takes no words. */
export const usualWords = (option: string): Strings =>
  Object.entries(typedOptions).find(([name]) => optionOf(name) === option)?.[1].words?.usual ?? [];

const optionOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** A word of a catalog, and how many models have it. */
interface CountedWord {
  readonly word: string;
  readonly count: number;
}

/** The words that the models have, the most frequent first. */
const countWords = ({ of }: WordFacts, models: Entries<CatalogModel>): readonly CountedWord[] => {
  const counted = new Map<string, { readonly word: string; count: number }>();
  for (const model of models) {
    for (const [lower, word] of new Map(of(model).map((one) => [one.toLowerCase(), one]))) {
      const entry = counted.get(lower) ?? { word, count: 0 };
      entry.count++;
      if (lower.trim() !== "") counted.set(lower, entry);
    }
  }
  return [...counted.values()].sort((a, b) => b.count - a.count);
};

/** Finds the first word of a filter that is neither usual nor in the catalog; none if there is no model that could have it. */
export const findUnknownWord = (filter: Filter, models: Entries<CatalogModel>) => {
  if (models.length === 0) return undefined;
  for (const { name, facts, words } of givenOptions(filter)) {
    const { usual, areCountries = false } = facts;
    const isWord = (word: string): boolean => {
      const lower = (areCountries ? parseCountry(word) : word).toLowerCase();
      return lowerCased(usual).includes(lower) || lowerCased(texts()).includes(lower);
    };
    const texts = () => countWords(facts, models).map((one) => one.word);
    const word = words.find((one) => !isWord(one));
    if (word === undefined) continue;
    const occurring = countWords(facts, models);
    const meant = findNearest(word, texts()) ?? (areCountries ? undefined : findNearest(word, usual));
    const near = meant && (occurring.find((one) => equalsIgnoringCase(one.word, meant)) ?? { word: meant, count: 0 });
    // First the word that was probably meant, then words that contain the typed one or are contained in it.
    const rankOf = (one: CountedWord): number => {
      const [own, lower] = [one.word.toLowerCase(), word.toLowerCase()];
      return one === near ? 0 : own.includes(lower) || lower.includes(own) ? 1 : 2;
    };
    return {
      option: optionOf(name),
      word,
      usual,
      near,
      occurring: occurring.toSorted((a, b) => rankOf(a) - rankOf(b)),
    };
  }
  return undefined;
};

const equalsIgnoringCase = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The words of a filter that no model has, with their options. `EU` exists if one of its members does. */
export const findAbsentWords = (filter: Filter, models: Entries<CatalogModel>): Strings =>
  givenOptions(filter).flatMap(({ name, words, facts }) => {
    const own = words.length === 0 ? [] : lowerCased(countWords(facts, models).map(({ word }) => word));
    const meant = (word: string) => (facts.areCountries === true ? [...parseCountries([word])] : [word]);
    const absent = words.filter((word) => !lowerCased(meant(word)).some((one) => own.includes(one)));
    return absent.map((word) => `${optionOf(name)} ${word}`);
  });
