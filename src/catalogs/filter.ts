/** Which models of a catalog are meant: a record for each option of a filter, with its test and its words. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, known } from "../contract/replies.ts";
import { compareDecimals, parseDecimal, shifted } from "../decimal.ts";
import { nearest } from "../nearest.ts";
import { countriesMeant, countryCodes, countryMeant } from "./countries.ts";
import { deprecationOf, placesFor, priceIn, priceNames, pricesStated, tokenPrices } from "./fields.ts";
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
const atLeast = (value: number | undefined = 0, wanted: number): boolean => value !== 0 && value >= wanted;

const endsBy = (model: CatalogModel, day: string): boolean => (deprecationOf(model) ?? "9999-99-99") <= day;

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

/** A time in milliseconds since 1970, for the time of now. */
type Moment = (now: number) => number;

const modalities = "text image audio video file";

/** The values of the options. */
interface Values {
  pattern: string;
  inputModality: Words;
  outputModality: Words;
  feature: Words;
  parameter: Words;
  quantization: Words;
  country: Words;
  onlyCountry: Words;
  minContext: number;
  minOutput: number;
  /** Exact decimals in US dollars by the name of the price: per million tokens, or per unit (`image`, `request`). */
  maxPrice: Readonly<Record<string, string>>;
  free: boolean;
  deprecated: boolean;
  notDeprecated: boolean;
  deprecatedWithin: Moment;
  createdSince: Moment;
}

/** Options that were given, or not: `inputModality` is `--input-modality`. All of them must hold. */
export type Filter = { readonly [Name in keyof Values]?: Values[Name] | undefined };

const options: { readonly [Name in keyof Values]: FilterOption<Values[Name]> } = {
  pattern: {
    test: (pattern) => {
      const matches = matchesPattern(pattern);
      return ({ id, name }) => matches({ id: known(id) ?? "", name: known(name) ?? "" });
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
    test: (words) => {
      const wanted = lowerCased(words);
      return ({ quantization }) => wanted.includes((known(quantization) ?? "").toLowerCase());
    },
    words: {
      of: ({ quantization }) => [known(quantization) ?? ""],
      usual: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
    },
  },
  country: ofCountries((codes, isMeant) => codes.some(isMeant)),
  onlyCountry: ofCountries((codes, isMeant) => codes.length > 0 && codes.every(isMeant)),
  minContext: { column: "context_length", test: (least) => (model) => atLeast(known(model.context_length), least) },
  minOutput: {
    column: "max_output_length",
    test: (least) => (model) => atLeast(known(model.max_output_length), least),
  },
  maxPrice: {
    test: (prices) => {
      const limits = Object.entries(prices).map(([name, text]) => ({ name, limit: parseDecimal(text) }));
      return ({ pricing }) =>
        limits.every(({ name, limit }) => {
          const price = priceIn(pricing, name);
          return price && limit ? compareDecimals(price, shifted(limit, -placesFor(name))) <= 0 : false;
        });
    },
    words: { of: ({ pricing }) => pricesStated(pricing), usual: [...new Set([...priceNames, ...tokenPrices])] },
  },
  free: {
    column: "pricing.prompt",
    test:
      () =>
      ({ pricing }) =>
        ["prompt", "completion", ...pricesStated(pricing)].every((name) => priceIn(pricing, name)?.digits === 0n),
  },
  // A date that can't be read has neither come nor not.
  deprecated: { column: "deprecation_date", test: (_, now) => (model) => endsBy(model, dayOf(now)) },
  notDeprecated: {
    column: "deprecation_date",
    test: (_, now) => (model) => deprecationOf(model) !== undefined && !endsBy(model, dayOf(now)),
  },
  deprecatedWithin: {
    column: "deprecation_date",
    test: (end, now) => {
      const day = dayOf(Math.min(end(now), lastDay));
      return (model) => endsBy(model, day);
    },
  },
  createdSince: {
    column: "created",
    test: (since, now) => (model) => atLeast(known(model.created), since(now) / 1000),
  },
};

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
  const { column, test, words: facts = noWords }: FilterOption<Values[Name]> = options[name];
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

/** The usual words of an option; none if it takes no words. */
export const usualWords = (name: string): Words => (isOption(name) ? (options[name].words ?? noWords).usual : []);

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
