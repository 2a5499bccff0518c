/** Filters models and ignores letter case. A missing field matches no filter except `--not-deprecated`. */
import type { CatalogModel } from "../contract/catalog.ts";
import { textOf, textsOf } from "../contract/replies.ts";
import { compareDecimals, parseDecimal, shiftDecimal } from "../decimal.ts";
import { findNearest } from "../nearest.ts";
import { toOptionName } from "../sentences.ts";
import * as fields from "./fields.ts";

type Strings = readonly string[];

/** Both times are in milliseconds since 1970. */
export type RelativeTime = (now: number) => number;

/** Options by name, such as `inputModality` for `--input-modality`. A model must match all options. */
export type Filter = Readonly<Partial<Record<Exclude<WordsName, "maxPrice">, Strings | undefined>>> & {
  readonly pattern?: string | undefined;
  readonly minContext?: number | undefined;
  readonly minOutput?: number | undefined;
  /** Limits are exact decimals in US dollars per million tokens, per image or per request. */
  readonly maxPrice?: readonly (readonly [name: string, limit: string])[] | undefined;
  readonly free?: boolean;
  readonly deprecated?: boolean;
  readonly notDeprecated?: boolean;
  readonly deprecatedWithin?: RelativeTime | undefined;
  readonly createdSince?: RelativeTime | undefined;
};

type WordTest = (words: Strings, wanted: ReadonlySet<string>) => boolean;
const hasAll: WordTest = (words, wanted) => [...wanted].every((word) => words.includes(word));
const hasSome: WordTest = (words, wanted) => words.some((word) => wanted.has(word));
const hasOnly: WordTest = (words, wanted) => words.length > 0 && words.every((word) => wanted.has(word));

const listOption = <Name extends string>(name: Name, column: string, usual: string) => {
  const read = (model: CatalogModel): Strings => textsOf(model[column]) ?? [];
  return { name, column, read, matches: hasAll, usual: usual.split(" ") } as const;
};

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

/** A missing country is an empty word. */
const countryOption = <Name extends string>(name: Name, matches: WordTest) => {
  const read = ({ datacenters }: CatalogModel): Strings =>
    (fields.listDatacenters(datacenters) ?? []).map(({ country_code: code }) => textOf(code) ?? "");
  return { name, column: "datacenters.country_code", read, matches, usual: ["EU", ...countryCodes] } as const;
};

const modalities = "text image audio video file";
const features = "tools json_mode structured_outputs web_search reasoning logprobs";
const parameters =
  "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias";

const quantizations = "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8".split(" ");
const readQuantization = ({ quantization }: CatalogModel): Strings => [textOf(quantization) ?? ""];
const readPriceNames = ({ pricing }: CatalogModel): Strings => [...fields.statedPrices(pricing).keys()];

/** Assumed: services use the `usual` values. A catalog can add values. */
const wordsOptions = [
  listOption("inputModality", "input_modalities", modalities),
  listOption("outputModality", "output_modalities", modalities),
  listOption("feature", "supported_features", features),
  listOption("parameter", "supported_sampling_parameters", parameters),
  { name: "quantization", column: "quantization", read: readQuantization, matches: hasSome, usual: quantizations },
  countryOption("country", hasSome),
  countryOption("onlyCountry", hasOnly),
  // Prices are compared as numbers.
  { name: "maxPrice", column: "pricing", read: readPriceNames, matches: undefined, usual: fields.knownPriceNames },
] as const;

type WordsName = (typeof wordsOptions)[number]["name"];

const listWords = (filter: Filter, name: WordsName) =>
  name === "maxPrice" ? filter.maxPrice?.map(([price]) => price) : filter[name];
const normalizeWord = (word: string) => word.trim().toLowerCase();

const isAtLeast = (value: unknown, minimum: number) =>
  // Assumed: 0 means "not stated".
  typeof value === "number" && Number.isFinite(value) && value !== 0 && value >= minimum;

/** @param now milliseconds since 1970 */
const listCriteria = (filter: Filter, now: number) => {
  const { pattern, minContext, minOutput, maxPrice, free, deprecated, notDeprecated, deprecatedWithin } = filter;
  const criteria: { readonly columns: Strings; readonly test: (model: CatalogModel) => boolean }[] = [];
  const add = (columns: Strings, test: (model: CatalogModel) => boolean) => criteria.push({ columns, test });
  if (pattern !== undefined) {
    const matches = fields.compilePattern(pattern);
    add([], ({ id, name }) => matches({ id: textOf(id) ?? "", name: textOf(name) ?? "" }));
  }
  for (const { name, column, read, matches } of wordsOptions) {
    const words = listWords(filter, name)?.map(normalizeWord);
    if (words === undefined || matches === undefined) continue;
    const includesEu = column === "datacenters.country_code" && words.includes("eu");
    const wanted = new Set([...words, ...(includesEu ? europeanUnion.map(normalizeWord) : [])]);
    add([column], (model) => matches(read(model).map(normalizeWord), wanted));
  }
  for (const [column, minimum] of [
    ["context_length", minContext],
    ["max_output_length", minOutput],
    ["created", filter.createdSince && filter.createdSince(now) / 1000],
  ] as const) {
    if (minimum !== undefined) add([column], (model) => isAtLeast(model[column], minimum));
  }
  for (const [name, text] of maxPrice ?? []) {
    const limit = parseDecimal(text);
    add([`pricing.${name}`], ({ pricing }) => {
      const price = fields.readPrice(pricing, name);
      return price && limit ? compareDecimals(price, shiftDecimal(limit, -fields.priceExponent(name))) <= 0 : false;
    });
  }
  if (free) {
    add(["pricing.prompt", "pricing.completion"], ({ pricing }) => {
      const names = ["prompt", "completion", ...fields.statedPrices(pricing).keys()];
      return names.every((name) => fields.readPrice(pricing, name)?.digits === 0n);
    });
  }
  for (const [ms, wantsPast] of [
    [deprecated ? now : undefined, true],
    [notDeprecated ? now : undefined, false],
    [deprecatedWithin?.(now), true],
  ] as const) {
    if (ms === undefined) continue;
    const day = fields.utcDay(ms);
    // An unreadable date is neither past nor future.
    add(["deprecation_date"], (model) => {
      const end = fields.deprecationDay(model);
      return end !== undefined && (end !== null && end <= day) === wantsPast;
    });
  }
  return criteria;
};

export const filteredColumns = (filter: Filter): Strings => listCriteria(filter, 0).flatMap(({ columns }) => columns);
export const hasFilters = (filter: Filter) => listCriteria({ ...filter, pattern: undefined }, 0).length > 0;

/** @param now milliseconds since 1970 */
export const createMatcher = (filter: Filter, now: number): ((model: CatalogModel) => boolean) => {
  const criteria = listCriteria(filter, now);
  return (model) => criteria.every(({ test }) => test(model));
};

export const usualWords = (option: string): Strings =>
  wordsOptions.find(({ name }) => toOptionName(name) === option)?.usual ?? [];

/** A known word is usual or in a model. Without models, every word is known. */
export const findUnknownWord = (filter: Filter, models: readonly CatalogModel[]) => {
  if (models.length === 0) return undefined;
  for (const { name, usual, read } of wordsOptions) {
    const isIn = (list: Strings, word: string) => list.some((one) => normalizeWord(one) === normalizeWord(word));
    const unusual = (listWords(filter, name) ?? []).filter((word) => !isIn(usual, word));
    if (unusual.length === 0) continue;
    const occurring = [...new Set(models.flatMap(read))].filter((one) => one.trim() !== "").sort();
    const word = unusual.find((one) => !isIn(occurring, one));
    if (word === undefined) continue;
    const near = findNearest(word, occurring);
    const limitText = name === "maxPrice" ? `=${filter.maxPrice?.find(([price]) => price === word)?.[1]}` : "";
    return { option: toOptionName(name), word: word + limitText, usual, occurring, near: near && near + limitText };
  }
  return undefined;
};
