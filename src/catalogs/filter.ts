/** Which models of a catalog are meant: a filter as data, and the test that it makes. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/fields.ts";
import { compareDecimals, parseDecimal, shifted } from "../decimal.ts";
import { countriesMeant } from "./countries.ts";
import { dayOf, deprecationOf } from "./deprecation.ts";
import { wordFilters } from "./filter-words.ts";
import { matchesPattern } from "./model-ids.ts";
import { placesFor, priceIn, statedPrices } from "./prices.ts";

/** What is asked of a model: all of it must hold, and what a model does not state does not hold. Case does not matter. */
export interface Filter {
  readonly pattern?: string | undefined;
  /** All of these words must occur. */
  readonly inputModality?: readonly string[] | undefined;
  readonly outputModality?: readonly string[] | undefined;
  readonly feature?: readonly string[] | undefined;
  readonly parameter?: readonly string[] | undefined;
  /** One of them. */
  readonly quantization?: readonly string[] | undefined;
  /** A data centre in one of them; `EU` stands for its members. */
  readonly country?: readonly string[] | undefined;
  /** Every data centre in one of them, and at least one stated. */
  readonly onlyCountry?: readonly string[] | undefined;
  /** Tokens. */
  readonly minContext?: number | undefined;
  readonly minOutput?: number | undefined;
  /** Exact decimals in US dollars by the name of the price: per million tokens, or per unit (`image`, `request`). */
  readonly maxPrice?: Readonly<Record<string, string>> | undefined;
  /** Prompt and completion cost nothing, and nothing else costs anything. */
  readonly free?: boolean | undefined;
  /** Whether its deprecation has come, today included. A date that can't be read is neither. */
  readonly deprecated?: boolean | undefined;
  /** Its deprecation has come by this day, `YYYY-MM-DD`. */
  readonly deprecatedWithin?: string | undefined;
  /** Seconds since 1970. */
  readonly createdSince?: number | undefined;
}

/** The columns of what a filter compares, in addition to those of its words. */
const comparedColumns = {
  minContext: "context_length",
  minOutput: "max_output_length",
  deprecated: "deprecation_date",
  deprecatedWithin: "deprecation_date",
  createdSince: "created",
} as const;

/** The names of the columns that show what a filter asks about. */
export const columnsFiltered = (filter: Filter): readonly string[] => {
  const { maxPrice = {}, free, ...others } = filter;
  const columns: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(wordFilters).map(([field, { column }]) => [field, column])),
    ...comparedColumns,
  };
  return [
    ...Object.keys(maxPrice).map((name) => `pricing.${name}`),
    ...(free === undefined ? [] : ["pricing.prompt", "pricing.completion"]),
    ...Object.entries(others).flatMap(([field, value]) => (value === undefined ? [] : (columns[field] ?? []))),
  ];
};

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

const wordTests = ({ quantization, ...filter }: Filter): readonly Test[] => {
  const quantizations = lowerCased(quantization);
  const everyWord = (["inputModality", "outputModality", "feature", "parameter"] as const).flatMap((field) =>
    Array.from(lowerCased(filter[field]), (word): Test => {
      return (model) => wordFilters[field].of(model).some((one) => one.toLowerCase() === word);
    }),
  );
  if (quantizations.size === 0) return everyWord;
  return [...everyWord, (model) => quantizations.has(known(model.quantization)?.toLowerCase() ?? "")];
};

const lowerCased = (words: readonly string[] = []): ReadonlySet<string> =>
  new Set(words.map((word) => word.toLowerCase()));

const countryTests = ({ country = [], onlyCountry = [] }: Filter): readonly Test[] => {
  const [any, only] = [countriesMeant(country), countriesMeant(onlyCountry)];
  return [
    ...(any.size === 0 ? [] : [(model: CatalogModel) => codesOf(model).some((code) => any.has(code))]),
    ...(only.size === 0
      ? []
      : [(model: CatalogModel) => codesOf(model).length > 0 && codesOf(model).every((code) => only.has(code))]),
  ];
};

/** The country of each data centre; empty if a data centre states none. */
const codesOf = (model: CatalogModel): readonly string[] =>
  wordFilters.country.of(model).map((code) => code.trim().toUpperCase());

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

const priceTests = ({ maxPrice = {}, free = false }: Filter): readonly Test[] => [
  ...Object.entries(maxPrice).map(([name, text]): Test => {
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

const dayTests = ({ deprecated, deprecatedWithin }: Filter, today: string): readonly Test[] => {
  const endsBy = (day: string): Test => {
    return (model) => (deprecationOf(model) ?? "9999-99-99") <= day;
  };
  const lasts: Test = (model) => {
    const ends = deprecationOf(model);
    return ends === null || (ends !== undefined && ends > today);
  };
  return [
    ...(deprecated === undefined ? [] : [deprecated ? endsBy(today) : lasts]),
    ...(deprecatedWithin === undefined ? [] : [endsBy(deprecatedWithin)]),
  ];
};
