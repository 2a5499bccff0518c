/** Filters models. A model without a field matches no filter of this field except `--not-deprecated`. */

import { invalidOptionValue } from "../system/failures.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../text/decimal.ts";
import { findNearest } from "../text/nearest.ts";
import { formatList, toOptionName } from "../text/sentences.ts";
import { type TimeResolver, utcDay } from "../text/units.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { toText, toTexts } from "../wire/contract/replies.ts";
import * as fields from "./fields.ts";
import * as prices from "./prices.ts";

type Strings = readonly string[];

export type Filter = Readonly<
  Partial<
    Record<WordsName, Strings | undefined> &
      Record<"minContext" | "minOutput", number | undefined> &
      Record<"free" | "deprecated" | "notDeprecated", boolean> &
      Record<"deprecatedWithin" | "createdSince", TimeResolver | undefined> & {
        pattern: string | undefined;
        /** Limits in US dollars per million tokens, image or request, under all conditions. */
        maxPrice: readonly (readonly [name: string, limit: string])[] | undefined;
      }
  >
>;

type WordTest = (words: Strings, wanted: ReadonlySet<string>) => boolean;
const hasAll: WordTest = (words, wanted) => [...wanted].every((word) => words.includes(word));
const hasSome: WordTest = (words, wanted) => words.some((word) => wanted.has(word));
const hasOnly: WordTest = (words, wanted) => words.length > 0 && words.every((word) => wanted.has(word));

const defineWordFilter = <Name extends string>(
  name: Name,
  column: string,
  known: string,
  matches = hasAll,
  read = (model: CatalogModel) => toTexts(model[column]) ?? [],
) => ({ name, column, known: known.split(" "), matches, read });

const europeanUnion = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK";
const countries = fields.countryField;

/** A missing country becomes an empty word, so that `--only-country` does not match. */
const readCountries = ({ datacenters }: CatalogModel) =>
  (fields.listDatacenters(datacenters) ?? []).map(({ country_code: code }) => toText(code) ?? "");

const modalities = "text image audio video file";
const features = "tools json_mode structured_outputs web_search reasoning logprobs";
const parameters =
  "temperature top_p top_k min_p top_a repetition_penalty frequency_penalty presence_penalty stop seed max_tokens logit_bias";
const quantizations = "int4 int8 fp4 fp6 fp8 fp16 bf16 fp32 mxfp4 nvfp4 mxfp8";

/** Assumed: services use these words. */
const wordFilters = [
  defineWordFilter("inputModality", "input_modalities", modalities),
  defineWordFilter("outputModality", "output_modalities", modalities),
  defineWordFilter("feature", "supported_features", features),
  defineWordFilter("parameter", "supported_sampling_parameters", parameters),
  defineWordFilter("quantization", "quantization", quantizations, hasSome, ({ quantization }) => [
    toText(quantization) ?? "",
  ]),
  defineWordFilter("country", countries, `EU ${europeanUnion}`, hasSome, readCountries),
  defineWordFilter("onlyCountry", countries, `EU ${europeanUnion}`, hasOnly, readCountries),
];

const priceOption = defineWordFilter("maxPrice", "pricing", prices.knownPriceNames.join(" "), undefined, (model) => [
  ...prices.readPrices(model).stated.keys(),
]);

type WordsName = (typeof wordFilters)[number]["name"];

const normalizeWord = (word: string) => word.trim().toLowerCase();

/** Assumed: 0 means "not stated". */
const isAtLeast = (value: unknown, minimum: number) =>
  fields.parseAmount(value) !== undefined && Number(value) !== 0 && Number(value) >= minimum;

/** @param since ms since 1970. A text counts as the whole day. */
const isCreatedSince = ({ created }: CatalogModel, since: number) => {
  const day = fields.readDay(created);
  return day !== undefined && (typeof created === "number" ? created * 1000 >= since : day >= utcDay(since));
};

type AddCriterion = (columns: Strings, test: (model: CatalogModel) => boolean) => void;

const isFree = (model: CatalogModel) => {
  const { stated, hasTerms } = prices.readPrices(model);
  const others = [...stated].flatMap(([name, price]) => (prices.isUsualTerm(name, price) ? [] : [price]));
  const all = [stated.get("prompt"), stated.get("completion"), ...others];
  return !hasTerms && all.every((price) => prices.parsePrice(price)?.digits === 0n);
};

const addCriteria = (filter: Filter, now: number, add: AddCriterion) => {
  const matchesPattern = fields.compilePattern(filter.pattern);
  add([], ({ id, name }) => matchesPattern(toText(id), toText(name)));
  for (const { name, column, read, matches } of wordFilters) {
    const words = filter[name]?.map(normalizeWord) ?? [];
    if (words.length === 0) continue;
    const members = column === countries && words.includes("eu") ? normalizeWord(europeanUnion).split(" ") : [];
    const wanted = new Set([...words, ...members]);
    add([column], (model) => matches(read(model).map(normalizeWord), wanted));
  }
  for (const [column, minimum] of [
    ["context_length", filter.minContext],
    ["max_output_length", filter.minOutput],
  ] as const) {
    if (minimum !== undefined) add([column], (model) => isAtLeast(model[column], minimum));
  }
  const since = filter.createdSince?.(now);
  if (since !== undefined) add(["created"], (model) => isCreatedSince(model, since));
  for (const [name, text] of filter.maxPrice ?? []) {
    const limit = parseDecimal(text);
    add([`pricing.${name}`], (model) => {
      const read = prices.readPrices(model);
      const all = [prices.parsePrice(prices.findStatedPrice(read, name)), ...prices.listOverridePrices(read, name)];
      const isWithin = (price: Decimal) => limit && compareDecimals(prices.toShownPrice(name, price), limit) <= 0;
      return !read.hasTerms && all.every((price) => price && isWithin(price));
    });
  }
  if (filter.free) add(["pricing.prompt", "pricing.completion"], isFree);
  addEndCriteria(filter, now, add);
};

const addEndCriteria = (filter: Filter, now: number, add: AddCriterion) => {
  for (const [ms, wantsPast] of [
    [filter.deprecated ? now : undefined, true],
    [filter.notDeprecated ? now : undefined, false],
    [filter.deprecatedWithin?.(now), true],
  ] as const) {
    if (ms === undefined) continue;
    const day = utcDay(ms);
    add(["deprecation_date"], (model) => {
      const end = fields.isEnded(model) ? "" : fields.deprecationDay(model);
      return end !== undefined && (end !== null && end <= day) === wantsPast;
    });
  }
};

/** Returns the test and the fields that it reads (`columns`). @param now ms since 1970 */
export const compileFilter = (filter: Filter, now: number) => {
  const tests: ((model: CatalogModel) => boolean)[] = [];
  const columns: string[] = [];
  addCriteria(filter, now, (read, test) => {
    columns.push(...read);
    tests.push(test);
  });
  return { columns, matches: (model: CatalogModel) => tests.every((test) => test(model)) };
};

export const knownWords = (option: string) =>
  [...wordFilters, priceOption].find(({ name }) => toOptionName(name) === option)?.known ?? [];

/** Returns false for unassigned codes such as `XX`, and for unofficial codes such as `UK`. */
const isCountryCode = (code: string) => {
  if (!/^[A-Z]{2}$/.test(code) || new Intl.Locale(`und-${code}`).region !== code) return false;
  return new Intl.DisplayNames("en", { type: "region", fallback: "none" }).of(code) !== undefined;
};

/** Accepts known words, words of listed models, and country codes. @throws Failure `invalid-option-value` */
export const checkFilterWords = (filter: Filter, listed: readonly { readonly entry: CatalogModel }[]) => {
  if (listed.length === 0) return;
  for (const { name, column, known, read } of [...wordFilters, priceOption]) {
    const typed = filter[name] ?? [];
    if (typed.length === 0) continue;
    const found = listed.flatMap(({ entry }) => read(entry)).filter((one) => one.trim() !== "");
    const occurring = [...new Set(found)].sort();
    const accepted = new Set([...known, ...occurring].map(normalizeWord));
    const isKnown = (one: string) => accepted.has(one) || (column === countries && isCountryCode(one.toUpperCase()));
    const example = name === "maxPrice" ? ", such as prompt=0.5" : "";
    const wanted = `one of ${formatList(occurring.length === 0 ? known : occurring)}${example}`;
    for (const [word, ...limit] of typed.map((one) => (typeof one === "string" ? [one] : one))) {
      if (word === undefined || isKnown(normalizeWord(word))) continue;
      const near = findNearest(word, occurring);
      const correct = near && [near, ...limit].join("=");
      throw invalidOptionValue(toOptionName(name), [word, ...limit].join("="), wanted, correct);
    }
  }
};
