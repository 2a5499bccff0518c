/** Computes exact costs. */

import * as decimals from "../text/decimal.ts";
import { formatList } from "../text/sentences.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import * as prices from "./prices.ts";

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
export interface Cost {
  readonly items: readonly CostItem[];
  /** Null if a price is unknown. */
  readonly total: string | null;
  readonly at_least: string;
  readonly not_stated: readonly string[];
  /** Why the total is unknown. */
  readonly reason: string | null;
}

type CostItem = Readonly<{ price: string; count: number; unit_price: string | null; cost: string | null }>;

type CostOptions = Readonly<{
  usage: Usage;
  needsUnitPrices: boolean;
  doubt?: string | undefined;
  /** Parts of the prompt that are not text, such as `image_url`. */
  media?: readonly string[];
}>;

/**
 * If `needsUnitPrices` is false, unknown prices of images and requests count as 0.
 * @param doubt the reason why the usage is not exact
 */
export const computeCost = (entry: CatalogModel, options: CostOptions): Cost => {
  const { usage, doubt } = options;
  const items: CostItem[] = [];
  let knownSum = decimals.zero;
  const read = prices.readPrices(entry);
  const { unknown } = read;
  const [term] = unknown.flatMap(({ text, changesAll }) => (changesAll ? text : []));
  const unclear = term && `its prices have the unknown term "${term}"`;
  // Conditions such as `min_prompt_tokens` apply to each request.
  const size = { tokens: usage.requests > 1 ? undefined : usage.prompt_tokens, most: usage.prompt_tokens };
  const reasons = new Set([
    ...(doubt === undefined ? [] : [doubt]),
    ...unknown.flatMap(({ text, changesAll }) => (changesAll ? [] : `its prices have the unknown price "${text}"`)),
    ...listUnknownConditions(read, size.most).map((name) => `its prices have the unknown condition ${name}`),
  ]);
  const unstated: string[] = [];
  for (const [name, count, isNeeded] of listParts(read, options)) {
    const found = prices.findPrice(read, name, size);
    const { price: unitPrice, reason } = unclear === undefined ? found : { price: undefined, reason: unclear };
    if (count === 0 || (!found.price && !found.reason && !isNeeded && isUnstated(read.stated.get(name)))) continue;
    if (reason !== undefined) reasons.add(reason);
    else if (!unitPrice) unstated.push(name);
    const cost = unitPrice && decimals.multiplyDecimals(unitPrice, { digits: BigInt(count), places: 0 });
    if (cost) knownSum = decimals.addDecimals(knownSum, cost);
    const format = (amount?: decimals.Decimal) => (amount ? decimals.formatDecimal(amount) : null);
    items.push({ price: name, count, unit_price: format(unitPrice), cost: format(cost) });
  }
  for (const reason of listUnclearParts(read, options, size)) reasons.add(reason);
  const not_stated = items.flatMap(({ cost, price }) => (cost === null ? [price] : []));
  const at_least = decimals.formatDecimal(knownSum);
  if (unstated.length > 0) reasons.add(`the price of ${formatList(unstated)} is not stated`);
  const reason = reasons.size === 0 ? null : [...reasons].join("; ");
  return { items, total: reason === null ? at_least : null, at_least, not_stated, reason };
};

const listParts = (read: prices.Prices, { usage, needsUnitPrices }: CostOptions) =>
  [
    ["prompt", usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens, true],
    [prices.findPriceName(read, "input_cache_read"), usage.cached_tokens, true],
    [prices.findPriceName(read, "input_cache_write"), usage.cache_write_tokens, true],
    ["completion", usage.completion_tokens, true],
    ["image", usage.images, needsUnitPrices],
    ["request", usage.requests, needsUnitPrices],
  ] as const;

/** Lists the prices that apply to an unknown part of the usage. */
const listUnclearParts = (read: prices.Prices, { usage, media = [] }: CostOptions, size: prices.PromptSize) => {
  const isPriced = (name: string) => !isUnstated(read.stated.get(name));
  const reasoningName = "internal_reasoning";
  const [reasoning, completion] = [reasoningName, "completion"].map((name) => prices.findPrice(read, name, size));
  const isUnclear = usage.completion_tokens > 0 && differs(reasoning, completion, read.stated.get(reasoningName));
  const mediaPrice = media.length === 0 ? undefined : prices.mediaPriceNames.find(isPriced);
  const request = prices.findPrice(read, "request", size);
  const hasRequests = usage.requests === 0 && (request.reason ?? request.price?.digits ?? 0n) !== 0n;
  const otherImages = usage.images === 0 ? [] : prices.imagePriceNames.filter(isPriced);
  return [
    ...(isUnclear ? [`its price of ${reasoningName} applies to an unknown part of the completion tokens`] : []),
    ...(mediaPrice ? [`its price of ${mediaPrice} can apply to parts of the prompt (${formatList(media)})`] : []),
    ...(hasRequests ? ["its price of request applies to an unknown number of requests"] : []),
    ...otherImages.map((name) => `its price of ${name} can apply to images`),
  ];
};

const isUnstated = (value: unknown) => value === undefined || value === "" || prices.parsePrice(value)?.digits === 0n;

/** A price of 0 is no price of its own. */
const differs = (own: prices.PartPrice | undefined, other: prices.PartPrice | undefined, stated: unknown) => {
  if (own?.reason !== undefined || (!own?.price && !isUnstated(stated))) return true;
  if (!own?.price || own.price.digits === 0n) return false;
  return !other?.price || decimals.compareDecimals(own.price, other.price) !== 0;
};

/** Sorts unknown totals last. */
export const compareCosts = (a: Pick<Cost, "total" | "at_least">, b: typeof a) => {
  const [left = decimals.zero, right = decimals.zero] = [a, b].map(({ at_least }) => decimals.parseDecimal(at_least));
  return Number(a.total === null) - Number(b.total === null) || decimals.compareDecimals(left, right);
};

const timeConditions: readonly string[] = ["utc_start", "utc_end"];

/** Returns members of overrides that can apply, if they are neither prices nor known conditions. */
const listUnknownConditions = ({ overrides }: prices.Prices, promptTokens: number) =>
  overrides.flatMap(({ moreThan = -1, others }) =>
    promptTokens < moreThan ? [] : others.filter((name) => !timeConditions.includes(name)),
  );
