/** Reads the fields of catalog entries. */

import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { ignoreErrors } from "../system/files.ts";
import { type Decimal, formatDecimal, parseDecimal, shiftDecimal, zero } from "../text/decimal.ts";
import { cutText } from "../text/sentences.ts";
import { formatUnixDay, utcDay } from "../text/units.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { toText } from "../wire/contract/replies.ts";

export const formatPlain = (value: unknown) =>
  typeof value === "string" ? value : (ignoreErrors(() => JSON.stringify(value)) ?? "(nested too deeply)");

/** Assumed: prices are in US dollars. */
export const knownPriceNames: readonly string[] = [
  ...["prompt", "completion", "image", "request", "input_cache_read"],
  ...["input_cache_reads", "input_cache_write", "input_cache_writes", "internal_reasoning"],
];

/** Some services name these prices `input_cache_reads` and `input_cache_writes`. */
export const toUsualName = (name: string) => name.replace(/^(input_cache_(?:read|write))s$/, "$1");

const isPerToken = (name: string) => knownPriceNames.includes(name) && name !== "image" && name !== "request";

export const priceUnit = (name: string) => (isPerToken(name) ? "$/M" : "$");

/** Returns US dollars per million tokens, image or request. */
export const toShownPrice = (name: string, price: Decimal) => shiftDecimal(price, isPerToken(name) ? 6 : 0);

export const parseAmount = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

/** A JSON number of 2^53 or more is invalid, because digits may be lost. */
export const parsePrice = (value: unknown) => {
  const amount = typeof value === "number" && value > Number.MAX_SAFE_INTEGER ? undefined : parseAmount(value);
  return !amount || amount.digits < 0n ? undefined : amount;
};

/** Returns the stated members of `pricing`. A list of tiers with `min_context` becomes `overrides`. */
export const listStatedPrices = (pricing: unknown): ReadonlyMap<string, unknown> => {
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

/** Returns the name of a stated price, which can have two names. Prefers a valid price. */
export const findPriceName = (stated: ReadonlyMap<string, unknown>, name: string) => {
  const names = [name, ...[...stated.keys()].filter((one) => toUsualName(one) === name)];
  return names.find((one) => parsePrice(stated.get(one))) ?? names.find((one) => stated.has(one)) ?? name;
};

/** Returns the stated price, which can be invalid. */
export const findStatedPrice = (pricing: unknown, name: string) => {
  const stated = listStatedPrices(pricing);
  return stated.get(findPriceName(stated, name));
};

const minContext = ({ min_context = 0 }: JsonObject) => min_context ?? 0;

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

/** Matches keys whose numbers change the meaning of all prices. */
const termKey =
  /unit|currency|discount|denominat|multipl|scale|surcharge|minimum|min_charge|(?:^|_)(?:per|fees?)(?:_|$)|^is_free$/i;

/** Matches keys next to `pricing` that can change its meaning, such as `discount_to_user`. */
export const besideKey =
  /pric|billing|cost|currency|discount|surcharge|(?:^|_)tiers?$|(?:^|_)(?:units?|fees?)(?:_|$)|^is_free$/i;

/** Matches `USD`, `per_token`, `1 token` and so on, which are the terms of interface 2.5. */
const usualTerm =
  /^(?:us\$|\$|usd|(?:(?:us\$|\$|usd)[ _/]*)?(?:per[ _-]?)?(?:1[ _-]?)?tokens?|none|false|standard|default|0(?:\.0+)?|)$/i;

/** Members of the prices that rollcall does not know. A term changes the meaning of all prices. */
export const listUnknownMembers = (entry: CatalogModel) => {
  const beside = Object.entries(entry).filter(([key, value]) => {
    return key !== "pricing" && value !== null && besideKey.test(key);
  });
  const inPricing = [...listStatedPrices(entry.pricing)].filter(([name, value]) => {
    return !isKnownPrice(name) && !(name === "overrides" && Array.isArray(value));
  });
  return [...beside, ...inPricing].flatMap(([name, value]) => {
    const changesAll = parsePrice(value) === undefined || isTerm(name) || besideKey.test(name);
    return isUsualTerm(name, value) ? [] : [{ text: cutText(`${name} ${formatPlain(value)}`, 80), changesAll }];
  });
};

export const isTerm = (name: string) => termKey.test(name);

export const isUsualTerm = (name: string, value: unknown) => {
  const text = value === undefined || value === null ? "" : formatPlain(value);
  return usualTerm.test(text) || /^(?:\[\]|\{\})$/.test(text) || (text === "1" && isTerm(name));
};

/** Returns what a part without a price of its own costs: a part of the prompt has the price of the prompt. */
export const impliedPrice = (pricing: unknown, name: string) => {
  const whole = name.startsWith("input_cache") ? "prompt" : name === "internal_reasoning" ? "completion" : undefined;
  if (whole) return parsePrice(listStatedPrices(pricing).get(whole));
  return name === "image" || name === "request" ? zero : undefined;
};

/** True if a member changes the meaning of all prices. */
export const hasTerms = (entry: CatalogModel) => listUnknownMembers(entry).some(({ changesAll }) => changesAll);

/** Returns US dollars per token, image or request, or undefined if the price has another unit or currency. */
export const readPrice = (entry: CatalogModel, name: string) =>
  hasTerms(entry) ? undefined : parsePrice(findStatedPrice(entry.pricing, name));

/** Returns a text such as `0.3 $/M`. An invalid price stays unchanged. */
export const formatPrice = (name: string, value: unknown) => {
  const price = parsePrice(value);
  return price ? `${formatDecimal(toShownPrice(name, price))} ${priceUnit(name)}` : formatPlain(value);
};

/** Returns percent, such as `-33.3`, of a value above 0. */
export const formatPercentChange = (from: Decimal, to: Decimal) => {
  const [was, is] = [shiftDecimal(from, to.places).digits, shiftDecimal(to, from.places).digits];
  const change = is > was ? is - was : was - is;
  return `${is < was ? "-" : "+"}${formatDecimal({ digits: (change * 2000n + was) / (2n * was), places: 1 })}`;
};

export const countryField = "datacenters.country_code";

export const listDatacenters = (datacenters: unknown): readonly JsonObject[] | undefined =>
  Array.isArray(datacenters) && datacenters.every(isObject) ? datacenters : undefined;

export const listCountries = (datacenters: unknown) =>
  listDatacenters(datacenters)?.flatMap(({ country_code: code = null }) => (code === null ? [] : formatPlain(code)));

/** Lists the data centers with their members besides the country. Returns undefined if none has any. */
export const listDatacenterMembers = (datacenters: unknown) => {
  const others = listDatacenters(datacenters)?.map(({ country_code: _, ...others }) => others) ?? [];
  return others.some((members) => Object.keys(members).length > 0) ? others : undefined;
};

/** Returns undefined for an unreadable date. Assumed: dates start with `YYYY-MM-DD`, or are Unix seconds. */
export const readDay = (date: unknown) => {
  if (typeof date === "number") return formatUnixDay(date);
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(toText(date) ?? "")?.[0];
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

/** Returns the first end of a model, null for a missing date, and undefined for an unreadable date. */
export const deprecationDay = ({ deprecation_date, expiration_date }: CatalogModel) => {
  const stated = [deprecation_date, expiration_date].filter(
    (date) => date !== undefined && date !== null && date !== "",
  );
  const days = stated.flatMap((date) => readDay(date) ?? []).sort();
  return stated.length === 0 ? null : days[0];
};

/** Each word is a part of the id or name, or a glob for the id. */
export const compilePattern = (pattern = "") => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
  return (id = "", name = "") => {
    const names = [id.toLowerCase(), name.toLowerCase()] as const;
    return words.every((word) =>
      /[*?]/.test(word) ? matchesGlob(Array.from(names[0]), word) : names.some((one) => one.includes(word)),
    );
  };
};

/** Matches the whole text. */
export const compileGlob = (glob: string) => {
  const pattern = glob.toLowerCase();
  return (text = "") => matchesGlob(Array.from(text.toLowerCase()), pattern);
};

/** A regular expression could backtrack for a long time. */
const matchesGlob = (text: readonly string[], glob: string) => {
  const all = [...text.keys(), text.length];
  /** The positions up to which `text` matches the processed part of `glob`. */
  let ends = [0];
  for (const char of glob) {
    if (char === "*") ends = all.slice(ends[0] ?? all.length);
    else ends = ends.flatMap((at) => (char === text[at] || (char === "?" && at < text.length) ? at + 1 : []));
  }
  return ends.at(-1) === text.length;
};

/** Values without an id are in no group. */
export const groupById = <Value>(values: readonly Value[], idOf: (value: Value) => unknown) => {
  const byId = new Map<string, Value[]>();
  for (const value of values) {
    const id = toText(idOf(value));
    const known = id === undefined ? undefined : byId.get(id);
    if (known) known.push(value);
    else if (id !== undefined) byId.set(id, [value]);
  }
  return byId;
};
