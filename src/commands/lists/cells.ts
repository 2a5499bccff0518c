/** Cells of fields that a service may leave out, set to null, or send in another type than the interface has. */
import { Mistyped } from "../../contract/fields.ts";
import { shiftDecimal } from "../../decimal.ts";

/** A field of a reply. */
export type Field<Value> = Value | Mistyped | null | undefined;

/** The text of a value as it stood on the wire. */
export type Spelled = () => string;

/** What a field is sorted by: its value, of whatever type it came in; undefined where there is none. */
export const sortValue = (value: Field<unknown>): unknown => {
  const own = value instanceof Mistyped ? value.value : value;
  return own === null ? undefined : own;
};

/** The same of a field whose 0 says "not stated". */
export const statedValue = (value: Field<unknown>): unknown => (value === 0 ? undefined : sortValue(value));

/** Text as it is. */
export const textCell = (value: Field<string>, spelled: Spelled): string =>
  isNothing(value) ? "" : typeof value === "string" ? value : spelled();

/** A whole number, digit for digit; nothing for 0, which says "not stated". */
export const countCell = (value: Field<number>, spelled: Spelled): string => {
  if (isNothing(value) || value === 0) return "";
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : spelled();
};

/** Words joined with `, `. */
export const wordsCell = (value: Field<readonly string[]>, spelled: Spelled): string =>
  isNothing(value) ? "" : value instanceof Mistyped ? spelled() : value.join(", ");

/** The last second of the year 9999: what is later counts no seconds. */
const latest = 253_402_300_799;

/** The day, in UTC, of seconds since 1970; nothing for 0, which says "not known". */
export const dayCell = (value: Field<number>, spelled: Spelled): string => {
  if (isNothing(value) || value === 0) return "";
  const isDay = typeof value === "number" && value > 0 && value <= latest;
  return isDay ? new Date(value * 1000).toISOString().slice(0, 10) : spelled();
};

/** Powers of ten between a price on the wire and the one a person reads. */
type Unit = { readonly places: number };

/** Dollars per token on the wire, per million tokens for a person. */
export const perMillion: Unit = { places: 6 };

/** Dollars per image or request, as on the wire. */
export const perUnit: Unit = { places: 0 };

/**
 * A price in exact decimals. What is no price (a word, a negative number) is shown as it came, and where it could be
 * taken for one of this column's unit, it says so.
 */
export const priceCell = (value: Field<string>, spelled: Spelled, { places }: Unit): string => {
  if (isNothing(value)) return "";
  const text = typeof value === "string" ? value : spelled();
  const isPrice = typeof value === "string" || typeof value.value === "number";
  const price = isPrice ? shiftDecimal(text.trim(), places) : undefined;
  if (price !== undefined && !price.startsWith("-")) return price;
  return /\d/.test(text) ? `${text} (as given)` : text;
};

const isNothing = (value: unknown): value is null | undefined => value === undefined || value === null;
