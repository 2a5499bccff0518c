/** The fields of a catalog's models. A record for each field has its column and how it is compared. */
import type { CatalogModel } from "../contract/catalog.ts";
import { MistypedValue, mistypedNames, typedValue } from "../contract/replies.ts";
import { compareDecimals, type Decimal, formatDecimal, parseDecimal, shiftDecimal, shiftDigits } from "../decimal.ts";
import { createdColumn, type FieldColumn, fieldColumn, printCount, printWords, utcDay, wireValue } from "./models.ts";

/** Formats a value on one line: a text as it is, any other value as JSON. */
export const formatPlain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The prices of the interface (2.5) in its order. */
export const priceNames = ["prompt", "completion", "image", "request", "input_cache_read"] as const;

export const namedPrices: ReadonlySet<string> = new Set(priceNames);

/** Assumed: these prices are US dollars per token on the wire, also prices outside the interface. */
export const tokenPrices: ReadonlySet<string> = new Set([
  ...["prompt", "completion", "input_cache_read", "input_cache_reads"],
  ...["input_cache_write", "input_cache_writes", "internal_reasoning"],
]);

export const knownPriceNames: readonly string[] = [...new Set([...priceNames, ...tokenPrices])];

/** Powers of ten between a price on the wire and in a table, which has prices per million tokens. */
export const priceExponent = (name: string): 0 | 6 => (tokenPrices.has(name) ? 6 : 0);

type Pricing = CatalogModel["pricing"];

/** Returns the names of the prices that are neither absent nor null. */
export const statedPrices = (pricing: Pricing): readonly string[] =>
  Object.entries(typedValue(pricing) ?? {}).flatMap(([name, price]) => (price === null ? [] : [name]));

/** Returns the value of a price, of any type. */
export const priceAt = (pricing: Pricing, name: string): unknown => {
  const prices = typedValue(pricing);
  return prices !== undefined && Object.hasOwn(prices, name) ? prices[name] : undefined;
};

/** Parses an amount from a text or number. */
export const parseAmount = (value: unknown): Decimal | undefined =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

/** Parses an amount that is not negative. */
export const parsePrice = (value: unknown): Decimal | undefined => {
  const amount = parseAmount(value);
  return amount === undefined || amount.digits < 0n ? undefined : amount;
};

/**
 * Returns a price in US dollars per token or unit. An absent or invalid price is undefined, because unknown is not zero.
 * A JSON number that may have lost digits in a double is invalid.
 */
export const readPrice = (pricing: Pricing, name: string): Decimal | undefined => {
  const value = wireValue(priceAt(pricing, name));
  return typeof value === "number" && value > Number.MAX_SAFE_INTEGER ? undefined : parsePrice(value);
};

/** Formats a price of the wire with its unit, such as `0.3 $/M`. An invalid price stays as it is. */
export const formatPrice = (name: string, value: unknown): string => {
  const price = parsePrice(value);
  const places = priceExponent(name);
  return price === undefined
    ? formatPlain(value)
    : `${formatDecimal(shiftDigits(price, places))} ${places === 6 ? "$/M" : "$"}`;
};

/**
 * Formats a change in percent to a tenth, such as `-33.3`; empty if the first price is 0.
 * @param roundUp rounds away from 0, so that a rise above a limit never looks like the limit
 */
export const formatPercentChange = (from: Decimal, to: Decimal, roundUp = false): string => {
  const places = Math.max(from.places, to.places);
  const [was, is] = [shiftDigits(from, places).digits, shiftDigits(to, places).digits];
  if (was === 0n) return "";
  const change = is > was ? is - was : was - is;
  const tenths = roundUp ? (change * 1000n + was - 1n) / was : (change * 2000n + was) / (2n * was);
  return `${compareDecimals(to, from) < 0 ? "-" : "+"}${formatDecimal({ digits: tenths, places: 1 })}`;
};

/** Prints exact decimals. An invalid price with digits is marked, because it could be mistaken for a price. */
const printPrice = (value: unknown, spelled: () => string, places: number): string => {
  const wire = wireValue(value);
  const own = typeof wire === "string" ? wire : spelled();
  const price = typeof wire === "string" || typeof wire === "number" ? shiftDecimal(own.trim(), places) : undefined;
  if (price !== undefined && !price.startsWith("-")) return price;
  return /\d/.test(own) ? `${own} (as given)` : own;
};

interface CatalogField extends FieldColumn<CatalogModel> {
  /** The `change` of `catalog diff` for another value; undefined if the field is not compared. */
  readonly change?: string | undefined;
}

type PlainFieldName =
  | ("id" | "name" | "quantization" | "deprecation_date" | "context_length" | "max_output_length")
  | ("input_modalities" | "output_modalities" | "supported_features" | "supported_sampling_parameters");

type FieldDisplay = Omit<Parameters<typeof fieldColumn<CatalogModel>>[1], "of"> & Pick<CatalogField, "change">;

const plainField = (name: PlainFieldName, { change, ...display }: FieldDisplay): CatalogField => ({
  ...fieldColumn(name, { ...display, of: (model: CatalogModel) => model[name] }),
  change,
});

const tokens = { align: "right", print: printCount } as const;
const words = { print: printWords };

/** Creates the column of a price. */
export const priceField = (
  name: string,
  { rank, title = name }: { rank?: number; title?: string } = {},
): CatalogField => {
  const places = priceExponent(name);
  const unit = places === 6 ? "$/M" : rank === undefined ? "(as given)" : "$";
  return {
    ...fieldColumn(`pricing.${name}`, {
      heading: `${title}\n${unit}`,
      // Prices outside the interface come last. Of these, prices per token come first.
      rank: rank ?? (places === 6 ? 17 : 18),
      align: "decimal",
      of: ({ pricing }: CatalogModel) => priceAt(pricing, name),
      print: (value, spelled) => printPrice(value, spelled, places),
    }),
    change: "price",
  };
};

const datacenters: CatalogField = {
  ...fieldColumn("datacenters.country_code", {
    heading: "countries",
    rank: 9,
    of: ({ datacenters: all }: CatalogModel) => {
      if (all instanceof MistypedValue || all === undefined || all === null || all.length === 0) return all;
      return all
        .map(({ country_code }) => wireValue(country_code))
        .flatMap((code) => (code === undefined ? [] : [formatPlain(code)]));
    },
    print: printWords,
  }),
  change: "countries",
};

/** All fields that have a column. Their order is a promise (output.md). */
export const catalogFields: readonly CatalogField[] = [
  plainField("id", { rank: 0 }),
  plainField("name", { rank: 10 }),
  plainField("context_length", { ...tokens, heading: "context\ntokens", rank: 4, change: "context" }),
  plainField("max_output_length", { ...tokens, heading: "max output\ntokens", rank: 6, change: "output" }),
  priceField("prompt", { rank: 0 }),
  priceField("completion", { rank: 2 }),
  priceField("input_cache_read", { rank: 7, title: "cache read" }),
  priceField("image", { rank: 13 }),
  priceField("request", { rank: 14 }),
  plainField("quantization", { rank: 5, change: "quantization" }),
  plainField("input_modalities", { ...words, heading: "input", rank: 11, change: "modalities" }),
  plainField("output_modalities", { ...words, heading: "output", rank: 12, change: "modalities" }),
  plainField("supported_features", { ...words, heading: "features", rank: 8, change: "features" }),
  plainField("supported_sampling_parameters", { ...words, heading: "parameters", rank: 16, change: "parameters" }),
  datacenters,
  plainField("deprecation_date", { heading: "deprecation", rank: 3, change: "deprecation" }),
  createdColumn(15),
];

/**
 * Returns the day of a model's deprecation; null if none is set, undefined if the value is not a day.
 * Assumed: `YYYY-MM-DD`, or a time that begins with it.
 */
export const deprecationDay = ({ deprecation_date: date }: CatalogModel): string | null | undefined => {
  if (date === undefined || date === null || date === "") return null;
  const day = date instanceof MistypedValue ? undefined : /^\d{4}-\d\d-\d\d(?!\d)/.exec(date)?.[0];
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

/** Returns the dotted names of a model's fields that cannot be interpreted. */
export const findMistypedFields = (model: CatalogModel): readonly string[] => {
  const { pricing, datacenters, deprecation_date: date } = model;
  const isInvalid = (name: string) =>
    wireValue(priceAt(pricing, name)) !== undefined && readPrice(pricing, name) === undefined;
  const isCountryMistyped =
    typedValue(datacenters)?.some(({ country_code }) => country_code instanceof MistypedValue) === true;
  const isDateInvalid = deprecationDay(model) === undefined && !(date instanceof MistypedValue);
  return [
    ...mistypedNames(model),
    ...knownPriceNames.filter(isInvalid).map((name) => `pricing.${name}`),
    ...(isCountryMistyped ? ["datacenters.country_code"] : []),
    ...(isDateInvalid ? ["deprecation_date"] : []),
  ];
};
