/** Defines the columns of models and catalog entries (interface 2.3, 2.5), whose order output.md promises. */

import type { CatalogName } from "../../catalogs/catalog-files.ts";
import * as fields from "../../catalogs/fields.ts";
import * as prices from "../../catalogs/prices.ts";
import { readSpelledObject } from "../../output/json-fields.ts";
import { type CellTag, type Column, type SpelledValue, spellCell } from "../../output/views.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../../text/decimal.ts";
import { dayMs, formatUnixDay, utcDay } from "../../text/units.ts";
import { toText, toTexts } from "../../wire/contract/replies.ts";
import type { CatalogRow } from "./read-catalogs.ts";

type Display = Omit<Column<CatalogRow>, "name" | "value">;

const entryColumn = (name: string, display: Display): Column<CatalogRow> => {
  return { name, value: ({ entry }) => entry?.[name], cell: spellCell, ...display };
};

const modelColumn = (name: string, display: Display): Column<CatalogRow> => {
  return { name, value: ({ model }) => model?.value[name], cell: spellCell, ...display };
};

/** Values are Unix seconds. Services send 0 for an unknown time, which is not a day of 1970. */
const spellTime = (value: unknown, spelled: SpelledValue) => formatUnixDay(value) ?? spelled();

const modelColumns = [
  modelColumn("id", { rank: 0 }),
  modelColumn("created", { rank: 2, cell: ({ model }, spelled) => spellTime(model?.value.created, spelled) }),
  modelColumn("owned_by", { heading: "owned by", rank: 1 }),
  modelColumn("root", { rank: 3 }),
  modelColumn("object", { rank: 4 }),
];

const priceColumn = (name: string, rank: number, title = name): Column<CatalogRow> => {
  const value = ({ entry }: CatalogRow) => entry && prices.findStatedPrice(prices.readPrices(entry), name);
  const hasTerms = ({ entry }: CatalogRow) => entry !== undefined && prices.readPrices(entry).hasTerms;
  const sortValue = (row: CatalogRow) => (hasTerms(row) ? undefined : value(row));
  const isConditional = ({ entry }: CatalogRow, base: Decimal) => {
    const others = entry ? prices.listOverridePrices(prices.readPrices(entry), name) : [];
    return others.some((price) => !price || compareDecimals(price, base) !== 0);
  };
  const cell = (row: CatalogRow, spelled: SpelledValue) => {
    const stated = value(row);
    if (stated === undefined) return "";
    const text = toText(stated) ?? (spelled() || fields.formatPlain(stated));
    const price = typeof stated === "object" || hasTerms(row) ? undefined : prices.parsePrice(text);
    if (price) return formatDecimal(prices.toShownPrice(name, price)) + (isConditional(row, price) ? " (varies)" : "");
    // Marks an invalid price with digits, because users could take it for a valid price.
    return /\d/.test(text) ? `${text} (as given)` : text;
  };
  const heading = `${title}\n${prices.priceUnit(name)}`;
  return { name: `pricing.${name}`, heading, rank, align: "decimal", value, sortValue, cell };
};

const listCountries = ({ entry }: CatalogRow) =>
  entry && (fields.listCountries(entry.datacenters) ?? entry.datacenters);

/** @param now ms since 1970; 0 tags no deprecation */
const entryColumns = (now: number): readonly Column<CatalogRow>[] => [
  entryColumn("id", { rank: 0 }),
  entryColumn("name", { rank: 10 }),
  entryColumn("context_length", { align: "right", heading: "context\ntokens", rank: 4 }),
  entryColumn("max_output_length", { align: "right", heading: "max output\ntokens", rank: 6 }),
  priceColumn("prompt", 0),
  priceColumn("completion", 2),
  priceColumn("input_cache_read", 7, "cache read"),
  priceColumn("image", 13),
  priceColumn("request", 14),
  entryColumn("quantization", { rank: 5 }),
  entryColumn("input_modalities", { heading: "input", rank: 11 }),
  entryColumn("output_modalities", { heading: "output", rank: 12 }),
  entryColumn("supported_features", { heading: "features", rank: 8 }),
  entryColumn("supported_sampling_parameters", { heading: "parameters", rank: 16 }),
  {
    name: fields.countryField,
    heading: "countries",
    rank: 9,
    value: listCountries,
    cell: (row, spelled) => toTexts(listCountries(row))?.join(", ") ?? spelled(),
  },
  entryColumn("deprecation_date", {
    heading: "deprecation",
    rank: 3,
    tag: ({ entry }) => entry && tagEnd(entry, now),
  }),
  entryColumn("created", { cell: ({ entry }, spelled) => spellTime(entry?.created, spelled), rank: 15 }),
];

/** `priced` lists the inference models with their catalog entries, and `models` without. */
export type ListName = CatalogName | "all" | "priced" | "models";

const catalogColumn: Column<CatalogRow> = { name: "catalog", rank: 0, cell: ({ catalog }) => catalog ?? "none" };

export const rowColumns = (of: ListName, now = 0): readonly Column<CatalogRow>[] => {
  if (of === "models") return modelColumns;
  const columns = entryColumns(now);
  if (of !== "all" && of !== "priced") return columns;
  const ofEntries = columns.map((column) => ({ ...column, path: `entry.${column.name}` }));
  const others = [catalogColumn, ...ofEntries.slice(1)];
  if (of === "all") return [...ofEntries.slice(0, 1), ...others];
  const modelFacts = modelColumns.slice(1).map(({ name, heading = name, ...column }) => {
    return { ...column, name: `model.${name}`, heading: `model\n${heading}`, rank: 20 + column.rank };
  });
  return [modelId, ...others, ...modelFacts];
};

const spellModelId = ({ model }: CatalogRow) => (model ? readSpelledObject(model.raw).text("id") : "");
const modelId: Column<CatalogRow> = { name: "id", path: "model.id", rank: 0, value: spellModelId };

const warnDays = 30;

export const tagDeprecation = (day: string | null | undefined, now: number): CellTag | undefined => {
  const today = utcDay(now);
  if (!day || day > utcDay(now + warnDays * dayMs)) return undefined;
  if (day > today) return { text: "soon", textElsewhere: "ends soon", tone: "warning" };
  return { text: day < today ? "past" : "today", textElsewhere: "deprecated", tone: "bad" };
};

/** A tag beside another date, or no date, states its own. */
const tagEnd = (entry: CatalogRow["entry"] & object, now: number): CellTag | undefined => {
  const day = fields.deprecationDay(entry);
  const tag = tagDeprecation(day, now);
  return !tag || fields.readDay(entry.deprecation_date) === day ? tag : { ...tag, text: `${tag.text} (ends ${day})` };
};

const columnNames: ReadonlySet<string> = new Set(entryColumns(0).map(({ name }) => name));

/** Returns `prompt` for `pricing.prompt`, `input` for `input_modalities`, and "" for fields that the change names. */
export const formatFactName = (field: string) =>
  /^pricing\.(.*)$/s.exec(field)?.[1] ??
  /^(input|output)_modalities\b/.exec(field)?.[1] ??
  (columnNames.has(field) ? "" : field);
