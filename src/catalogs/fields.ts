/** Reads numbers, prices and dates of catalog entries (interface 2.5). */

import { type Decimal, parseDecimal, shiftDecimal } from "../text/decimal.ts";
import { formatUnixDay, utcDay } from "../text/units.ts";

/** Returns a decimal of at least 0. */
export const parseAmount = (value: unknown) => {
  const canBeNumber = typeof value === "string" || typeof value === "number";
  const amount = canBeNumber ? parseDecimal(String(value).trim()) : undefined;
  return amount && amount.digits >= 0n ? amount : undefined;
};

export const priceNames: readonly string[] = ["prompt", "completion", "image", "request", "input_cache_read"];

const isPerToken = (name: string) => name !== "image" && name !== "request";

/** Assumed: prices are in US dollars. */
export const priceUnit = (name: string) => (isPerToken(name) ? "$/M" : "$");

/** Returns US dollars per million tokens, image or request. */
export const toShownPrice = (name: string, price: Decimal) => shiftDecimal(price, isPerToken(name) ? 6 : 0);

/** Undefined if unreadable. Assumed: dates start with `YYYY-MM-DD`, or are Unix seconds. */
export const readDay = (date: string | number = "") => {
  if (typeof date === "number") return formatUnixDay(date);
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(date)?.[0];
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};
