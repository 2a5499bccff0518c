/** What is different between two catalogs: models that came or went, and facts that are others. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known, Mistyped } from "../contract/fields.ts";
import { compareDecimals } from "../decimal.ts";
import { amountOf, namedPrices, priceNames } from "./prices.ts";

/** What kind of change it is when a fact is another one, in the order in which they are told. */
const factKinds = [
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
type FactKind = (typeof factKinds)[number];

/** One difference. */
export interface Change {
  readonly id: string;
  readonly name: string | undefined;
  /** `added`: only the second catalog has it; `gone`: only the first one has. */
  readonly change: "added" | "gone" | FactKind;
  /** The fact's name on the wire; null for a whole model. */
  readonly field: string | null;
  /** The wire's own values; null where absent. */
  readonly from: unknown;
  readonly to: unknown;
}

/** How two catalogs compare. */
export interface Difference {
  readonly changes: readonly Change[];
  readonly models: {
    readonly from: number;
    readonly to: number;
    /** In both of them, with the same facts. */
    readonly same: number;
    /** Entries of either that have no id, and so nothing to be compared with. */
    readonly without_id: number;
  };
}

/** Compares models by their exact ids; the second of an id in one catalog with the second in the other. In the order of ids. */
export const diffCatalogs = (from: Iterable<CatalogModel>, to: Iterable<CatalogModel>): Difference => {
  const [before, after] = [sortedOut(from), sortedOut(to)];
  const changes: Change[] = [];
  let same = 0;
  for (const id of [...new Set([...before.byId.keys(), ...after.byId.keys()])].sort(byCodePoint)) {
    const [older, newer] = [before.byId.get(id) ?? [], after.byId.get(id) ?? []];
    for (let at = 0; at < Math.max(older.length, newer.length); at++) {
      const own = changesOf(id, older[at], newer[at]);
      if (own.length === 0) same++;
      changes.push(...own);
    }
  }
  const without_id = before.withoutId + after.withoutId;
  return { changes, models: { from: before.count, to: after.count, same, without_id } };
};

const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The models of a catalog by their ids. */
interface SortedOut {
  readonly byId: ReadonlyMap<string, readonly CatalogModel[]>;
  readonly count: number;
  readonly withoutId: number;
}

const sortedOut = (models: Iterable<CatalogModel>): SortedOut => {
  const byId = new Map<string, CatalogModel[]>();
  let [count, withoutId] = [0, 0];
  for (const model of models) {
    const id = known(model.id);
    count++;
    const before = id === undefined ? undefined : byId.get(id);
    if (before !== undefined) before.push(model);
    else if (id !== undefined) byId.set(id, [model]);
    else withoutId++;
  }
  return { byId, count, withoutId };
};

const changesOf = (id: string, older: CatalogModel | undefined, newer: CatalogModel | undefined): readonly Change[] => {
  const name = known((newer ?? older)?.name) ?? known(older?.name);
  if (older === undefined || newer === undefined) {
    return [{ id, name, change: older === undefined ? "added" : "gone", field: null, from: null, to: null }];
  }
  const before = new Map(factsOf(older).map((fact) => [fact.field, fact]));
  const after = new Map(factsOf(newer).map((fact) => [fact.field, fact]));
  const all = [...before.values(), ...Array.from(after.values()).filter(({ field }) => !before.has(field))];
  const inOrder = factKinds.flatMap((kind) => all.filter((one) => one.kind === kind));
  return inOrder.flatMap(({ kind: change, field }): readonly Change[] => {
    const [from, to] = [before.get(field)?.value ?? null, after.get(field)?.value ?? null];
    return sameFact(change, from, to) ? [] : [{ id, name, change, field, from, to }];
  });
};

/** One fact. */
interface Fact {
  readonly kind: FactKind;
  /** Name on the wire, such as `pricing.prompt`. */
  readonly field: string;
  /** As on the wire; null where it is absent. */
  readonly value: unknown;
}

/** The facts of a model in the interface's order; every price there is, those without a name in the interface too. */
const factsOf = (model: CatalogModel): readonly Fact[] => [
  fact("modalities", "input_modalities", model.input_modalities),
  fact("modalities", "output_modalities", model.output_modalities),
  fact("quantization", "quantization", model.quantization),
  fact("context", "context_length", model.context_length),
  // Assumed: 0 says "not stated".
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
const sameFact = (kind: FactKind, a: unknown, b: unknown): boolean => {
  const [one, other] = kind === "price" ? [amountOf(a), amountOf(b)] : [];
  if (one !== undefined && other !== undefined) return compareDecimals(one, other) === 0;
  return canonical(a) === canonical(b);
};

const canonical = (value: unknown): string =>
  Array.isArray(value) ? JSON.stringify(value.map((one) => JSON.stringify(one)).sort()) : JSON.stringify(value);
