/** Which models of a catalog are meant: a record for each option of a filter, with its test and its words. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, known } from "../contract/replies.ts";
import { compareDecimals, parseDecimal, shifted } from "../decimal.ts";
import { nearest } from "../nearest.ts";
import { countriesMeant, countryCodes, countryMeant } from "./countries.ts";
import { deprecationOf, placesFor, priceIn, pricesStated, usualPrices } from "./fields.ts";
import { dayOf, matchesPattern } from "./models.ts";

type Words = readonly string[];

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
  readonly of: (model: CatalogModel) => Words;
  /** Assumed: services use these words. Any other word of a catalog is a word too. */
  readonly usual: Words;
  readonly areCountries?: boolean;
}

const lowerCased = (words: Words): Words => words.map((word) => word.toLowerCase());

/** All words must be in a list of the model. */
const allOf = (column: string, of: WordFacts["of"], usual: string): FilterOption<Words> => ({
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
const codesOf: WordFacts["of"] = ({ datacenters }) =>
  (known(datacenters) ?? []).map(({ country_code }) => known(country_code) ?? "");

/** `EU` stands for its members. */
const ofCountries = (holds: (codes: Words, isMeant: (code: string) => boolean) => boolean): FilterOption<Words> => ({
  column: "datacenters.country_code",
  test: (words) => {
    const meant = countriesMeant(words);
    return (model) => holds(codesOf(model), (code) => meant.has(code.trim().toUpperCase()));
  },
  words: { of: codesOf, usual: ["EU", ...countryCodes], areCountries: true },
});

/** Assumed: 0 says "not stated". */
const atLeast = <Value>(
  column: "context_length" | "max_output_length" | "created",
  least: (value: Value, now: number) => number,
): FilterOption<Value> => ({
  column,
  test: (value, now) => (model) => {
    const own = known(model[column]) ?? 0;
    return own !== 0 && own >= least(value, now);
  },
});

/** A date that can't be read has neither come nor not. */
const endsBy = <Value>(day: (value: Value, now: number) => string, isWanted = true): FilterOption<Value> => ({
  column: "deprecation_date",
  test: (value, now) => (model) => {
    const end = deprecationOf(model);
    return (end === undefined ? undefined : (end ?? "9999-99-99") <= day(value, now)) === isWanted;
  },
});

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

/** A time in milliseconds since 1970, for the time of now. */
type Moment = (now: number) => number;

const modalities = "text image audio video file";

/** The options by their names: `inputModality` is `--input-modality`. */
const options = {
  pattern: {
    test: (pattern: string) => {
      const matches = matchesPattern(pattern);
      return ({ id, name }: CatalogModel) => matches({ id: known(id) ?? "", name: known(name) ?? "" });
    },
  },
  inputModality: allOf("input_modalities", (model) => known(model.input_modalities) ?? [], modalities),
  outputModality: allOf("output_modalities", (model) => known(model.output_modalities) ?? [], modalities),
  feature: allOf(
    "supported_features",
    (model) => known(model.supported_features) ?? [],
    "tools json_mode structured_outputs web_search reasoning logprobs",
  ),
  parameter: allOf(
    "supported_sampling_parameters",
    (model) => known(model.supported_sampling_parameters) ?? [],
    "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias",
  ),
  quantization: {
    column: "quantization",
    test: (words: Words) => {
      const wanted = lowerCased(words);
      return ({ quantization }: CatalogModel) => wanted.includes((known(quantization) ?? "").toLowerCase());
    },
    words: {
      of: ({ quantization }: CatalogModel) => [known(quantization) ?? ""],
      usual: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
    },
  },
  country: ofCountries((codes, isMeant) => codes.some(isMeant)),
  onlyCountry: ofCountries((codes, isMeant) => codes.length > 0 && codes.every(isMeant)),
  minContext: atLeast("context_length", (tokens: number) => tokens),
  minOutput: atLeast("max_output_length", (tokens: number) => tokens),
  /** Exact decimals in US dollars by the name of the price: per million tokens, or per unit (`image`, `request`). */
  maxPrice: {
    test: (prices: Readonly<Record<string, string>>) => {
      const limits = Object.entries(prices).map(([name, text]) => ({ name, limit: parseDecimal(text) }));
      return ({ pricing }: CatalogModel) =>
        limits.every(({ name, limit }) => {
          const price = priceIn(pricing, name);
          return price && limit ? compareDecimals(price, shifted(limit, -placesFor(name))) <= 0 : false;
        });
    },
    words: {
      of: ({ pricing }: CatalogModel) => pricesStated(pricing),
      usual: usualPrices,
    },
  },
  free: {
    column: "pricing.prompt",
    test:
      (_: boolean) =>
      ({ pricing }: CatalogModel) =>
        ["prompt", "completion", ...pricesStated(pricing)].every((name) => priceIn(pricing, name)?.digits === 0n),
  },
  deprecated: endsBy((_: boolean, now) => dayOf(now)),
  notDeprecated: endsBy((_: boolean, now) => dayOf(now), false),
  deprecatedWithin: endsBy((end: Moment, now) => dayOf(Math.min(end(now), lastDay))),
  createdSince: atLeast("created", (since: Moment, now) => since(now) / 1000),
};

type ValueOf<Of> = Of extends { readonly test: (value: infer Value, now: number) => Test } ? Value : never;
type Values = { readonly [Name in keyof typeof options]: ValueOf<(typeof options)[Name]> };

/** Options that were given, or not. All of them must hold. */
export type Filter = { readonly [Name in keyof Values]?: Values[Name] | undefined };

const typedOptions: { readonly [Name in keyof Values]: FilterOption<Values[Name]> } = options;

/** An option that was given. */
interface Asked {
  readonly name: string;
  readonly columns: Words;
  readonly test: (now: number) => Test;
  readonly words: Words;
  readonly facts: WordFacts;
}

const noWords: WordFacts = { of: () => [], usual: [] };

const isOption = (name: string): name is keyof Values => Object.hasOwn(options, name);

const asked = (filter: Filter): readonly Asked[] =>
  Object.keys(options).flatMap((name) => (isOption(name) ? ask(name, filter[name]) : []));

const ask = <Name extends keyof Values>(name: Name, value: Values[Name] | undefined): readonly Asked[] => {
  if (value === undefined || value === false) return [];
  const { column, test, words: facts = noWords }: FilterOption<Values[Name]> = typedOptions[name];
  const words = facts === noWords ? [] : Array.isArray(value) ? value.map(String) : Object.keys(value);
  const columns = column === undefined ? words.map((word) => `pricing.${word}`) : [column];
  const more = name === "free" ? ["pricing.completion"] : [];
  return [{ name, columns: [...columns, ...more], test: (now) => test(value, now), words, facts }];
};

/** The names of the columns that show what a filter asks about. */
export const columnsFiltered = (filter: Filter): Words => asked(filter).flatMap(({ columns }) => columns);

/** True if a filter asks for anything but a pattern. */
export const asksMore = (filter: Filter): boolean => asked(filter).some(({ name }) => name !== "pattern");

/** The test of a filter. `now` is in milliseconds since 1970. */
export const matcherOf = (filter: Filter, now: number): Test => {
  const tests = asked(filter).map(({ test }) => test(now));
  return (model) => tests.every((test) => test(model));
};

/** The usual words of an option, such as `--feature`; none if it takes no words. */
export const usualWords = (option: string): Words =>
  Object.entries(typedOptions).find(([name]) => optionOf(name) === option)?.[1].words?.usual ?? [];

const optionOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** A word of a catalog, and how many models have it. */
interface CountedWord {
  readonly word: string;
  readonly count: number;
}

/** The words that the models have, the most frequent first. */
const occurringWords = ({ of }: WordFacts, models: Entries<CatalogModel>): readonly CountedWord[] => {
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
export const unknownWord = (filter: Filter, models: Entries<CatalogModel>) => {
  if (models.length === 0) return undefined;
  for (const { name, facts, words } of asked(filter)) {
    const { usual, areCountries = false } = facts;
    const isWord = (word: string): boolean => {
      const lower = (areCountries ? countryMeant(word) : word).toLowerCase();
      return lowerCased(usual).includes(lower) || lowerCased(texts()).includes(lower);
    };
    const texts = () => occurringWords(facts, models).map((one) => one.word);
    const word = words.find((one) => !isWord(one));
    if (word === undefined) continue;
    const occurring = occurringWords(facts, models);
    const meant = nearest(word, texts()) ?? (areCountries ? undefined : nearest(word, usual));
    const near = meant && (occurring.find((one) => isLike(one.word, meant)) ?? { word: meant, count: 0 });
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

const isLike = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The words of a filter that no model has, with their options. `EU` exists if one of its members does. */
export const absentWords = (filter: Filter, models: Entries<CatalogModel>): Words =>
  asked(filter).flatMap(({ name, words, facts }) => {
    const own = words.length === 0 ? [] : lowerCased(occurringWords(facts, models).map(({ word }) => word));
    const meant = (word: string) => (facts.areCountries === true ? [...countriesMeant([word])] : [word]);
    const absent = words.filter((word) => !lowerCased(meant(word)).some((one) => own.includes(one)));
    return absent.map((word) => `${optionOf(name)} ${word}`);
  });
