/** Which models of a catalog are meant: a filter as data, and the test that it makes. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/fields.ts";
import { compareDecimals, parseDecimal, shifted } from "../decimal.ts";
import { countriesMeant } from "./countries.ts";
import { dayOf, deprecationOf } from "./deprecation.ts";
import { matchesPattern } from "./model-ids.ts";
import { placesFor, priceIn, statedPrices } from "./prices.ts";

/** What is asked of a model. All of it must hold; what a model does not state holds nothing. Words are in any case. */
export interface Filter {
  readonly pattern?: string | undefined;
  /** All of them must be there. */
  readonly inputModalities?: readonly string[] | undefined;
  readonly outputModalities?: readonly string[] | undefined;
  readonly features?: readonly string[] | undefined;
  readonly parameters?: readonly string[] | undefined;
  /** One of them. */
  readonly quantizations?: readonly string[] | undefined;
  /** A data centre in one of them; `EU` stands for its members. */
  readonly countries?: readonly string[] | undefined;
  /** Every data centre in one of them, and at least one stated. */
  readonly onlyCountries?: readonly string[] | undefined;
  /** Tokens. */
  readonly minContext?: number | undefined;
  readonly minOutput?: number | undefined;
  /** Exact decimals in US dollars by the name of the price: per million tokens, or per unit (`image`, `request`). */
  readonly maxPrices?: Readonly<Record<string, string>> | undefined;
  /** Prompt and completion cost nothing, and nothing else costs anything. */
  readonly free?: boolean | undefined;
  /** Whether its deprecation has come, today included. A date that can't be read is neither. */
  readonly deprecated?: boolean | undefined;
  /** Its deprecation has come by this day, `YYYY-MM-DD`. */
  readonly deprecatedBy?: string | undefined;
  /** Seconds since 1970. */
  readonly createdSince?: number | undefined;
}

/** When the question is asked: milliseconds since 1970. */
export interface FilterMoment {
  readonly now: number;
}

type Test = (model: CatalogModel) => boolean;

/** The test of a filter. */
export const matcherOf = (filter: Filter, { now }: FilterMoment): Test => {
  const tests = [
    ...patternTests(filter),
    ...wordTests(filter),
    ...countryTests(filter),
    ...numberTests(filter),
    ...priceTests(filter),
    ...dayTests(filter, dayOf(now)),
  ];
  return (model) => tests.every((test) => test(model));
};

const patternTests = ({ pattern = "" }: Filter): readonly Test[] => {
  if (pattern.trim() === "") return [];
  const matches = matchesPattern(pattern);
  return [({ id, name }) => matches({ id: known(id) ?? "", name: known(name) ?? "" })];
};

/** The parts of a filter that are words of a catalog. */
export const wordFields = [
  "inputModalities",
  "outputModalities",
  "features",
  "parameters",
  "quantizations",
  "countries",
  "onlyCountries",
  "maxPrices",
] as const;
/** A part of a filter that is words of a catalog. */
export type WordField = (typeof wordFields)[number];

/** The words that a model has of each of them. */
export const wordsOf: Readonly<Record<WordField, (model: CatalogModel) => readonly string[]>> = {
  inputModalities: ({ input_modalities }) => known(input_modalities) ?? [],
  outputModalities: ({ output_modalities }) => known(output_modalities) ?? [],
  features: ({ supported_features }) => known(supported_features) ?? [],
  parameters: ({ supported_sampling_parameters }) => known(supported_sampling_parameters) ?? [],
  quantizations: ({ quantization }) => [known(quantization) ?? ""],
  countries: ({ datacenters }) => (known(datacenters) ?? []).map(({ country_code }) => known(country_code) ?? ""),
  onlyCountries: (model) => wordsOf.countries(model),
  maxPrices: ({ pricing }) => Object.keys(statedPrices(pricing)),
};

const wordTests = (filter: Filter): readonly Test[] => {
  const everyWord = ["inputModalities", "outputModalities", "features", "parameters"] as const;
  const quantizations = lowerCased(filter.quantizations);
  return [
    ...everyWord.flatMap((field) =>
      Array.from(
        lowerCased(filter[field]),
        (word): Test =>
          (model) =>
            wordsOf[field](model).some((one) => one.toLowerCase() === word),
      ),
    ),
    ...(quantizations.size === 0
      ? []
      : [(model: CatalogModel) => quantizations.has(known(model.quantization)?.toLowerCase() ?? "")]),
  ];
};

const lowerCased = (words: readonly string[] = []): ReadonlySet<string> =>
  new Set(words.map((word) => word.toLowerCase()));

const countryTests = ({ countries = [], onlyCountries = [] }: Filter): readonly Test[] => {
  const [any, only] = [countriesMeant(countries), countriesMeant(onlyCountries)];
  return [
    ...(any.size === 0 ? [] : [(model: CatalogModel) => codesOf(model).some((code) => any.has(code))]),
    ...(only.size === 0
      ? []
      : [(model: CatalogModel) => codesOf(model).length > 0 && codesOf(model).every((code) => only.has(code))]),
  ];
};

/** The country of each data centre; empty where a data centre states none. */
const codesOf = ({ datacenters }: CatalogModel): readonly string[] =>
  (known(datacenters) ?? []).map(({ country_code }) => (known(country_code) ?? "").trim().toUpperCase());

const numberTests = ({ minContext, minOutput, createdSince }: Filter): readonly Test[] => [
  ...least(minContext, ({ context_length }) => known(context_length)),
  ...least(minOutput, ({ max_output_length }) => known(max_output_length)),
  ...least(createdSince, ({ created }) => known(created)),
];

/** Assumed: 0 says "not stated" in all of these fields. */
const least = (wanted: number | undefined, of: (model: CatalogModel) => number | undefined): readonly Test[] => {
  if (wanted === undefined) return [];
  return [
    (model) => {
      const value = of(model) ?? 0;
      return value !== 0 && value >= wanted;
    },
  ];
};

const priceTests = ({ maxPrices = {}, free = false }: Filter): readonly Test[] => [
  ...Object.entries(maxPrices).map(([name, text]): Test => {
    const typed = parseDecimal(text);
    if (typed === undefined) return () => false;
    const most = shifted(typed, -placesFor(name));
    return ({ pricing }) => {
      const price = priceIn(pricing, name);
      return price !== undefined && compareDecimals(price, most) <= 0;
    };
  }),
  ...(free ? [isFree] : []),
];

const isFree: Test = ({ pricing }) => {
  const costsNothing = (name: string) => priceIn(pricing, name)?.digits === 0n;
  return ["prompt", "completion", ...Object.keys(statedPrices(pricing))].every(costsNothing);
};

const dayTests = ({ deprecated, deprecatedBy }: Filter, today: string): readonly Test[] => {
  const endsBy = (day: string): Test => {
    return (model) => (deprecationOf(model) ?? "9999-99-99") <= day;
  };
  const lasts: Test = (model) => {
    const ends = deprecationOf(model);
    return ends === null || (ends !== undefined && ends > today);
  };
  return [
    ...(deprecated === undefined ? [] : [deprecated ? endsBy(today) : lasts]),
    ...(deprecatedBy === undefined ? [] : [endsBy(deprecatedBy)]),
  ];
};
