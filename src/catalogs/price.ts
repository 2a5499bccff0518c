/** Finds prices with their conditions, such as tiers and times. */

import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../text/decimal.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { impliedPrice, isKnownPrice, listStatedPrices, parseAmount, parsePrice } from "./fields.ts";

/** An override of OpenRouter's `pricing.overrides`. Later overrides win, and unstated prices are inherited. */
type Override = Readonly<{
  /** The override applies to a request with more prompt tokens. With exactly as many, it may apply. */
  moreThan: number | undefined;
  /** The names of other conditions, such as `utc_start`. */
  others: readonly string[];
  prices: JsonObject;
}>;

const tokenCondition = "min_prompt_tokens";

const readOverrides = (pricing: unknown): readonly Override[] => {
  const list = listStatedPrices(pricing).get("overrides");
  if (!Array.isArray(list)) return [];
  return list.map((item: unknown) => {
    const members: JsonObject = isObject(item) ? item : { [String(item)]: true };
    const tokens = parseAmount(members[tokenCondition]);
    const others = Object.entries(members).flatMap(([name, value]) =>
      isKnownPrice(name) || value === null || (tokens && name === tokenCondition) ? [] : name,
    );
    return { moreThan: tokens && Number(formatDecimal(tokens)), others, prices: members };
  });
};

const timeConditions: readonly string[] = ["utc_start", "utc_end"];

/** Returns members of overrides that are neither prices nor known conditions, if their override can apply. */
export const listUnknownConditions = (pricing: unknown, promptTokens: number) =>
  readOverrides(pricing).flatMap(({ moreThan = -1, others }) =>
    promptTokens < moreThan ? [] : others.filter((name) => !timeConditions.includes(name)),
  );

/** `reason` says why a stated price is unknown. */
export type PartPrice = Readonly<{ price?: Decimal; reason?: string }>;

/** `tokens` is undefined if the prompt tokens of each request are unknown. `most` is the sum of all requests. */
export type PromptSize = Readonly<{ tokens: number | undefined; most: number }>;

/** Returns the price of a part, such as `prompt`, for a request with this number of prompt tokens. */
export const findPrice = (pricing: unknown, part: string, { tokens, most }: PromptSize): PartPrice => {
  const base = parsePrice(listStatedPrices(pricing).get(part));
  const unknown = (why: string) => ({ reason: `the price of ${part} ${why}` });
  let found: PartPrice = base ? { price: base } : {};
  for (const { moreThan, others, prices } of readOverrides(pricing)) {
    if (!(part in prices) || (moreThan !== undefined && (tokens ?? most) < moreThan)) continue;
    const price = parsePrice(prices[part]);
    if (price && found.price && compareDecimals(price, found.price) === 0) continue;
    if (others.length > 0) found = unknown(`depends on ${others.join(" and ")}`);
    else if (moreThan !== undefined && tokens === moreThan)
      found = unknown(`changes at exactly ${moreThan} prompt tokens`);
    else if (tokens === undefined && moreThan !== undefined)
      found = unknown("depends on the prompt tokens of each request");
    else found = price ? { price } : {};
  }
  return found;
};

/** Compares the prices of each condition. Without a price of its own, a condition has the price without it. */
export const compareOverrides = (from: CatalogModel, to: CatalogModel) => {
  const [older, newer] = [from, to].map(({ pricing }) => indexOverrides(pricing));
  const keys = [...new Set([...(older?.keys() ?? []), ...(newer?.keys() ?? [])])];
  return keys.flatMap((key) => {
    const sides = [older?.get(key), newer?.get(key)];
    const names = new Set(sides.flatMap((side) => Object.keys(side?.prices ?? {})));
    const tokens = sides.map((side) => side?.moreThan).find((count) => count !== undefined) ?? -1;
    const size = { tokens: tokens + 1, most: tokens + 1 };
    return Array.from(names, (name) => {
      const [before, after] = [from, to].map(({ pricing }, at) => {
        const stated = sides[at]?.prices ?? {};
        if (name in stated) return stated[name];
        const { price } = findPrice(pricing, name, size);
        return price ? formatDecimal(price) : listStatedPrices(pricing).get(name);
      });
      const implied = { before: impliedPrice(from.pricing, name), after: impliedPrice(to.pricing, name) };
      return { path: ["pricing", `overrides[${key}]`, name], from: before, to: after, ...implied };
    });
  });
};

const indexOverrides = (pricing: unknown) =>
  new Map(
    readOverrides(pricing).map(({ moreThan, others, prices: members }) => {
      const isPrice = (name: string) =>
        isKnownPrice(name) || (others.includes(name) && isOtherPrice(name, members[name]));
      const entries = Object.entries(members).filter(([name]) => name !== tokenCondition);
      const conditions = entries.filter(([name, value]) => !isPrice(name) && value !== null);
      const labels = conditions.map(([name, value]) => `${name}=${JSON.stringify(value)}`).sort();
      const key = [...(moreThan === undefined ? [] : [`${tokenCondition}=${moreThan}`]), ...labels].join(",");
      return [key, { moreThan, prices: Object.fromEntries(entries.filter(([name]) => isPrice(name))) }] as const;
    }),
  );

const isOtherPrice = (name: string, value: unknown) =>
  parsePrice(value) !== undefined && !/^(?:min|max)_|^utc_|_(?:start|end)$/.test(name);
