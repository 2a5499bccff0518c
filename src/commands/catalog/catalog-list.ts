/** Lists the entries of catalogs, also with the inference models, and shows one model. */
import { type CatalogName, catalogNames } from "../../catalogs/catalog-files.ts";
import { listCountries } from "../../catalogs/fields.ts";
import { checkFilterWords, compileFilter } from "../../catalogs/filter.ts";
import { readPrices } from "../../catalogs/prices.ts";
import { Failure } from "../../failure.ts";
import { isObject } from "../../json/json-bytes.ts";
import { toRawJson } from "../../json/raw-json.ts";
import { readSpelledObject } from "../../output/json-fields.ts";
import { formatCell, printList } from "../../output/list.ts";
import { noteSelection, parseOrder, rankColumns, sortRows } from "../../output/lists/sort-rows.ts";
import { printPage, requirePage } from "../../output/page.ts";
import type { Line, Section } from "../../output/views.ts";
import { listServiceArgs } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { CatalogSourceOptions, FilterOptions, OrderOptions } from "../../session/options/list-options.ts";
import { listByKey } from "../../text/lists.ts";
import { findNearest } from "../../text/nearest.ts";
import { formatSuggestion } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { type ReplyList, toText } from "../../wire/contract/replies.ts";
import { type ListName, rowColumns } from "./catalog-columns.ts";
import type { CatalogEntry, CatalogRow } from "./read-catalogs.ts";
import * as source from "./read-catalogs.ts";

type RowOptions = FilterOptions &
  OrderOptions &
  Partial<CatalogSourceOptions> & { readonly pattern: string | undefined };

export const listEntries = async (context: Context, list: ListName, typed: RowOptions) => {
  const { screen, host } = context;
  const columns = rowColumns(list, host.now());
  const order = parseOrder(typed.sort, columns);
  const settings = await source.readCatalogSettings(context, typed);
  const selected = list === "priced" ? undefined : catalogNames.filter((name) => list === "all" || list === name);
  const progress = list === "models" ? screen.startProgress("listing the models") : undefined;
  const [{ names, replies, entries }, models] = await Promise.all([
    list === "models" ? noCatalogs : source.readCatalogs(context, settings, selected),
    list === "models" || list === "priced" ? source.readModels(context, settings).finally(progress?.stop) : undefined,
  ]);
  checkFilterWords(typed, entries);
  const allRows: readonly CatalogRow[] = models ? joinById(models, entries) : entries;
  const { matches, columns: filtered } = compileFilter(typed, host.now());
  // Filters see only the id of a model without a catalog entry.
  const matching = allRows.filter(({ model, entry }) => matches(entry ?? { id: model?.value.id }));
  const rows = (await sortRows(matching, order, host.signal)).slice(0, typed.limit);
  const hasSeveral = list === "all" || list === "priced";
  const single = hasSeveral ? undefined : (models ?? replies[0]?.models);
  noteSelection(screen, { all: allRows, matching, shown: rows }, single ? "models" : "entries");
  const shownPositions = rows.flatMap(({ position, model }) => position ?? model?.position ?? []);
  const json = single
    ? { document: single.document, shownPositions }
    : { document: toRawJson(rowsDocument(rows, names)) };
  const ranked = rankColumns(columns, order, filtered);
  await printList(screen, { columns: ranked, rows, json: { ...json, member: "data" } });
};

const noCatalogs = { names: [], replies: [], entries: [] };

const joinById = (models: ReplyList, entries: readonly CatalogEntry[]) => {
  const byId = listByKey(entries, ({ entry }) => toText(entry.id));
  return models.entries.flatMap((model): readonly CatalogRow[] => {
    const id = toText(model.value.id);
    const matching = id === undefined ? undefined : byId.get(id);
    return matching?.map((entry) => ({ ...entry, model })) ?? [{ model }];
  });
};

/** Returns `{"catalogs":[…],"data":[…]}` with the service's own JSON of the models. */
const rowsDocument = (rows: readonly CatalogRow[], catalogs: readonly CatalogName[]) => {
  const data = rows.map(({ model, catalog = null, raw: entry = null }) => ({ model: model?.raw, catalog, entry }));
  return { catalogs, data };
};

/** @throws Failure `model-not-listed`, `not-rows` */
export const showModel = async (context: Context, typed: CatalogSourceOptions & { readonly id: string }) => {
  const { screen, host } = context;
  requirePage(screen);
  const settings = await source.readCatalogSettings(context, typed);
  const { names, replies, entries } = await source.readCatalogs(context, settings);
  const found = entries.filter(({ entry }) => entry.id === typed.id);
  if (found.length === 0) {
    const ids = entries.flatMap(({ entry }) => toText(entry.id) ?? []);
    const toSuffix = (id: string) => id.slice(id.lastIndexOf("/") + 1).toLowerCase();
    const near = ids.find((id) => toSuffix(id) === toSuffix(typed.id)) ?? findNearest(typed.id, ids);
    const message = `unknown model ${typed.id}: not in ${names.length > 1 ? "any" : `the ${names[0]}`} catalog`;
    const search = `rollcall catalog all <pattern> ${formatCommandLine(listServiceArgs(context.flags))}`;
    const advice = formatSuggestion(near, `search with \`${search.trimEnd()}\``);
    throw new Failure("not_found", "model-not-listed", message, advice);
  }
  if (screen.isForProgram || screen.format === "csv" || screen.fields) {
    const json = { document: toRawJson(rowsDocument(found, names)), member: "data" };
    return await printList(screen, { columns: rowColumns("all", host.now()), rows: found, json });
  }
  const sections = replies.flatMap(({ catalog, provider }): readonly Section[] => {
    const title = `${catalog} catalog, ${provider}`;
    const own = found.filter((one) => one.catalog === catalog);
    if (own.length === 0) return [{ title, block: "not listed" }];
    return own.flatMap((entry) => toSections(entry, title, host.now()));
  });
  await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
};

const toSections = (row: CatalogEntry, title: string, now: number): readonly Section[] => {
  const { pricing, datacenters } = row.entry;
  const spelled = readSpelledObject(row.raw);
  const columns = rowColumns(row.catalog, now);
  const lines = columns.slice(1).map((column): Line => {
    const { name, heading = name, tag: tagOf } = column;
    const tag = tagOf?.(row);
    const text = formatCell(column, row, (separator) => spelled.text(name, separator));
    return { label: heading.replace("\n", " "), text: tag ? `${text} ${tag.text}` : text, tone: tag?.tone };
  });
  // Data centers with other facts than a country also appear in `other`, as JSON.
  const plain = listCountries(datacenters)?.map((country_code) => ({ country_code }));
  const isShown = new Map([
    ...columns.map(({ name }) => [name, true] as const),
    ["pricing", pricing === null || isObject(pricing)],
    ["datacenters", datacenters === null || JSON.stringify(datacenters) === JSON.stringify(plain)],
  ]);
  const prices = isObject(pricing) ? [...readPrices(row.entry).stated.keys()].map((name) => `pricing.${name}`) : [];
  const others = [...prices, ...spelled.keys]
    .filter((key) => !isShown.get(key))
    .map((key) => ({ label: key, text: spelled.json(key) }));
  return [
    { title, lines },
    { title: "other", level: 2, lines: others },
  ];
};
