/** The columns of lists of models (interface 2.3 and 2.5). Users rely on the order of the columns (output.md). */
import * as catalogs from "../../catalogs/index.ts";
import { type CellTag, type Column, readSpelledObject } from "../../output/index.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";

type Row = catalogs.CatalogRow;

/** One catalog, both (`all`), or the models that can be called, with their catalog entries (`priced`). */
export type ListOf = catalogs.CatalogName | "all" | "priced";

/** @param now milliseconds since 1970. By default, no deprecation is marked. */
export const rowColumns = (of: ListOf, prices: readonly string[] = [], now = 0): readonly Column<Row>[] => {
  const isJoined = of === "all" || of === "priced";
  const fields = [...catalogs.catalogFields, ...prices.map((name) => catalogs.priceField(name))];
  const [id, ...others] = fields.map((field): Column<Row> => {
    const column = isJoined ? { ...field, path: `entry.${field.name}` } : field;
    if (field.name !== "deprecation_date") return column;
    const tag = ({ catalogEntry }: Row) =>
      catalogEntry && tagDeprecation(catalogs.deprecationDay(catalogEntry.entry), now);
    return { ...column, tag };
  });
  if (id === undefined) return [];
  if (!isJoined) return [id, ...others];
  const eitherId: Column<Row> = {
    ...id,
    cell: (row, spelled) => (row.catalogEntry === undefined ? spellModelId(row) : id.cell(row, spelled)),
    value: (row) => (row.catalogEntry === undefined ? spellModelId(row) : id.value(row)),
  };
  const catalog: Column<Row> = {
    name: "catalog",
    heading: "catalog",
    rank: 0,
    cell: ({ catalogEntry }) => catalogEntry?.catalog ?? "none",
    value: ({ catalogEntry }) => catalogEntry?.catalog,
  };
  if (of === "all") return [eitherId, catalog, ...others];
  // The id is already the first column.
  const modelColumns = catalogs.modelFields.slice(1).map(({ name, heading, rank, ...field }): Column<Row> => {
    return { ...field, name: `model.${name}`, heading: `model\n${heading}`, rank: 20 + rank };
  });
  return [eitherId, catalog, ...others, ...modelColumns];
};

const spellModelId = ({ model }: Row) => (model === undefined ? "" : readSpelledObject(model.raw).text("id"));

const warnDays = 30;

export const tagDeprecation = (day: string | null | undefined, now: number): CellTag | undefined => {
  const today = catalogs.utcDay(now);
  const lastWarnedDay = catalogs.utcDay(now + warnDays * catalogs.dayMs);
  if (day === undefined || day === null || day > lastWarnedDay) return undefined;
  if (day > today) return { text: "soon", tone: "warning" };
  return { text: day < today ? "past" : "today", tone: "bad" };
};

/** Returns `prompt` for the field `pricing.prompt`, `input` for `input_modalities`, and an empty text for others. */
export const formatFactName = (field: string) =>
  /^pricing\.(.*)$/s.exec(field)?.[1] ?? /^(input|output)_modalities\b/.exec(field)?.[1] ?? "";

/** Returns the prices in `--sort` and `--max-price` that have no column, because the interface does not name them. */
export const listRequestedPrices = (typed: TypedFilter & TypedOrder): readonly string[] => {
  const names = [...typed.sort, ...catalogs.filteredColumns(typed)].flatMap((column) => {
    const [, prefix, name = ""] = /^-?((?:entry\.)?pricing\.)?(.*)$/.exec(column) ?? [];
    return (prefix !== undefined || catalogs.tokenPrices.has(name)) && !catalogs.namedPrices.has(name) ? [name] : [];
  });
  return [...new Set(names)];
};
