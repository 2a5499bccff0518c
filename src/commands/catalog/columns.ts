/** The columns of a catalog (interface 2.5); their order is a promise (promises.md, "Output"). */
import type { CatalogModel, Datacenter, Pricing } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import type { Column, Mark } from "../../output/index.ts";
import {
  countCell,
  dayCell,
  type Field,
  perMillion,
  perUnit,
  priceCell,
  sortValue,
  statedValue,
  textCell,
  wordsCell,
} from "../lists/cells.ts";

type CatalogColumn = Column<CatalogModel>;

/** The room of catalogs, once its door was opened. */
type CatalogsRoom = typeof import("../../catalogs/index.ts");

/** The columns of every catalog. `mark` says what there is to look at in a deprecation date. */
export const catalogColumns = (mark?: (model: CatalogModel) => Mark | undefined): readonly CatalogColumn[] => [
  text("id", { heading: "id", rank: 0 }),
  text("name", { heading: "name", rank: 10 }),
  count("context_length", { heading: "context\ntokens", rank: 4 }),
  count("max_output_length", { heading: "max output\ntokens", rank: 6 }),
  price("prompt", { heading: "prompt\n$/M", rank: 0, unit: perMillion }),
  price("completion", { heading: "completion\n$/M", rank: 2, unit: perMillion }),
  price("input_cache_read", { heading: "cache read\n$/M", rank: 7, unit: perMillion }),
  price("image", { heading: "image\n$", rank: 13, unit: perUnit }),
  price("request", { heading: "request\n$", rank: 14, unit: perUnit }),
  text("quantization", { heading: "quantization", rank: 5 }),
  words("input_modalities", { heading: "input", rank: 11 }),
  words("output_modalities", { heading: "output", rank: 12 }),
  words("supported_features", { heading: "features", rank: 8 }),
  words("supported_sampling_parameters", { heading: "parameters", rank: 16 }),
  countries,
  { ...text("deprecation_date", { heading: "deprecation", rank: 3 }), ...(mark === undefined ? {} : { mark }) },
  {
    name: "created",
    heading: "created",
    rank: 15,
    cell: ({ created }, spelled) => dayCell(created, spelled),
    value: ({ created }) => statedValue(created),
  },
];

interface Shown {
  readonly heading: string;
  readonly rank: number;
}

const text = (name: "id" | "name" | "quantization" | "deprecation_date", shown: Shown): CatalogColumn => ({
  name,
  ...shown,
  cell: (model, spelled) => textCell(model[name], spelled),
  value: (model) => sortValue(model[name]),
});

const count = (name: "context_length" | "max_output_length", shown: Shown): CatalogColumn => ({
  name,
  ...shown,
  align: "right",
  cell: (model, spelled) => countCell(model[name], spelled),
  value: (model) => statedValue(model[name]),
});

type Words = "input_modalities" | "output_modalities" | "supported_features" | "supported_sampling_parameters";

const words = (name: Words, shown: Shown): CatalogColumn => ({
  name,
  ...shown,
  cell: (model, spelled) => wordsCell(model[name], spelled),
  value: (model) => sortValue(model[name]),
});

const price = (name: string, { unit, ...shown }: Shown & { readonly unit: typeof perMillion }): CatalogColumn => ({
  name: `pricing.${name}`,
  ...shown,
  align: "decimal",
  cell: ({ pricing }, spelled) => priceCell(priceIn(pricing, name), spelled, unit),
  value: ({ pricing }) => sortValue(priceIn(pricing, name)),
});

const priceIn = (pricing: Field<Pricing>, name: string): Field<string> => {
  const prices = known(pricing);
  const value = prices !== undefined && Object.hasOwn(prices, name) ? prices[name] : undefined;
  if (value === undefined || value === null || value instanceof Mistyped || typeof value === "string") return value;
  return new Mistyped(value);
};

const countries: CatalogColumn = {
  name: "datacenters.country_code",
  heading: "countries",
  rank: 9,
  cell: ({ datacenters }, spelled) =>
    datacenters instanceof Mistyped ? spelled() : countriesOf(datacenters).join(", "),
  value: ({ datacenters }) => (datacenters instanceof Mistyped ? datacenters.value : countriesOf(datacenters)),
};

const countriesOf = (datacenters: readonly Datacenter[] | null | undefined): readonly string[] =>
  (datacenters ?? []).flatMap(({ country_code }) => {
    const code = sortValue(country_code);
    return code === undefined ? [] : [typeof code === "string" ? code : JSON.stringify(code)];
  });

/** Days before its end that a model's deprecation is pointed out. */
const soonDays = 30;

/** Says of a deprecation date whether it has passed or is near. Anything but a date is not judged. */
export const deprecationMark = (
  { dayOf, deprecationOf }: CatalogsRoom,
  now: number,
): ((model: CatalogModel) => Mark | undefined) => {
  const [today, soon] = [dayOf(now), dayOf(now + soonDays * 86_400_000)];
  return (model) => {
    const day = deprecationOf(model) ?? undefined;
    if (day === undefined || day > soon) return undefined;
    if (day > today) return { text: "soon", elsewhere: "ends soon", tone: "warning" };
    return { text: day < today ? "past" : "today", elsewhere: "deprecated", tone: "bad" };
  };
};

/** Prices with names of their own that are shown at most: a catalog with more of them is no catalog. */
const mostOwnPrices = 8;

/** Gathers prices that the interface does not name, model by model. */
export interface OwnPrices {
  add(model: CatalogModel): void;
  /** Their columns, under their own names, behind all others. */
  columns(): readonly CatalogColumn[];
}

/** Opens the gathering. */
export const openOwnPrices = (room: CatalogsRoom): OwnPrices => {
  const own = new Set<string>();
  return {
    add({ pricing }) {
      for (const key in known(pricing) ?? {}) if (!namedPrices.has(key)) own.add(key);
    },
    columns: () => [...own].slice(0, mostOwnPrices).map((name) => ownPriceColumn(room, name)),
  };
};

/** The prices that the interface names: they have columns in every catalog. */
export const namedPrices: ReadonlySet<string> = new Set([
  "prompt",
  "completion",
  "image",
  "request",
  "input_cache_read",
]);

/** The column of a price that the interface does not name. */
export const ownPriceColumn = ({ placesFor }: CatalogsRoom, name: string): CatalogColumn =>
  placesFor(name) === perMillion.places
    ? price(name, { heading: `${name}\n$/M`, rank: 17, unit: perMillion })
    : price(name, { heading: `${name}\n(as given)`, rank: 18, unit: perUnit });

const priceName = /^-?pricing\.(.*)$/;

/** The prices among the names of `--sort`. */
export const pricesIn = (sort: readonly string[] = []): readonly string[] =>
  sort.flatMap((one) => priceName.exec(one)?.[1] ?? []);

/** The other names: they are right or wrong before a catalog is read, whose own prices are known only then. */
export const withoutPrices = (sort: readonly string[] = []): readonly string[] =>
  sort.filter((one) => !priceName.test(one));
