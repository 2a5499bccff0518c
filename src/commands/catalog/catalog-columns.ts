/** Defines the columns of models and catalog entries (interface 2.3, 2.5), whose order output.md promises. */

import { type CellTag, type Column, type SpelledValue, spellCell } from "../../output/views.ts";
import { dayMs, formatDecimal, formatUnixDay, utcDay } from "../../text/units.ts";
import type { ModelEntry } from "../../wire/contract/reads.ts";
import { parseAmount, priceUnit, readDay, toShownPrice } from "./filter.ts";

type Display = Omit<Column<ModelEntry>, "name">;

const column = (name: string, display: Display): Column<ModelEntry> => {
  return { name, value: ({ value }) => value[name], cell: spellCell, ...display };
};

/** Values are Unix seconds. Services send 0 for an unknown time, which is not a day of 1970. */
const createdColumn = (rank: number) =>
  column("created", { rank, cell: ({ model }, spelled) => formatUnixDay(model.created) ?? spelled() });

export const modelColumns: readonly Column<ModelEntry>[] = [
  column("id", { rank: 0 }),
  createdColumn(2),
  column("owned_by", { heading: "owned by", rank: 1 }),
  column("root", { rank: 3 }),
  column("object", { rank: 4 }),
];

const priceColumn = (name: string, rank: number, title = name): Column<ModelEntry> => {
  const value = ({ model }: ModelEntry) => model.pricing?.[name];
  const cell = (row: ModelEntry, spelled: SpelledValue) => {
    const stated = value(row);
    const price = parseAmount(stated);
    if (price) return formatDecimal(toShownPrice(name, price));
    const text = typeof stated === "string" ? stated : spelled();
    // Marks an invalid price with digits, because users could take it for a valid price.
    return /\d/.test(text) ? `${text} (as given)` : text;
  };
  return { name: `pricing.${name}`, heading: `${title}\n${priceUnit(name)}`, rank, align: "decimal", value, cell };
};

const listCountries = ({ model, value }: ModelEntry) =>
  model.datacenters?.flatMap(({ country_code: code }) => code ?? []) ?? value.datacenters;

/** @param now ms since 1970; 0 tags no deprecation */
export const entryColumns = (now: number): readonly Column<ModelEntry>[] => [
  column("id", { rank: 0 }),
  column("name", { rank: 10 }),
  column("context_length", { align: "right", heading: "context\ntokens", rank: 4 }),
  column("max_output_length", { align: "right", heading: "max output\ntokens", rank: 6 }),
  priceColumn("prompt", 0),
  priceColumn("completion", 2),
  priceColumn("input_cache_read", 7, "cache read"),
  priceColumn("image", 13),
  priceColumn("request", 14),
  column("quantization", { rank: 5 }),
  column("input_modalities", { heading: "input", rank: 11 }),
  column("output_modalities", { heading: "output", rank: 12 }),
  column("supported_features", { heading: "features", rank: 8 }),
  column("supported_sampling_parameters", { heading: "parameters", rank: 16 }),
  column("datacenters.country_code", { heading: "countries", rank: 9, value: listCountries }),
  column("deprecation_date", {
    heading: "deprecation",
    rank: 3,
    tag: ({ model }) => tagDeprecation(readDay(model.deprecation_date), now),
  }),
  createdColumn(15),
];

const warnDays = 30;

const tagDeprecation = (day: string | undefined, now: number): CellTag | undefined => {
  const today = utcDay(now);
  if (!day || day > utcDay(now + warnDays * dayMs)) return undefined;
  if (day > today) return { text: "soon", tone: "warning" };
  return { text: day < today ? "past" : "today", tone: "bad" };
};
