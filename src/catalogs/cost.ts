/** Computes the exact cost of tokens, images and requests. */
import type { CatalogModel } from "../contract/models.ts";
import * as decimals from "../decimal.ts";
import { getValue, isObject } from "../json/json-bytes.ts";
import { readPrice } from "./fields.ts";

/** `prompt_tokens` includes cached tokens. */
export const noUsage = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, images: 0, requests: 0 };
export type Usage = Readonly<typeof noUsage>;

/** Prefers `summary` to `output`, because `summary` includes child calls. */
export const readCallUsage = (call: unknown): Usage | undefined => {
  const inOutput = parseUsage(getValue(call, ["output", "usage"]));
  const byModel = getValue(call, ["summary", "usage"]);
  const usages = isObject(byModel) ? Object.values(byModel).flatMap((value) => parseUsage(value) ?? []) : [];
  if (usages.length === 0) return inOutput;
  const sum = (unit: keyof Usage) => usages.reduce((all, usage) => all + usage[unit], 0);
  const [prompt_tokens, completion_tokens] = [sum("prompt_tokens"), sum("completion_tokens")];
  // `summary` usually lacks cached tokens.
  if (inOutput?.prompt_tokens === prompt_tokens && inOutput.completion_tokens === completion_tokens) return inOutput;
  return {
    ...noUsage,
    prompt_tokens,
    cached_tokens: sum("cached_tokens"),
    completion_tokens,
    requests: sum("requests"),
  };
};

/** Parses the format of OpenAI or Anthropic. */
const parseUsage = (value: unknown): Usage | undefined => {
  const count = (name: string, within = value) => {
    const number = getValue(within, [name]);
    return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  };
  const details = getValue(value, ["prompt_tokens_details"]) ?? getValue(value, ["input_tokens_details"]);
  const [read, written] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  // Anthropic's `input_tokens` excludes cached tokens.
  const input = count("input_tokens");
  const prompt = count("prompt_tokens") ?? (input === undefined ? undefined : input + (read ?? 0) + (written ?? 0));
  // Embeddings have no output tokens.
  const noCompletion = count("total_tokens") === prompt ? 0 : undefined;
  const completion = count("completion_tokens") ?? count("output_tokens") ?? noCompletion;
  if (prompt === undefined || completion === undefined) return undefined;
  const cached_tokens = Math.min(count("cached_tokens", details) ?? count("cached_tokens") ?? read ?? 0, prompt);
  const requests = count("requests") ?? 1;
  return { ...noUsage, prompt_tokens: prompt, cached_tokens, completion_tokens: completion, requests };
};

/** Amounts are in US dollars. */
export type Cost = ReturnType<typeof computeCost>;

/** If `needsUnitPrices` is false, unknown prices of images and requests count as 0. */
export const computeCost = (
  { pricing }: CatalogModel,
  { usage, needsUnitPrices }: { readonly usage: Usage; readonly needsUnitPrices: boolean },
) => {
  const items: { price: string; count: number; unit_price: string | null; cost: string | null }[] = [];
  let knownSum = decimals.zero;
  // Some services name this price `input_cache_reads`.
  const cacheReadNames = ["input_cache_read", "input_cache_reads"];
  const cacheRead = cacheReadNames.find((name) => readPrice(pricing, name) !== undefined) ?? "input_cache_read";
  for (const [name, count, isNeeded] of [
    ["prompt", usage.prompt_tokens - usage.cached_tokens, true],
    [cacheRead, usage.cached_tokens, true],
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
