/** Finds prices with their conditions, such as tiers and times. */
import { compareDecimals, type Decimal, formatDecimal } from "../decimal.ts";
import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { listStatedPrices, parseAmount, parsePrice } from "./fields.ts";

/** An override of OpenRouter's `pricing.overrides`. Later overrides win, and unstated prices are inherited. */
type Override = Readonly<{
  index: number;
  /** The override applies to a request with more prompt tokens. */
  moreThan: number | undefined;
  /** The names of other conditions, such as `utc_start`. */
  others: readonly string[];
  prices: JsonObject;
}>;

const tokenCondition = "min_prompt_tokens";

const overridePrices =
  /^(?:prompt|completion|image|request|web_search|internal_reasoning|(?:image|audio)_?\w*|input_(?:audio_)?cache\w*)$/;

export const readOverrides = (pricing: unknown): readonly Override[] => {
  const prices = listStatedPrices(pricing);
  const list = prices.get("overrides");
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown, index) => {
    const members: JsonObject = isObject(item) ? item : { [String(item)]: null };
    const tokens = parseAmount(members[tokenCondition]);
    const isPrice = (name: string) => overridePrices.test(name) || prices.has(name);
    const others = Object.keys(members).filter((name) => !isPrice(name) && !(tokens && name === tokenCondition));
    return { index, moreThan: tokens && Number(formatDecimal(tokens)), others, prices: members };
  });
};

/** Matches a price with a condition that rollcall does not know, such as `prompt_above_200k`. */
const isVariant = (name: string) =>
  /^(?:prompt|completion|input_cache_\w+?)_.*(?:above|over|tier|long|from|beyond|under|below|\d)/.test(name);

/** Returns the members with conditions that rollcall does not know, such as `tiers`. */
export const listUnknownConditions = (pricing: unknown) =>
  [...listStatedPrices(pricing)].filter(([name, value]) => {
    const isList = typeof value === "object" && JSON.stringify(value).includes("{");
    return (
      (isList && !(name === "overrides" && Array.isArray(value))) ||
      (isVariant(name) && name !== "input_cache_write_1h")
    );
  });

/** `reason` says why a stated price is unknown. */
export type PartPrice = Readonly<{ price?: Decimal; reason?: string }>;

/** `tokens` is undefined if the prompt tokens of each request are unknown. `most` is the sum of all requests. */
type PromptSize = Readonly<{ tokens: number | undefined; most: number }>;

/** Returns the price of a part, such as `prompt`, for a request with this number of prompt tokens. */
export const findPrice = (pricing: unknown, part: string, { tokens, most }: PromptSize): PartPrice => {
  const base = parsePrice(listStatedPrices(pricing).get(part));
  const unknown = (why: string) => ({ reason: `the price of ${part} ${why}` });
  let found: PartPrice = base ? { price: base } : {};
  for (const { moreThan, others, prices } of readOverrides(pricing)) {
    if (!(part in prices) || (moreThan !== undefined && (tokens ?? most) <= moreThan)) continue;
    const price = parsePrice(prices[part]);
    if (price && found.price && compareDecimals(price, found.price) === 0) continue;
    if (others.length > 0) found = unknown(`depends on ${others.join(" and ")}`);
    else if (tokens === undefined && moreThan !== undefined)
      found = unknown("depends on the prompt tokens of each request");
    else found = price ? { price } : {};
  }
  return found;
};
