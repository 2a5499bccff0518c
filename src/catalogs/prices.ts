/** Prices of a model (interface 2.5): exact decimals, and the unit that each is in. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known, Mistyped } from "../contract/fields.ts";
import { type Decimal, parseDecimal } from "../decimal.ts";

/** The prices that the interface names, in its order. */
export const priceNames = ["prompt", "completion", "image", "request", "input_cache_read"] as const;

/** The same, to look a name up. */
export const namedPrices: ReadonlySet<string> = new Set(priceNames);

/** Assumed: these prices are US dollars per token on the wire, those of the interface and those that others add. */
export const pricesOfToken: ReadonlySet<string> = new Set([
  "prompt",
  "completion",
  "input_cache_read",
  "input_cache_reads",
  "input_cache_write",
  "input_cache_writes",
  "internal_reasoning",
]);

/** Powers of ten between a price on the wire and the one a person reads: tokens are priced by the million. */
export const placesFor = (name: string): 0 | 6 => (pricesOfToken.has(name) ? 6 : 0);

/** The prices that are there, and not null. */
export const statedPrices = (pricing: CatalogModel["pricing"]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(known(pricing) ?? {}).filter(([, price]) => price !== null && price !== undefined));

/** What stands for a price, whatever that is; undefined where nothing does. */
export const priceAt = (pricing: CatalogModel["pricing"], name: string): unknown => {
  const prices = known(pricing);
  return prices !== undefined && Object.hasOwn(prices, name) ? prices[name] : undefined;
};

/**
 * A price as on the wire, in US dollars per token or per unit; undefined where it is absent, or anything but a decimal
 * number that is not below zero: unknown is never zero. A JSON number counts as it is spelled by its double, and not at all where that has lost digits of it.
 */
export const priceIn = (pricing: CatalogModel["pricing"], name: string): Decimal | undefined => {
  const found = priceAt(pricing, name);
  const value = found instanceof Mistyped ? found.value : found;
  const text =
    typeof value === "string"
      ? value.trim()
      : typeof value === "number" && value <= Number.MAX_SAFE_INTEGER
        ? String(value)
        : "";
  const price = parseDecimal(text);
  return price === undefined || price.digits < 0n ? undefined : price;
};

/** The amount that a price says, of whatever type it came in; undefined where it is no decimal number. */
export const amountOf = (value: unknown): Decimal | undefined =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;
