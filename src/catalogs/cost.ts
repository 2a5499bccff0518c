/** What a usage costs at a model's prices: itemised, in exact decimals, and what is not known said. */
import type { CatalogModel } from "../contract/catalog.ts";
import { addDecimals, compareDecimals, formatDecimal, multiplyDecimals, parseDecimal, zero } from "../decimal.ts";
import { priceIn } from "./prices.ts";
import type { Usage } from "./usage.ts";

/** One item of a cost. */
interface CostItem {
  /** Name of its price on the wire. */
  readonly price: string;
  readonly count: number;
  /** US dollars for one, exact; null where the model states none. */
  readonly unit_price: string | null;
  readonly cost: string | null;
}

/** A cost: amounts in US dollars, exact. */
export interface Cost {
  readonly items: readonly CostItem[];
  /** Null where a price of something used is not stated: unknown is never zero. */
  readonly total: string | null;
  /** The sum of what is known. */
  readonly at_least: string;
  /** Names of the prices that are not stated. */
  readonly not_stated: readonly string[];
}

/** How a usage is priced. */
export interface Pricing {
  readonly usage: Usage;
  /**
   * Whether images and requests were said, and not only counted by a record: a model that states no price of them then
   * has none that is known.
   */
  readonly unitsAsked: boolean;
}

/** What a usage costs at a model's prices. Only what was used is priced. */
export const costOf = ({ pricing }: CatalogModel, { usage, unitsAsked }: Pricing): Cost => {
  const items: CostItem[] = [];
  let [known, isWhole] = [zero, true];
  for (const { names, count, needed } of partsOf(usage, unitsAsked)) {
    const name = names.find((one) => priceIn(pricing, one) !== undefined) ?? names[0] ?? "";
    const price = priceIn(pricing, name);
    if (count === 0 || (price === undefined && !needed)) continue;
    const cost = price === undefined ? undefined : multiplyDecimals(price, { digits: BigInt(count), places: 0 });
    items.push({
      price: name,
      count,
      unit_price: price === undefined ? null : formatDecimal(price),
      cost: cost === undefined ? null : formatDecimal(cost),
    });
    if (cost === undefined) isWhole = false;
    else known = addDecimals(known, cost);
  }
  const at_least = formatDecimal(known);
  const not_stated = items.filter(({ cost }) => cost === null).map(({ price }) => price);
  return { items, total: isWhole ? at_least : null, at_least, not_stated };
};

/** Something that is paid for: the names its price may have, the interface's own first. */
interface Part {
  readonly names: readonly string[];
  readonly count: number;
  readonly needed: boolean;
}

const partsOf = (usage: Usage, unitsAsked: boolean): readonly Part[] => [
  { names: ["prompt"], count: usage.prompt_tokens - usage.cached_tokens, needed: true },
  { names: ["input_cache_read", "input_cache_reads"], count: usage.cached_tokens, needed: true },
  { names: ["completion"], count: usage.completion_tokens, needed: true },
  { names: ["image"], count: usage.images, needed: unitsAsked },
  { names: ["request"], count: usage.requests, needed: unitsAsked },
];

/** Below zero where the first costs less. A cost that is not known as a whole stands behind all that are. */
export const compareCosts = (a: Cost, b: Cost): number => {
  if ((a.total === null) !== (b.total === null)) return a.total === null ? 1 : -1;
  return compareDecimals(parseDecimal(a.at_least) ?? zero, parseDecimal(b.at_least) ?? zero);
};
