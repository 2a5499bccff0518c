/** The facts of a model that are held against another time or another catalog, each a plain value of JSON. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known, Mistyped } from "../contract/fields.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../decimal.ts";
import { priceNames } from "./prices.ts";

/** What kind of change it is when a fact is another one, in the order in which they are told. */
export const factKinds = [
  "price",
  "context",
  "output",
  "quantization",
  "modalities",
  "features",
  "parameters",
  "countries",
  "deprecation",
] as const;

/** A kind of fact. */
export type FactKind = (typeof factKinds)[number];

/** One fact. */
export interface Fact {
  readonly kind: FactKind;
  /** Name on the wire, such as `pricing.prompt`. */
  readonly field: string;
  /** As on the wire; null where it is absent, or says "not stated". */
  readonly value: unknown;
}

/** The facts of a model in the interface's order; every price there is, those without a name in the interface too. */
export const factsOf = (model: CatalogModel): readonly Fact[] => [
  fact("modalities", "input_modalities", model.input_modalities),
  fact("modalities", "output_modalities", model.output_modalities),
  fact("quantization", "quantization", model.quantization),
  // Assumed: 0 says "not stated" in both.
  fact("context", "context_length", model.context_length || null),
  fact("output", "max_output_length", model.max_output_length || null),
  ...pricesOf(model),
  fact("parameters", "supported_sampling_parameters", model.supported_sampling_parameters),
  fact("features", "supported_features", model.supported_features),
  fact("countries", "datacenters.country_code", countriesOf(model)),
  fact("deprecation", "deprecation_date", model.deprecation_date === "" ? null : model.deprecation_date),
];

const fact = (kind: FactKind, field: string, value: unknown): Fact => ({ kind, field, value: plain(value) });

const pricesOf = ({ pricing }: CatalogModel): readonly Fact[] => {
  if (pricing instanceof Mistyped) return [fact("price", "pricing", pricing)];
  const prices = pricing ?? {};
  const names = [...priceNames, ...Object.keys(prices).filter((name) => !namedPrices.has(name))];
  return names.flatMap((name) => (Object.hasOwn(prices, name) ? [fact("price", `pricing.${name}`, prices[name])] : []));
};

const namedPrices: ReadonlySet<string> = new Set(priceNames);

/** The country of each data centre once, in their order; what came where that is no list of data centres. */
const countriesOf = ({ datacenters }: CatalogModel): unknown => {
  if (datacenters instanceof Mistyped) return datacenters;
  if (datacenters === undefined || datacenters === null || datacenters.length === 0) return null;
  return [...new Set(datacenters.map(({ country_code }) => plain(country_code)))];
};

/** A value as it came; what is nested deeper than can be written is said to be. */
const plain = (value: unknown): unknown => {
  const own = value instanceof Mistyped ? value.value : value;
  return own === undefined || jsonOf(own) !== undefined ? (own ?? null) : "(nested too deeply)";
};

const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
};

/** Whether two values of a fact say the same: prices by their amount, lists by what is in them. */
export const sameFact = (kind: FactKind, a: unknown, b: unknown): boolean => {
  const [one, other] = kind === "price" ? [amountOf(a), amountOf(b)] : [];
  if (one !== undefined && other !== undefined) return compareDecimals(one, other) === 0;
  return canonical(a) === canonical(b);
};

const canonical = (value: unknown): string =>
  Array.isArray(value) ? JSON.stringify(value.map((one) => JSON.stringify(one)).sort()) : JSON.stringify(value);

/** The amount that a price says, of whatever type it came in; undefined where it is no decimal number. */
export const amountOf = (value: unknown): Decimal | undefined =>
  typeof value === "string"
    ? parseDecimal(value.trim())
    : typeof value === "number"
      ? parseDecimal(String(value))
      : undefined;

/** The id and the name of a model; undefined where it has none that is a text. */
export const namesOf = ({
  id,
  name,
}: CatalogModel): { readonly id: string | undefined; readonly name: string | undefined } => ({
  id: known(id),
  name: known(name),
});
