/** Computes the exact cost of tokens, images and requests. */
import type { CatalogModel } from "../contract/models.ts";
import * as decimals from "../decimal.ts";
import { readPrice } from "./fields.ts";

/** `prompt_tokens` includes tokens that are read from or written to a cache. */
export const noUsage = {
  prompt_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  completion_tokens: 0,
  images: 0,
  requests: 0,
};
export type Usage = Readonly<typeof noUsage>;

/** Amounts are in US dollars. */
export type Cost = ReturnType<typeof computeCost>;

/** If `needsUnitPrices` is false, unknown prices of images and requests count as 0. */
export const computeCost = (
  { pricing }: CatalogModel,
  { usage, needsUnitPrices }: { readonly usage: Usage; readonly needsUnitPrices: boolean },
) => {
  const items: { price: string; count: number; unit_price: string | null; cost: string | null }[] = [];
  let knownSum = decimals.zero;
  // Some services name these prices `input_cache_reads` and `input_cache_writes`.
  const findName = (name: string) => (readPrice(pricing, name) || !readPrice(pricing, `${name}s`) ? name : `${name}s`);
  for (const [name, count, isNeeded] of [
    ["prompt", usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens, true],
    [findName("input_cache_read"), usage.cached_tokens, true],
    [findName("input_cache_write"), usage.cache_write_tokens, true],
    ["completion", usage.completion_tokens, true],
    ["image", usage.images, needsUnitPrices],
    ["request", usage.requests, needsUnitPrices],
  ] as const) {
    const unitPrice = readPrice(pricing, name);
    if (count === 0 || (!unitPrice && !isNeeded)) continue;
    const cost = unitPrice && decimals.multiplyDecimals(unitPrice, { digits: BigInt(count), places: 0 });
    if (cost) knownSum = decimals.addDecimals(knownSum, cost);
    const format = (amount?: decimals.Decimal) => (amount ? decimals.formatDecimal(amount) : null);
    items.push({ price: name, count, unit_price: format(unitPrice), cost: format(cost) });
  }
  const not_stated = items.flatMap(({ cost, price }) => (cost === null ? [price] : []));
  const at_least = decimals.formatDecimal(knownSum);
  return { items, total: not_stated.length === 0 ? at_least : null, at_least, not_stated };
};

/** Sorts unknown totals last. */
export const compareCosts = (a: Pick<Cost, "total" | "at_least">, b: typeof a) => {
  const [left = decimals.zero, right = decimals.zero] = [a, b].map(({ at_least }) => decimals.parseDecimal(at_least));
  return Number(a.total === null) - Number(b.total === null) || decimals.compareDecimals(left, right);
};
