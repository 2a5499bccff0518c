/** The columns of catalogs (interface 2.5). Their order is a promise (output.md). */
import * as catalogs from "../../catalogs/index.ts";
import { type CellTag, type Column, textColumn } from "../../output/index.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";

interface RowColumns {
  /** `models` are the catalogs joined with the models that can be called. Default: one. */
  readonly of?: "one" | "all" | "models";
  readonly prices?: readonly string[];
  readonly mark?: DeprecationMark;
}

export const rowColumns = ({
  of = "one",
  prices = [],
  mark,
}: RowColumns = {}): readonly Column<catalogs.CatalogRow>[] => {
  const [id, ...others] = [...catalogs.catalogFields, ...prices.map((name) => catalogs.priceField(name))].map(
    (field): Column<catalogs.CatalogRow> => ({
      ...field,
      aliases: [`entry.${field.name}`],
      cell: ({ listed }, spelled) => (listed === undefined ? "" : field.cell(listed.entry, spelled)),
      value: ({ listed }) => (listed === undefined ? undefined : field.value(listed.entry)),
      tag: ({ listed }) =>
        listed === undefined || field.name !== "deprecation_date"
          ? undefined
          : mark?.(catalogs.deprecationDay(listed.entry)),
    }),
  );
  const [modelId, ...modelOthers] = catalogs.modelFields.map(
    (field): Column<catalogs.CatalogRow> => ({
      ...field,
      ...{ name: `model.${field.name}`, heading: `model\n${field.heading}`, rank: 20 + field.rank },
      cell: ({ model }, spelled) => (model === undefined ? "" : field.cell(model.value, spelled)),
      value: ({ model }) => (model === undefined ? undefined : field.value(model.value)),
    }),
  );
  if (id === undefined || modelId === undefined) return [];
  if (of === "one") return [id, ...others];
  const eitherId: Column<catalogs.CatalogRow> = {
    ...id,
    cell: (row, spelled) => (row.listed === undefined ? modelId : id).cell(row, spelled),
    value: (row) => (row.listed === undefined ? modelId : id).value(row),
  };
  const catalog = textColumn<catalogs.CatalogRow>("catalog", {
    rank: 0,
    text: ({ listed }) => listed?.catalog ?? "none",
    value: ({ listed }) => listed?.catalog,
  });
  return [eitherId, catalog, ...others, ...(of === "models" ? modelOthers : [])];
};

/** Renames columns for JSON, where an entry is an object next to its catalog. */
export const useJsonNames = (columns: readonly Column<catalogs.CatalogRow>[]): readonly Column<catalogs.CatalogRow>[] =>
  columns.map((column) =>
    column.name === "catalog" || column.name.startsWith("model.")
      ? column
      : { ...column, name: `entry.${column.name}`, aliases: [column.name] },
  );

const warnDays = 30;

export type DeprecationMark = (day: string | null | undefined) => CellTag | undefined;

/** Marks a past or near deprecation. */
export const deprecationMark = (now: number): DeprecationMark => {
  const [today, soon] = [catalogs.utcDay(now), catalogs.utcDay(now + warnDays * catalogs.dayMs)];
  return (day) => {
    if (day === undefined || day === null || day > soon) return undefined;
    if (day > today) return { text: "soon", textInFirstColumn: "ends soon", tone: "warning" };
    return { text: day < today ? "past" : "today", textInFirstColumn: "deprecated", tone: "bad" };
  };
};

/** Returns the prices in `--sort` and `--max-price` that are outside the interface. Only these get columns. */
export const listRequestedPrices = (typed: TypedFilter & Pick<TypedOrder, "sort">): readonly string[] => {
  const names = [...typed.sort, ...catalogs.filteredColumns(typed)].flatMap((column) => {
    const [, prefix, name = ""] = /^-?((?:entry\.)?pricing\.)?(.*)$/.exec(column) ?? [];
    return (prefix !== undefined || catalogs.tokenPrices.has(name)) && !catalogs.namedPrices.has(name) ? [name] : [];
  });
  return [...new Set(names)];
};
