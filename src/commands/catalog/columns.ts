/** The columns of what `rollcall catalog` lists (interface 2.5); their order is a promise (promises.md, "Output"). */

import {
  dayOf,
  deprecationOf,
  type JoinedRow,
  namedPrices,
  placesFor,
  priceAt,
  priceCell,
  pricesOfToken,
} from "../../catalogs/index.ts";
import type { CatalogModel, Datacenter } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import { type Column, type Mark, textColumn } from "../../output/index.ts";
import { countCell, dayCell, fieldColumn, sortValue, statedValue, textCell, wordsCell } from "../lists/cells.ts";
import { modelColumns } from "../models/columns.ts";

type CatalogColumn = Column<CatalogModel>;

/** The columns of every catalog. `mark` marks a day of deprecation. */
export const catalogColumns = (mark?: ReturnType<typeof deprecationMark>): readonly CatalogColumn[] => [
  fieldColumn("id", { rank: 0, of: ({ id }) => id, cell: textCell }),
  fieldColumn("name", { rank: 10, of: ({ name }) => name, cell: textCell }),
  tokens("context_length", { heading: "context\ntokens", rank: 4 }),
  tokens("max_output_length", { heading: "max output\ntokens", rank: 6 }),
  price("prompt", { heading: "prompt\n$/M", rank: 0 }),
  price("completion", { heading: "completion\n$/M", rank: 2 }),
  price("input_cache_read", { heading: "cache read\n$/M", rank: 7 }),
  price("image", { heading: "image\n$", rank: 13 }),
  price("request", { heading: "request\n$", rank: 14 }),
  fieldColumn("quantization", { rank: 5, of: ({ quantization }) => quantization, cell: textCell }),
  words("input_modalities", { heading: "input", rank: 11 }),
  words("output_modalities", { heading: "output", rank: 12 }),
  words("supported_features", { heading: "features", rank: 8 }),
  words("supported_sampling_parameters", { heading: "parameters", rank: 16 }),
  {
    name: "datacenters.country_code",
    heading: "countries",
    rank: 9,
    cell: ({ datacenters }, spelled) =>
      datacenters instanceof Mistyped ? spelled() : countriesOf(datacenters).join(", "),
    value: ({ datacenters }) => (datacenters instanceof Mistyped ? datacenters.value : countriesOf(datacenters)),
  },
  {
    ...fieldColumn<CatalogModel, string>("deprecation_date", {
      heading: "deprecation",
      rank: 3,
      of: ({ deprecation_date }) => deprecation_date,
      cell: textCell,
    }),
    ...(mark === undefined ? {} : { mark: (model: CatalogModel) => mark(deprecationOf(model)) }),
  },
  fieldColumn("created", { rank: 15, of: ({ created }) => created, cell: dayCell, value: statedValue }),
];

interface Shown {
  readonly heading: string;
  readonly rank: number;
}

const tokens = (name: "context_length" | "max_output_length", shown: Shown): CatalogColumn =>
  fieldColumn(name, { ...shown, align: "right", of: (model) => model[name], cell: countCell });

const words = (
  name: "input_modalities" | "output_modalities" | "supported_features" | "supported_sampling_parameters",
  shown: Shown,
): CatalogColumn => fieldColumn(name, { ...shown, of: (model) => model[name], cell: wordsCell });

const price = (name: string, shown: Shown): CatalogColumn =>
  fieldColumn<CatalogModel, string>(`pricing.${name}`, {
    ...shown,
    align: "decimal",
    of: ({ pricing }) => {
      const value = priceAt(pricing, name);
      const isField = value === undefined || value === null || value instanceof Mistyped || typeof value === "string";
      return isField ? value : new Mistyped(value);
    },
    cell: (value, spelled) => priceCell(value, spelled, placesFor(name)),
  });

const countriesOf = (datacenters: readonly Datacenter[] | null | undefined): readonly string[] =>
  (datacenters ?? []).flatMap(({ country_code }) => {
    const code = sortValue(country_code);
    return code === undefined ? [] : [plainText(code)];
  });

export const plainText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Days before its end that a model's deprecation is pointed out. */
const soonDays = 30;

/** Marks a deprecation that has come or is near. Anything but a date is not judged. */
export const deprecationMark = (now: number): ((day: string | null | undefined) => Mark | undefined) => {
  const [today, soon] = [dayOf(now), dayOf(now + soonDays * 86_400_000)];
  return (day) => {
    if (day === undefined || day === null || day > soon) return undefined;
    if (day > today) return { text: "soon", elsewhere: "ends soon", tone: "warning" };
    return { text: day < today ? "past" : "today", elsewhere: "deprecated", tone: "bad" };
  };
};

/** Prices with names of their own that are shown at most: a catalog with more of them is no catalog. */
const mostOwnPrices = 8;

/** Gathers prices that the interface does not name, model by model. */
interface OwnPrices {
  add(model: CatalogModel): void;
  /** Their columns, under their own names, behind all others. */
  columns(): readonly CatalogColumn[];
}

/** Opens the gathering. */
export const openOwnPrices = (): OwnPrices => {
  const own = new Set<string>();
  return {
    add({ pricing }) {
      for (const key in known(pricing) ?? {}) if (!namedPrices.has(key)) own.add(key);
    },
    columns: () => [...own].slice(0, mostOwnPrices).map(ownPriceColumn),
  };
};

/** The column of a price that the interface does not name. */
export const ownPriceColumn = (name: string): CatalogColumn =>
  placesFor(name) === 6
    ? price(name, { heading: `${name}\n$/M`, rank: 17 })
    : price(name, { heading: `${name}\n(as given)`, rank: 18 });

/** The prices among the names of `--sort` that the interface does not name: all but `pricing.` may be left out of those that are known. */
export const pricesIn = (sort: readonly string[]): readonly string[] => sort.flatMap((one) => ownPriceIn(one) ?? []);

const ownPriceIn = (typed: string): string | undefined => {
  const [, whole, name = ""] = /^-?((?:entry\.)?pricing\.)?(.*)$/.exec(typed) ?? [];
  const isPrice = whole !== undefined || pricesOfToken.has(name);
  return isPrice && !namedPrices.has(name) ? name : undefined;
};

/** The other names: they are right or wrong before a catalog is read, whose own prices are known only then. */
export const withoutPrices = (sort: readonly string[]): readonly string[] =>
  sort.filter((one) => ownPriceIn(one) === undefined);

/** The columns of several catalogs in one list: their own, with the catalog itself behind the id, and those of the models that can be called at the end. */
export const joinedColumns = (
  own: readonly CatalogColumn[],
  { withModels }: { readonly withModels: boolean },
): readonly Column<JoinedRow>[] => [
  {
    ...fieldColumn<JoinedRow, string>("id", {
      rank: 0,
      of: ({ model, listed }) => (listed === undefined ? model?.value.id : listed.entry.id),
      cell: textCell,
    }),
    otherNames: ["entry.id"],
  },
  textColumn("catalog", {
    rank: 0,
    text: ({ listed }) => listed?.catalog ?? "none",
    value: ({ listed }) => listed?.catalog,
  }),
  ...own.filter(({ name }) => name !== "id").map(ofEntry),
  ...(withModels ? modelColumns.filter(({ name }) => name !== "id").map(ofModel) : []),
];

const ofEntry = (column: CatalogColumn): Column<JoinedRow> => ({
  ...column,
  otherNames: [`entry.${column.name}`],
  cell: ({ listed }, spelled) => (listed === undefined ? "" : column.cell(listed.entry, spelled)),
  value: ({ listed }) => (listed === undefined ? undefined : column.value(listed.entry)),
  mark: ({ listed }) => (listed === undefined ? undefined : column.mark?.(listed.entry)),
});

/** Behind all columns of the catalogs. */
const modelRank = 20;

const ofModel = (column: (typeof modelColumns)[number]): Column<JoinedRow> => ({
  ...column,
  name: `model.${column.name}`,
  heading: `model\n${column.heading}`,
  rank: modelRank + column.rank,
  cell: ({ model }, spelled) => (model === undefined ? "" : column.cell(model.value, spelled)),
  value: ({ model }) => (model === undefined ? undefined : column.value(model.value)),
  mark: () => undefined,
});

/** The columns under their names in JSON, where an entry is an object of its own beside the catalog that it is from. */
export const namedAsInJson = (columns: readonly Column<JoinedRow>[]): readonly Column<JoinedRow>[] =>
  columns.map((column) =>
    column.name === "catalog" || column.name.startsWith("model.")
      ? column
      : { ...column, name: `entry.${column.name}`, otherNames: [column.name] },
  );

/** The part of a fact's name that its kind does not say. */
export const factName = (field: string): string => {
  if (field.startsWith("pricing.")) return field.slice("pricing.".length);
  return /^(input|output)_modalities$/.exec(field)?.[1] ?? "";
};
