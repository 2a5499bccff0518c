/** What a usage costs at a model's prices: itemized, in exact decimals. Usage comes from options or from a call. */
import type { CatalogModel } from "../contract/catalog.ts";
import { addDecimals, compareDecimals, formatDecimal, multiplyDecimals, parseDecimal, zero } from "../decimal.ts";
import { getMember, getValue, isObject } from "../json/walk.ts";
import { readPrice } from "./fields.ts";

/** Numbers of what is paid for. Cached tokens are among the prompt's. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly images: number;
  readonly requests: number;
}

export const noUsage: Usage = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, images: 0, requests: 0 };

/**
 * Returns the usage of a call, parsed: its summary's, over all models (with the calls below it), else its output's.
 * Undefined if neither records one.
 */
export const readCallUsage = (call: unknown): Usage | undefined => {
  const own = parseUsage(getValue(call, ["output", "usage"]));
  const byModel = getValue(call, ["summary", "usage"]);
  const [first, ...others] = isObject(byModel) ? Object.values(byModel).flatMap((one) => parseUsage(one) ?? []) : [];
  if (first === undefined) return own;
  const sum = others.reduce(addUsage, first);
  // A summary has no cached tokens. If the output counts the same, it has them.
  const isSame = own?.prompt_tokens === sum.prompt_tokens && own.completion_tokens === sum.completion_tokens;
  return isSame ? own : sum;
};

const addUsage = (a: Usage, b: Usage): Usage => ({
  prompt_tokens: a.prompt_tokens + b.prompt_tokens,
  cached_tokens: a.cached_tokens + b.cached_tokens,
  completion_tokens: a.completion_tokens + b.completion_tokens,
  images: a.images + b.images,
  requests: a.requests + b.requests,
});

/** Reads the counts of OpenAI's and of Anthropic's interfaces; undefined without both the tokens in and the tokens out. */
const parseUsage = (value: unknown): Usage | undefined => {
  const count = (name: string, within = value): number | undefined => {
    const found = getMember(within, name);
    return typeof found === "number" && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
  };
  const details = getMember(value, "prompt_tokens_details") ?? getMember(value, "input_tokens_details");
  const [read, written] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  // Assumed: `input_tokens` leaves out what the cache counts of the same interface have. `prompt_tokens` never does.
  const input = count("input_tokens");
  const prompt = count("prompt_tokens") ?? (input === undefined ? undefined : input + (read ?? 0) + (written ?? 0));
  const rest = count("total_tokens") === prompt ? 0 : undefined;
  const completion = count("completion_tokens") ?? count("output_tokens") ?? rest;
  if (prompt === undefined || completion === undefined) return undefined;
  return {
    prompt_tokens: prompt,
    cached_tokens: Math.min(count("cached_tokens", details) ?? count("cached_tokens") ?? read ?? 0, prompt),
    completion_tokens: completion,
    images: 0,
    requests: count("requests") ?? 1,
  };
};

/** One item of a cost. */
interface CostItem {
  /** Name of its price on the wire. */
  readonly price: string;
  readonly count: number;
  /** US dollars for one, exact; null if the model states none. */
  readonly unit_price: string | null;
  readonly cost: string | null;
}

/** A cost: amounts in US dollars, exact. */
export interface Cost {
  readonly items: readonly CostItem[];
  /** Null if a price of something used is not stated, because unknown is not zero. */
  readonly total: string | null;
  /** The sum of the known costs. */
  readonly at_least: string;
  /** Names of the prices that are not stated. */
  readonly not_stated: readonly string[];
}

/**
 * Prices what was used. `areUnitsGiven` is true if images and requests were typed, not only counted by a record: the cost at
 * a model that states no price of them is then not known.
 */
export const computeCost = (
  { pricing }: CatalogModel,
  { usage, unitsAsked: areUnitsGiven }: { readonly usage: Usage; readonly unitsAsked: boolean },
): Cost => {
  const items: CostItem[] = [];
  let known = zero;
  for (const [names, count, isNeeded] of [
    [["prompt"], usage.prompt_tokens - usage.cached_tokens, true],
    [["input_cache_read", "input_cache_reads"], usage.cached_tokens, true],
    [["completion"], usage.completion_tokens, true],
    [["image"], usage.images, areUnitsGiven],
    [["request"], usage.requests, areUnitsGiven],
  ] as const) {
    const name = names.find((one) => readPrice(pricing, one) !== undefined) ?? names[0];
    const unit = readPrice(pricing, name);
    if (count === 0 || (unit === undefined && !isNeeded)) continue;
    const cost = unit && multiplyDecimals(unit, { digits: BigInt(count), places: 0 });
    known = addDecimals(known, cost ?? zero);
    items.push({
      price: name,
      count,
      unit_price: unit ? formatDecimal(unit) : null,
      cost: cost ? formatDecimal(cost) : null,
    });
  }
  const not_stated = items.flatMap(({ cost, price }) => (cost === null ? [price] : []));
  const at_least = formatDecimal(known);
  return { items, total: not_stated.length === 0 ? at_least : null, at_least, not_stated };
};

/** Below zero if the first costs less. A cost that is not known comes after all that are. */
export const compareCosts = (a: Cost, b: Cost): number => {
  if ((a.total === null) !== (b.total === null)) return a.total === null ? 1 : -1;
  return compareDecimals(parseDecimal(a.at_least) ?? zero, parseDecimal(b.at_least) ?? zero);
};
