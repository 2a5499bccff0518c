/** The columns of what `rollcall catalog` lists (interface 2.5); their order is a promise (promises.md, "Output"). */

import {
  amountOf,
  type CatalogName,
  type Change,
  type Cost,
  dayOf,
  deprecationOf,
  type JoinedRow,
  namedPrices,
  placesFor,
  priceAt,
  priceCell,
  pricesOfToken,
  priceText,
  type Verified,
} from "../../catalogs/index.ts";
import type { CatalogModel, Datacenter } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import { compareDecimals, type Decimal, formatDecimal, shifted } from "../../decimal.ts";
import { type Column, type Mark, textColumn } from "../../output/index.ts";
import { countCell, dayCell, fieldColumn, sortValue, statedValue, textCell, wordsCell } from "../lists/cells.ts";
import { modelColumns } from "../models/columns.ts";

type CatalogColumn = Column<CatalogModel>;

/** The columns of every catalog. `mark` says what there is to look at in a deprecation date. */
export const catalogColumns = (mark?: (model: CatalogModel) => Mark | undefined): readonly CatalogColumn[] => [
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
    ...(mark === undefined ? {} : { mark }),
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

const plainText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Days before its end that a model's deprecation is pointed out. */
const soonDays = 30;

/** Says of a deprecation date whether it has passed or is near. Anything but a date is not judged. */
export const deprecationMark = (now: number): ((model: CatalogModel) => Mark | undefined) => {
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

/** A change, and which of several catalogs it is in. */
type ChangeRow = Change & { readonly catalog: CatalogName | null };

/** The two catalogs that are compared with one another, by their names; in a table a long one is cut. */
export interface Sides {
  readonly from: string;
  readonly to: string;
}

/** The columns of `catalog diff`. */
export const changeColumns = ({
  sides,
  several,
}: {
  readonly sides: Sides | undefined;
  readonly several: boolean;
}): readonly Column<ChangeRow>[] => [
  textColumn("id", { rank: 0, text: ({ id }) => id }),
  textColumn("change", { rank: 0, text: ({ change }) => changeText(change, sides) }),
  textColumn("field", { rank: 0, heading: "of", text: ({ field }) => factName(field ?? "") }),
  textColumn("from", {
    heading: sides === undefined ? "from" : `from\n${sides.from}`,
    rank: 0,
    text: ({ field, from }) => valueText(field ?? "", from),
  }),
  textColumn("to", {
    heading: sides === undefined ? "to" : `to\n${sides.to}`,
    rank: 0,
    text: ({ field, to }) => valueText(field ?? "", to),
  }),
  textColumn("difference", { rank: 2, text: differenceText }),
  ...(several ? [textColumn<ChangeRow>("catalog", { rank: 3, text: ({ catalog }) => catalog ?? "" })] : []),
];

/** Characters of a side's name in a heading. */
const longestSide = 20;

/** A side's name, by its end where it is long: that of a file tells it from others. */
export const shortSide = (name: string): string =>
  name.length <= longestSide ? name : `…${name.slice(1 - longestSide)}`;

const changeText = (change: Change["change"], sides: Sides | undefined): string =>
  sides !== undefined && (change === "added" || change === "gone")
    ? `only in ${change === "added" ? sides.to : sides.from}`
    : change;

/** The part of a fact's name that its kind does not say. */
const factName = (field: string): string => {
  if (field.startsWith("pricing.")) return field.slice("pricing.".length);
  return /^(input|output)_modalities$/.exec(field)?.[1] ?? "";
};

/** A value of a fact for a person: prices with their unit, lists with commas. */
const valueText = (field: string, value: unknown): string => {
  if (value === null) return "";
  if (field.startsWith("pricing.")) return priceText(field.slice("pricing.".length), value);
  return Array.isArray(value) ? value.map(plainText).join(", ") : plainText(value);
};

const differenceText = ({ change, from, to }: ChangeRow): string => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [wordsIn(from), wordsIn(to)];
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") return percentText(amountOf(from), amountOf(to));
  if (typeof from !== "number" || typeof to !== "number") return "";
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return "";
  return to < from ? String(to - from) : `+${to - from}`;
};

const wordsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(plainText) : value === null ? [] : [plainText(value)];

/** By how many percent a price rose or fell, to a tenth; nothing where it was free or is not known. */
const percentText = (from: Decimal | undefined, to: Decimal | undefined): string => {
  if (from === undefined || to === undefined || from.digits <= 0n || to.digits < 0n) return "";
  const places = Math.max(from.places, to.places);
  const [was, is] = [shifted(from, places).digits, shifted(to, places).digits];
  const change = is > was ? is - was : was - is;
  const tenths = (change * 2000n + was) / (2n * was);
  return `${compareDecimals(to, from) < 0 ? "-" : "+"}${formatDecimal({ digits: tenths, places: 1 })}%`;
};

/** A model with what the usage costs there. */
export interface CostRow {
  readonly catalog: CatalogName;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly model: CatalogModel;
  /** Whether the day of its deprecation is over. */
  readonly ended: boolean;
  readonly cost: Cost;
}

/** The columns of `catalog cost`: what it costs altogether, and each item of it, in US dollars. */
export const costColumns = ({
  several,
  mark,
}: {
  readonly several: boolean;
  readonly mark?: (model: CatalogModel) => Mark | undefined;
}): readonly Column<CostRow>[] => [
  textColumn("id", { rank: 0, text: ({ id }) => id }),
  {
    ...textColumn<CostRow>("total", {
      heading: "total\n$",
      align: "decimal",
      rank: 0,
      text: ({ cost }) => cost.total,
    }),
    mark: ({ cost }) => (cost.total === null ? { text: "not known", tone: "warning" } : undefined),
  },
  textColumn("not_stated", {
    heading: "price\nnot stated",
    rank: 1,
    text: ({ cost }) => cost.not_stated.join(", "),
    value: ({ cost }) => cost.not_stated,
  }),
  costItem("prompt", { heading: "prompt\n$", rank: 2 }),
  costItem("completion", { heading: "completion\n$", rank: 3 }),
  costItem("input_cache_read", { heading: "cache read\n$", rank: 4, names: ["input_cache_read", "input_cache_reads"] }),
  costItem("image", { heading: "image\n$", rank: 6 }),
  costItem("request", { heading: "request\n$", rank: 7 }),
  ...(several ? [textColumn<CostRow>("catalog", { rank: 0, text: ({ catalog }) => catalog })] : []),
  textColumn("name", { rank: 9, text: ({ name }) => name }),
  {
    ...textColumn<CostRow>("deprecation_date", {
      heading: "deprecation",
      rank: 5,
      text: ({ model }) => deprecationOf(model) ?? "",
    }),
    ...(mark === undefined ? {} : { mark: ({ model }) => mark(model) }),
  },
];

const costItem = (
  name: string,
  { names = [name], ...shown }: Shown & { readonly names?: readonly string[] },
): Column<CostRow> =>
  textColumn(name, {
    ...shown,
    align: "decimal",
    text: ({ cost: { items } }) => items.find((item) => names.includes(item.price))?.cost ?? undefined,
  });

/** The columns of `catalog verify`. */
export const findingColumns: readonly Column<Verified>[] = [
  textColumn("id", { rank: 0, text: ({ locked }) => locked.id }),
  textColumn("rule", { heading: "finding", rank: 0, text: ({ problem }) => problem.rule }),
  textColumn("field", {
    heading: "of",
    rank: 3,
    text: ({ finding: { path } }) => factName(path.slice(0, path[0] === "pricing" ? 2 : 1).join(".")),
  }),
  textColumn("locked", { rank: 1, text: ({ finding }) => finding.locked }),
  textColumn("now", { rank: 1, text: ({ finding }) => finding.now }),
  textColumn("severity", { rank: 2, text: ({ problem }) => problem.severity }),
  textColumn("replacement", { rank: 0, text: ({ replacement }) => replacement?.id ?? "" }),
  textColumn("replacement_price", {
    heading: "its prices\n$/M",
    rank: 4,
    text: ({ replacement }) => (replacement === undefined ? "" : `${replacement.prompt} / ${replacement.completion}`),
  }),
  textColumn("line", {
    heading: "line of\nthe lock",
    rank: 0,
    align: "right",
    text: ({ problem }) => String(problem.line ?? ""),
  }),
  textColumn("catalog", { rank: 5, text: ({ locked }) => locked.catalog }),
];
