/** Filters of models: for each option its test, its columns and the words that it takes. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type Entries, typedValue } from "../contract/replies.ts";
import { compareDecimals, parseDecimal, shiftDigits } from "../decimal.ts";
import { findNearest } from "../nearest.ts";
import { deprecationDay, knownPriceNames, priceExponent, readPrice, statedPrices } from "./fields.ts";
import { compilePattern, utcDay } from "./models.ts";

type Strings = readonly string[];

type Test = (model: CatalogModel) => boolean;

/** An option. A model that does not state a value does not match. Case does not matter. */
interface FilterOption<Value> {
  /** The columns that show the tested values. */
  readonly columns: Strings | ((value: Value) => Strings);
  /** `now`: milliseconds since 1970. */
  readonly test: (value: Value, now: number) => Test;
  readonly words?: OptionWords;
}

interface OptionWords {
  /** The words of a model. */
  readonly of: (model: CatalogModel) => Strings;
  /** Assumed: services use these words. Other words of a catalog are accepted, too. */
  readonly usual: Strings;
}

const lowerCased = (words: Strings): Strings => words.map((word) => word.toLowerCase());

/** Requires that a list of the model contains all words. */
const allOf = (
  column: "input_modalities" | "output_modalities" | "supported_features" | "supported_sampling_parameters",
  usual: string,
): FilterOption<Strings> => ({
  columns: [column],
  test: (words) => {
    const wanted = lowerCased(words);
    return (model) => {
      const own = lowerCased(typedValue(model[column]) ?? []);
      return wanted.every((word) => own.includes(word));
    };
  },
  words: { of: (model) => typedValue(model[column]) ?? [], usual: usual.split(" ") },
});

/** Returns the country of each data center; an empty text for a data center without a country. */
const countriesOf: OptionWords["of"] = ({ datacenters }) =>
  (typedValue(datacenters) ?? []).map(({ country_code }) => typedValue(country_code) ?? "");

const europeanUnion = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" ");

/** All officially assigned codes (ISO 3166-1). */
const countryCodes: Strings = [
  "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ",
  "CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR",
  "GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP",
  "KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT",
  "MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW",
  "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ",
  "UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW",
].flatMap((line) => line.split(" "));

/** `EU` means its member countries. */
const countryOption = (
  holds: (codes: Strings, isWanted: (code: string) => boolean) => boolean,
): FilterOption<Strings> => ({
  columns: ["datacenters.country_code"],
  test: (words) => {
    const codes = words.map((word) => word.trim().toUpperCase());
    const wanted = new Set([...codes, ...(codes.includes("EU") ? europeanUnion : [])]);
    return (model) => holds(countriesOf(model), (code) => wanted.has(code.trim().toUpperCase()));
  },
  words: { of: countriesOf, usual: ["EU", ...countryCodes] },
});

/** Assumed: 0 means "not stated". */
const atLeast = <Value>(
  column: "context_length" | "max_output_length" | "created",
  minimum: (value: Value, now: number) => number,
): FilterOption<Value> => ({
  columns: [column],
  test: (value, now) => (model) => {
    const own = typedValue(model[column]) ?? 0;
    return own !== 0 && own >= minimum(value, now);
  },
});

/** An unreadable date is neither past nor future. */
const deprecatedBy = <Value>(day: (value: Value, now: number) => string, isWanted = true): FilterOption<Value> => ({
  columns: ["deprecation_date"],
  test: (value, now) => (model) => {
    const end = deprecationDay(model);
    return (end === undefined ? undefined : (end ?? "9999-99-99") <= day(value, now)) === isWanted;
  },
});

/** The last day whose year has four digits. */
const lastDay = Date.UTC(9999, 11, 31);

/** Returns milliseconds since 1970. */
type RelativeTime = (now: number) => number;

/** Names of prices, and exact decimals in US dollars per million tokens or per unit (`image`, `request`). */
type PriceLimits = readonly (readonly [name: string, limit: string])[];

const modalities = "text image audio video file";

/** The options by their names: `inputModality` is `--input-modality`. */
const options = {
  pattern: {
    columns: [],
    test: (pattern: string) => {
      const matches = compilePattern(pattern);
      return ({ id, name }: CatalogModel) => matches({ id: typedValue(id) ?? "", name: typedValue(name) ?? "" });
    },
  },
  inputModality: allOf("input_modalities", modalities),
  outputModality: allOf("output_modalities", modalities),
  feature: allOf("supported_features", "tools json_mode structured_outputs web_search reasoning logprobs"),
  parameter: allOf(
    "supported_sampling_parameters",
    "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens " +
      "logit_bias",
  ),
  quantization: {
    columns: ["quantization"],
    test: (words: Strings) => {
      const wanted = lowerCased(words);
      return ({ quantization }: CatalogModel) => wanted.includes((typedValue(quantization) ?? "").toLowerCase());
    },
    words: {
      of: ({ quantization }: CatalogModel) => [typedValue(quantization) ?? ""],
      usual: "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" "),
    },
  },
  country: countryOption((codes, isWanted) => codes.some(isWanted)),
  onlyCountry: countryOption((codes, isWanted) => codes.length > 0 && codes.every(isWanted)),
  minContext: atLeast("context_length", (tokens: number) => tokens),
  minOutput: atLeast("max_output_length", (tokens: number) => tokens),
  maxPrice: {
    columns: (prices: PriceLimits) => prices.map(([name]) => `pricing.${name}`),
    test: (prices: PriceLimits) => {
      const limits = prices.map(([name, text]) => ({ name, limit: parseDecimal(text) }));
      return ({ pricing }: CatalogModel) =>
        limits.every(({ name, limit }) => {
          const price = readPrice(pricing, name);
          return price && limit ? compareDecimals(price, shiftDigits(limit, -priceExponent(name))) <= 0 : false;
        });
    },
    words: { of: ({ pricing }: CatalogModel) => statedPrices(pricing), usual: knownPriceNames },
  },
  free: {
    columns: ["pricing.prompt", "pricing.completion"],
    test:
      (_: boolean) =>
      ({ pricing }: CatalogModel) =>
        ["prompt", "completion", ...statedPrices(pricing)].every((name) => readPrice(pricing, name)?.digits === 0n),
  },
  deprecated: deprecatedBy((_: boolean, now) => utcDay(now)),
  notDeprecated: deprecatedBy((_: boolean, now) => utcDay(now), false),
  deprecatedWithin: deprecatedBy((end: RelativeTime, now) => utcDay(Math.min(end(now), lastDay))),
  createdSince: atLeast("created", (since: RelativeTime, now) => since(now) / 1000),
};

type ValueOf<Of> = Of extends { readonly test: (value: infer Value, now: number) => Test } ? Value : never;
type Values = { readonly [Name in keyof typeof options]: ValueOf<(typeof options)[Name]> };

/** The given options. A model must match all of them. */
export type Filter = { readonly [Name in keyof Values]?: Values[Name] | undefined };

const typedOptions: { readonly [Name in keyof Values]: FilterOption<Values[Name]> } = options;

interface GivenOption {
  readonly name: string;
  readonly columns: Strings;
  readonly test: (now: number) => Test;
  readonly words: Strings;
  readonly facts: OptionWords | undefined;
}

const isOption = (name: string): name is keyof Values => Object.hasOwn(options, name);

const givenOptions = (filter: Filter): readonly GivenOption[] =>
  Object.keys(options).flatMap((name) => (isOption(name) ? toGivenOption(name, filter[name]) : []));

const toGivenOption = <Name extends keyof Values>(
  name: Name,
  value: Values[Name] | undefined,
): readonly GivenOption[] => {
  if (value === undefined || value === false) return [];
  const { columns, test, words: facts }: FilterOption<Values[Name]> = typedOptions[name];
  const words = facts !== undefined && Array.isArray(value) ? value.map((one) => String([one].flat()[0])) : [];
  const own = typeof columns === "function" ? columns(value) : columns;
  return [{ name, columns: own, test: (now) => test(value, now), words, facts }];
};

/** Returns the names of the columns that a filter is about. */
export const filteredColumns = (filter: Filter): Strings => givenOptions(filter).flatMap(({ columns }) => columns);

/** True if a filter has any option but a pattern. */
export const hasFilters = (filter: Filter): boolean => givenOptions(filter).some(({ name }) => name !== "pattern");

/** `now`: milliseconds since 1970. */
export const createMatcher = (filter: Filter, now: number): Test => {
  const tests = givenOptions(filter).map(({ test }) => test(now));
  return (model) => tests.every((test) => test(model));
};

/** Returns the usual words of an option such as `--feature`. */
export const usualWords = (option: string): Strings =>
  Object.entries(typedOptions).find(([name]) => optionOf(name) === option)?.[1].words?.usual ?? [];

const optionOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Counts the models with each word, the most frequent word first. */
const countWords = ({ of }: OptionWords, models: Entries<CatalogModel>) => {
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

/** Finds the first word of a filter that is neither usual nor in a model. Without models, every word is accepted. */
export const findUnknownWord = (filter: Filter, models: Entries<CatalogModel>) => {
  if (models.length === 0) return undefined;
  for (const { name, facts, words } of givenOptions(filter)) {
    const isIn = (list: Strings, word: string) => lowerCased(list).includes(word.toLowerCase());
    const unusual = words.filter((word) => facts !== undefined && !isIn(facts.usual, word));
    if (facts === undefined || unusual.length === 0) continue;
    const occurring = countWords(facts, models);
    const texts = occurring.map(({ word }) => word);
    const word = unusual.find((one) => !isIn(texts, one));
    if (word === undefined) continue;
    return { option: optionOf(name), word, usual: facts.usual, occurring, near: findNearest(word, texts) };
  }
  return undefined;
};
