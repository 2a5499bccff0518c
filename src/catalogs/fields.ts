/** The fields of a catalog's models, a record for each: its column, how it is printed and sorted, and how it is compared. */
import type { CatalogModel } from "../contract/catalog.ts";
import { MistypedValue, mistypedNames, typedValue } from "../contract/replies.ts";
import { type Decimal, formatDecimal, parseDecimal, shiftDecimal, shiftDigits } from "../decimal.ts";
import { createdColumn, type FieldColumn, fieldColumn, printCount, printWords, utcDay, wireValue } from "./models.ts";

/** A value on one line: a text as it is, anything else as JSON. */
export const formatPlain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The prices that the interface names, in its order (2.5). */
export const priceNames = ["prompt", "completion", "image", "request", "input_cache_read"] as const;

/** The same, for lookups. */
export const namedPrices: ReadonlySet<string> = new Set(priceNames);

/** Assumed: these prices are US dollars per token on the wire, those of the interface and those that services add. */
export const tokenPrices: ReadonlySet<string> = new Set([
  ...["prompt", "completion", "input_cache_read", "input_cache_reads"],
  ...["input_cache_write", "input_cache_writes", "internal_reasoning"],
]);

/** The names of both. */
export const knownPriceNames: readonly string[] = [...new Set([...priceNames, ...tokenPrices])];

/** Powers of ten between a price on the wire and in a table: tokens are priced by the million. */
export const priceExponent = (name: string): 0 | 6 => (tokenPrices.has(name) ? 6 : 0);

type Pricing = CatalogModel["pricing"];

/** The names of the prices that are neither absent nor null. */
export const statedPrices = (pricing: Pricing): readonly string[] =>
  Object.entries(typedValue(pricing) ?? {}).flatMap(([name, price]) => (price === null ? [] : [name]));

/** The value of a price, whatever it is; undefined if there is none. */
export const priceAt = (pricing: Pricing, name: string): unknown => {
  const prices = typedValue(pricing);
  return prices !== undefined && Object.hasOwn(prices, name) ? prices[name] : undefined;
};

/** The amount that a value states, as a text or a number; undefined if it is not a decimal number. */
export const parseAmount = (value: unknown): Decimal | undefined =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

/** An amount that is not below zero. */
export const parsePrice = (value: unknown): Decimal | undefined => {
  const amount = parseAmount(value);
  return amount === undefined || amount.digits < 0n ? undefined : amount;
};

/**
 * A price in US dollars per token or per unit; undefined if it is absent or not a price, because unknown is not zero.
 * A JSON number for which a double may have lost digits is not a price either.
 */
export const readPrice = (pricing: Pricing, name: string): Decimal | undefined => {
  const value = wireValue(priceAt(pricing, name));
  return typeof value === "number" && value > Number.MAX_SAFE_INTEGER ? undefined : parsePrice(value);
};

/** A price of the wire with its unit, such as `0.3 $/M`. What is not a price stays as it is. */
export const formatPrice = (name: string, value: unknown): string => {
  const price = parsePrice(value);
  const places = priceExponent(name);
  return price === undefined
    ? formatPlain(value)
    : `${formatDecimal(shiftDigits(price, places))} ${places === 6 ? "$/M" : "$"}`;
};

/** Prints exact decimals. What is not a price, but could be taken for one of the column's unit, is marked. */
const printPrice = (value: unknown, spelled: () => string, places: number): string => {
  const plain = wireValue(value);
  const own = typeof plain === "string" ? plain : spelled();
  const price = typeof plain === "string" || typeof plain === "number" ? shiftDecimal(own.trim(), places) : undefined;
  if (price !== undefined && !price.startsWith("-")) return price;
  return /\d/.test(own) ? `${own} (as given)` : own;
};

/** A field of a catalog's models. */
interface CatalogField extends FieldColumn<CatalogModel> {
  /** The `change` of `catalog diff` if it has another value; undefined if it is not compared. */
  readonly change?: string | undefined;
}

/** Fields whose value is what is shown. */
type PlainFieldName =
  | ("id" | "name" | "quantization" | "deprecation_date" | "context_length" | "max_output_length")
  | ("input_modalities" | "output_modalities" | "supported_features" | "supported_sampling_parameters");

type FieldDisplay = Omit<Parameters<typeof fieldColumn<CatalogModel>>[1], "of"> & Pick<CatalogField, "change">;

const plainField = (name: PlainFieldName, { change, ...shown }: FieldDisplay): CatalogField => ({
  ...fieldColumn(name, { ...shown, of: (model: CatalogModel) => model[name] }),
  change,
});

const tokens = { align: "right", print: printCount } as const;
const words = { print: printWords };

/** The column of a price. */
export const priceField = (
  name: string,
  { rank, title = name }: { rank?: number; title?: string } = {},
): CatalogField => {
  const places = priceExponent(name);
  const unit = places === 6 ? "$/M" : rank === undefined ? "(as given)" : "$";
  return {
    ...fieldColumn(`pricing.${name}`, {
      heading: `${title}\n${unit}`,
      // Prices that the interface does not name come last, those with a unit first.
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
 * The day of a model's deprecation; null if none is set, undefined if the value is not a day.
 * Assumed: `YYYY-MM-DD`, or a time that begins with it.
 */
export const deprecationDay = ({ deprecation_date: date }: CatalogModel): string | null | undefined => {
  if (date === undefined || date === null || date === "") return null;
  const day = date instanceof MistypedValue ? undefined : /^\d{4}-\d\d-\d\d(?!\d)/.exec(date)?.[0];
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

/** The fields of a model that cannot be understood, as dotted names. */
export const findMistypedFields = (model: CatalogModel): readonly string[] => {
  const { pricing, datacenters, deprecation_date: date } = model;
  const isWrongPrice = (name: string) =>
    wireValue(priceAt(pricing, name)) !== undefined && readPrice(pricing, name) === undefined;
  const wrongCountry =
    typedValue(datacenters)?.some(({ country_code }) => country_code instanceof MistypedValue) === true;
  const wrongDate = deprecationDay(model) === undefined && !(date instanceof MistypedValue);
  return [
    ...mistypedNames(model),
    ...knownPriceNames.filter(isWrongPrice).map((name) => `pricing.${name}`),
    ...(wrongCountry ? ["datacenters.country_code"] : []),
    ...(wrongDate ? ["deprecation_date"] : []),
  ];
};
