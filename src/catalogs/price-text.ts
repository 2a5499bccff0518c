/** Prices as people read them: tokens by the million, everything else by the unit. */
import { Mistyped } from "../contract/fields.ts";
import { formatDecimal, shiftDecimal, shifted } from "../decimal.ts";
import { amountOf, placesFor } from "./prices.ts";

/** A price of the wire with its unit, such as `0.3 $/M`; what is no price stays as it is. */
export const priceText = (name: string, value: unknown): string => {
  const amount = amountOf(value);
  if (amount === undefined || amount.digits < 0n) return typeof value === "string" ? value : JSON.stringify(value);
  const places = placesFor(name);
  return `${formatDecimal(shifted(amount, places))} ${places === 6 ? "$/M" : "$"}`;
};

/**
 * The cell of a price in exact decimals, `places` powers of ten above the wire's. What is no price (a word, a negative
 * number) is shown as it came, and where it could be taken for one of the column's unit, it says so.
 */
export const priceCell = (
  value: string | Mistyped | null | undefined,
  spelled: () => string,
  places: number,
): string => {
  if (value === undefined || value === null) return "";
  const text = value instanceof Mistyped ? spelled() : value;
  const isPrice = typeof value === "string" || typeof value.value === "number";
  const price = isPrice ? shiftDecimal(text.trim(), places) : undefined;
  if (price !== undefined && !price.startsWith("-")) return price;
  return /\d/.test(text) ? `${text} (as given)` : text;
};
