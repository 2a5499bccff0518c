/** Reads the prices of catalog entries, with their conditions and terms. */

import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { compareDecimals, type Decimal, formatDecimal, shiftDecimal, zero } from "../text/decimal.ts";
import { cutText } from "../text/sentences.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { formatPlain, parseAmount } from "./fields.ts";

/** Assumed: prices are in US dollars. */
export const knownPriceNames: readonly string[] = [
  ...["prompt", "completion", "image", "request", "input_cache_read"],
  ...["input_cache_reads", "input_cache_write", "input_cache_writes", "internal_reasoning"],
];

/** Some services name these prices `input_cache_reads` and `input_cache_writes`. */
export const toUsualName = (name: string) => name.replace(/^(input_cache_(?:read|write))s$/, "$1");

/** Prices of what a job with texts and images does not use. */
const unusedPriceNames: readonly string[] = [
  ...["web_search", "input_cache_write_1h", "audio", "audio_output"],
  ...["input_audio", "output_audio", "input_audio_cache"],
  ...["image_output", "output_image", "video", "video_output", "input_video", "output_video"],
];

/** Prices of images in another unit than `image`. */
export const imagePriceNames: readonly string[] = ["image_token", "input_image"];

/** Prices of parts of a prompt that are not text. */
export const mediaPriceNames = [...imagePriceNames, "image", "audio", "input_audio", "video", "input_video"];

export const isKnownPrice = (name: string) =>
  [knownPriceNames, unusedPriceNames, imagePriceNames].some((names) => names.includes(name));

const isPerToken = (name: string) => knownPriceNames.includes(name) && name !== "image" && name !== "request";

export const priceUnit = (name: string) => (isPerToken(name) ? "$/M" : "$");

/** Returns US dollars per million tokens, image or request. */
export const toShownPrice = (name: string, price: Decimal) => shiftDecimal(price, isPerToken(name) ? 6 : 0);

export const parsePrice = (value: unknown) => {
  const amount = parseAmount(value);
  return !amount || amount.digits < 0n ? undefined : amount;
};

/** Returns a text such as `0.3 $/M`. A price that is invalid or unknown stays unchanged. */
export const formatPrice = (name: string, value: unknown) => {
  const price = isKnownPrice(name) ? parsePrice(value) : undefined;
  return price ? `${formatDecimal(toShownPrice(name, price))} ${priceUnit(name)}` : formatPlain(value);
};

/** Returns percent, such as `-33.3`, of a value above 0. */
export const formatPercentChange = (from: Decimal, to: Decimal) => {
  const [was, is] = [shiftDecimal(from, to.places).digits, shiftDecimal(to, from.places).digits];
  const change = is > was ? is - was : was - is;
  return `${is < was ? "-" : "+"}${formatDecimal({ digits: (change * 2000n + was) / (2n * was), places: 1 })}`;
};

/** Matches keys whose numbers change the meaning of all prices. */
const termKey =
  /unit|currency|discount|denominat|multipl|scale|surcharge|minimum|min_charge|(?:^|_)(?:per|fees?)(?:_|$)|^is_free$/i;

/** Matches keys next to `pricing` that can change its meaning, such as `discount_to_user`. */
export const besideKey =
  /pric|billing|cost|currency|discount|surcharge|markup|margin|spend|credits?_per|(?:^|_)(?:tiers?|surge|batch_only)$|(?:^|_)(?:units?|fees?|charges?|tax|vat|tariffs?|promo)(?:_|$)|^(?:is_free|rates?_?card|rates)$/i;

/** Matches `USD`, `per_token`, `1 token` and so on, which are the terms of interface 2.5. */
const usualTerm =
  /^(?:us\$|\$|usd|(?:(?:us\$|\$|usd)[ _/]*)?(?:per[ _-]?)?(?:1[ _-]?)?tokens?|none|false|standard|default|0(?:\.0+)?|)$/i;

/** Matches terms that change nothing if they are 1. */
const factorKey = /^(?!.*(?:pric|charge|fee)).*(?:unit|denominat|multipl|scale|(?:^|_)per(?:_|$))/i;

export const isTerm = (name: string) => termKey.test(name);

export const isUsualTerm = (name: string, value: unknown) => {
  const text = value === undefined || value === null ? "" : formatPlain(value);
  return usualTerm.test(text) || /^(?:\[\]|\{\})$/.test(text) || (text === "1" && factorKey.test(name));
};

export interface Prices {
  /** The members of `pricing`, which can be invalid. */
  readonly stated: ReadonlyMap<string, unknown>;
  readonly overrides: ReturnType<typeof readOverrides>;
  /** Members that rollcall does not know. */
  readonly unknown: ReturnType<typeof listUnknownMembers>;
  /** True if an unknown member changes the meaning of all prices. */
  readonly hasTerms: boolean;
}

const known = new WeakMap<CatalogModel, Prices>();

/** Parses the prices of an entry once, because columns, filters and sorting ask for several. */
export const readPrices = (entry: CatalogModel): Prices => {
  const prices = known.get(entry);
  if (prices) return prices;
  const parsed = parsePrices(entry);
  known.set(entry, parsed);
  return parsed;
};

const parsePrices = (entry: CatalogModel): Prices => {
  const stated = listStatedPrices(entry.pricing);
  const unknown = listUnknownMembers(entry, stated);
  const hasTerms = unknown.some(({ changesAll }) => changesAll);
  return { stated, overrides: readOverrides(stated.get("overrides")), unknown, hasTerms };
};

/** Leaves out members without a value. A list of tiers with `min_context` becomes `overrides`. */
const listStatedPrices = (pricing: unknown): ReadonlyMap<string, unknown> => {
  const members = Array.isArray(pricing) ? mergeTiers(pricing) : isObject(pricing) ? pricing : {};
  return new Map(Object.entries(members).filter(([, price]) => price !== null && price !== undefined));
};

/** Assumed (the older format of OpenRouter's providers): each tier states all its prices. */
const mergeTiers = (tiers: readonly unknown[]): JsonObject => {
  const isTier = (tier: unknown): tier is JsonObject => isObject(tier) && "prompt" in tier;
  const [base, ...others] = tiers.filter(isTier).toSorted((a, b) => Number(minContext(a)) - Number(minContext(b)));
  if (!base || others.length + 1 < tiers.length || minContext(base) !== 0) return { tiers };
  const unstated = Object.fromEntries(Object.keys(base).map((name) => [name, null]));
  const overrides = others.map(({ min_context, ...prices }) => {
    return { min_prompt_tokens: min_context, ...unstated, ...prices };
  });
  const { min_context: _, ...prices } = base;
  return { ...prices, ...(overrides.length > 0 && { overrides }) };
};

const minContext = ({ min_context = 0 }: JsonObject) => min_context ?? 0;

const listUnknownMembers = (entry: CatalogModel, stated: ReadonlyMap<string, unknown>) => {
  const beside = Object.entries(entry).filter(([key, value]) => {
    return key !== "pricing" && value !== null && besideKey.test(key);
  });
  const inPricing = [...stated].filter(([name, value]) => {
    return !isKnownPrice(name) && !(name === "overrides" && Array.isArray(value));
  });
  return [...beside, ...inPricing].flatMap(([name, value]) => {
    const changesAll = parsePrice(value) === undefined || isTerm(name) || besideKey.test(name);
    return isUsualTerm(name, value) ? [] : [{ text: cutText(`${name} ${formatPlain(value)}`, 80), changesAll }];
  });
};

/** An override of OpenRouter's `pricing.overrides`. Later ones win, and unstated prices are inherited. */
type Override = Readonly<{
  /** The override applies to a request with more prompt tokens. With exactly as many, it may apply. */
  moreThan: number | undefined;
  /** The names of other conditions, such as `utc_start`. */
  others: readonly string[];
  /** By their usual names. */
  prices: JsonObject;
}>;

export const tokenCondition = "min_prompt_tokens";

const readOverrides = (list: unknown): readonly Override[] => {
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown) => {
    const members: JsonObject = isObject(item) ? item : { [String(item)]: true };
    const tokens = parseAmount(members[tokenCondition]);
    const others = Object.entries(members).flatMap(([name, value]) =>
      isKnownPrice(name) || value === null || (tokens && name === tokenCondition) ? [] : name,
    );
    const prices = Object.fromEntries(Object.entries(members).map(([name, price]) => [toUsualName(name), price]));
    return { moreThan: tokens && Number(formatDecimal(tokens)), others, prices };
  });
};

/** Returns the name of a stated price, which can have two names. Prefers a valid price. */
export const findPriceName = ({ stated }: Prices, name: string) => {
  const names = [name, ...[...stated.keys()].filter((one) => toUsualName(one) === name)];
  return names.find((one) => parsePrice(stated.get(one))) ?? names.find((one) => stated.has(one)) ?? name;
};

/** Returns the stated price, which can be invalid. */
export const findStatedPrice = (prices: Prices, name: string) => prices.stated.get(findPriceName(prices, name));

/** Returns the prices of a part under conditions. An unknown price is undefined. */
export const listOverridePrices = ({ overrides }: Prices, part: string) =>
  overrides.flatMap(({ others, prices }) => {
    if (others.some(isTerm)) return [undefined];
    const name = toUsualName(part);
    return name in prices ? [parsePrice(prices[name])] : [];
  });

/** Returns what a part without a price of its own costs: a part of the prompt has the price of the prompt. */
export const impliedPrice = ({ stated }: Prices, name: string) => {
  const whole = name.startsWith("input_cache") ? "prompt" : name === "internal_reasoning" ? "completion" : undefined;
  if (whole) return parsePrice(stated.get(whole));
  return name === "image" || name === "request" ? zero : undefined;
};

/** `reason` says why a stated price is unknown. */
export type PartPrice = Readonly<{ price?: Decimal; reason?: string }>;

/** Without the prompt tokens of each request, `tokens` is undefined. `most` is the sum of all. */
export type PromptSize = Readonly<{ tokens: number | undefined; most: number }>;

/** Returns the price of a part, such as `prompt`, for a request with this number of prompt tokens. */
export const findPrice = ({ stated, overrides }: Prices, part: string, { tokens, most }: PromptSize): PartPrice => {
  const unknown = (why: string) => ({ reason: `the price of ${part} ${why}` });
  const read = (value: unknown): PartPrice => {
    const price = parsePrice(value);
    if (price || value === undefined || value === null || value === "") return price ? { price } : {};
    return unknown(`is unreadable: "${cutText(formatPlain(value), 80)}"`);
  };
  const name = toUsualName(part);
  let found = read(stated.get(part));
  for (const { moreThan, others, prices } of overrides) {
    if (!(name in prices) || (moreThan !== undefined && (tokens ?? most) < moreThan)) continue;
    const price = parsePrice(prices[name]);
    if (price && found.price && compareDecimals(price, found.price) === 0) continue;
    if (others.length > 0) found = unknown(`depends on ${others.join(" and ")}`);
    else if (moreThan !== undefined && tokens === moreThan)
      found = unknown(`changes at exactly ${moreThan} prompt tokens`);
    else if (tokens === undefined && moreThan !== undefined)
      found = unknown("depends on the prompt tokens of each request");
    else found = read(prices[name]);
  }
  return found;
};
