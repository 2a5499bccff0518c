/** Lists the entries of catalogs, also next to the models that can be called, and shows one model. */
import * as catalogs from "../../catalogs/index.ts";
import { effectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { MistypedValue, typedValue } from "../../contract/replies.ts";
import { rootSpan } from "../../json/walk.ts";
import { type Column, type Line, printList, printPage, readSpelledObject, type Section } from "../../output/index.ts";
import { modelNotListed } from "../failures.ts";
import type { TypedFilter, TypedOrder, TypedSource } from "../lists/options.ts";
import { noteSelection, parseOrder, rankColumns, sortRows } from "../lists/selection.ts";
import { readModels } from "../models/run.ts";
import * as columnsOf from "./columns.ts";
import type { TypedShow } from "./command.ts";
import * as source from "./source.ts";

type Row = catalogs.CatalogRow;
type TypedRows = TypedFilter & TypedOrder & Partial<TypedSource> & { readonly pattern: string | undefined };

const emptyTexts = {
  ...{ analysis: "the catalog is empty", router: "the catalog is empty", all: "the catalogs are empty" },
  priced: "the service lists no models",
};

/** `catalog analysis`, `catalog router`, `catalog all`, `models --with-prices`. */
export const listEntries = async (context: Context, of: columnsOf.ListOf, typed: TypedRows): Promise<void> => {
  const { screen, host } = context;
  const { pattern, limit, sort } = typed;
  source.checkFilterOptions(typed);
  const prices = columnsOf.listRequestedPrices(typed);
  const columnsWith = (names: readonly string[]) =>
    columnsOf.rowColumns(of, { prices: names, mark: columnsOf.deprecationMark(host.now()) });
  // An unknown column is an error before anything is read.
  parseOrder(sort, columnsWith(prices));
  const settings = await effectiveSettings(context);
  const names = of === "priced" ? undefined : of === "all" ? catalogs.catalogNames : [of];
  const [found, models] = await Promise.all([
    source.readSelectedCatalogs(context, typed, { settings, names, label: "reading models" }),
    of === "priced" ? readModels(context, settings) : undefined,
  ]);
  const { listed, read } = found;
  if (of === "priced") source.noteSkippedCatalogs(context, found.names);
  source.checkFilterWords(typed, listed);
  const all = models === undefined ? listed.map((one): Row => ({ listed: one })) : catalogs.joinById(models, listed);
  const isStated = (name: string) => listed.some(({ entry }) => catalogs.statedPrices(entry.pricing).has(name));
  const columns = columnsWith(prices.filter(isStated));
  const order = parseOrder(sort, columns);
  const matching = all.filter(catalogs.createRowMatcher(typed, host.now()));
  const rows = sortRows(matching, order).slice(0, limit);
  const [only] = of === "all" || of === "priced" ? [] : read;
  noteSelection(screen, {
    ...{ of: all.length, matching: matching.length, shown: rows.length, noun: only ? "models" : "entries" },
    ...{ pattern: catalogs.hasFilters(typed) ? undefined : pattern, emptyText: emptyTexts[of] },
  });
  const shown = { columns: rankColumns(columns, order, catalogs.filteredColumns(typed)), rows };
  if (only === undefined) return await printRows(context, shown, found);
  const shownPositions = rows.flatMap(({ listed: one }) => one?.position ?? []);
  await printList(screen, { ...shown, wire: { bytes: only.models.bytes, member: "data", shownPositions } });
};

/** Prints rows, in JSON each entry as an object next to its catalog. @throws why a catalog was not read */
const printRows = async (
  { screen }: Context,
  { columns, rows }: { readonly columns: readonly Column<Row>[]; readonly rows: readonly Row[] },
  { read, failures }: source.CatalogsRead,
): Promise<void> => {
  const { isForProgram } = screen;
  const names = read.map(({ catalog }) => catalog);
  const bytes = isForProgram ? catalogs.rowsDocument(rows, names) : catalogs.cellsDocument(rows);
  const shown = isForProgram ? columnsOf.useJsonNames(columns) : columns;
  await printList(screen, { columns: shown, rows, wire: { bytes, member: "data" } });
  source.throwFirst(failures);
};

/** `catalog show`. @throws Failure `model-not-listed` */
export const showModel = async (context: Context, typed: TypedShow): Promise<void> => {
  const { screen, host } = context;
  const selected = await source.readSelectedCatalogs(context, typed, { label: "reading the catalogs" });
  const { names, read, listed, failures } = selected;
  source.noteSkippedCatalogs(context, names);
  const found = listed.filter(({ entry }) => typedValue(entry.id) === typed.id);
  if (found.length === 0) {
    source.throwFirst(failures);
    const ids = listed.map(({ entry }) => typedValue(entry.id) ?? "");
    throw modelNotListed({ id: typed.id, names, near: catalogs.findNearestId(typed.id, ids) });
  }
  const mark = columnsOf.deprecationMark(host.now());
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const prices = [...new Set(found.flatMap(listExtraPrices))];
    const rows = found.map((one) => ({ listed: one }));
    return await printRows(context, { columns: columnsOf.rowColumns("all", { prices, mark }), rows }, selected);
  }
  const sections = read.flatMap(({ catalog, provider }): readonly Section[] => {
    const title = `${catalog} catalog, ${provider}`;
    const entries = found.filter((one) => one.catalog === catalog);
    if (entries.length === 0) return [{ title, block: "not listed" }];
    return entries.flatMap((entry) => entrySections(entry, title, mark));
  });
  await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
  source.throwFirst(failures);
};

const listExtraPrices = ({ entry }: catalogs.CatalogEntry): readonly string[] =>
  [...catalogs.statedPrices(entry.pricing).keys()].filter((name) => !catalogs.namedPrices.has(name));

const entrySections = (
  listed: catalogs.CatalogEntry,
  title: string,
  mark: columnsOf.DeprecationMark,
): readonly Section[] => {
  const { entry, raw } = listed;
  const spelled = readSpelledObject(raw, rootSpan(raw));
  const extra = listExtraPrices(listed);
  const isNested = (name: string): boolean => typeof catalogs.statedPrices(entry.pricing).get(name) === "object";
  const columns = columnsOf.rowColumns(listed.catalog, { prices: extra.filter((name) => !isNested(name)), mark });
  const lines = columns.slice(1).map(({ name, heading, cell, tag: tagOf }): Line => {
    const word = tagOf?.({ listed });
    const text = cell({ listed }, () => spelled.text(name));
    const label = heading.replace("\n", " ");
    return word === undefined ? { label, text } : { label, text: `${text} ${word.text}`, tone: word.tone };
  });
  const shown = new Set(columns.map(({ name }) => name));
  const others = spelled.keys.filter((key) => {
    if (key === "pricing") return entry.pricing instanceof MistypedValue;
    return key === "datacenters" ? hasMoreThanCountry(entry.datacenters) : !shown.has(key);
  });
  const nested = extra.filter(isNested).map((name) => `pricing.${name}`);
  const other = [...nested, ...others].map((key) => ({ label: key, text: spelled.json(key) }));
  return [{ title, lines }, ...(other.length === 0 ? [] : [{ title: "other", level: 2 as const, lines: other }])];
};

/** True if a data center has other keys than its country, or no country. */
const hasMoreThanCountry = (datacenters: catalogs.CatalogEntry["entry"]["datacenters"]): boolean =>
  datacenters instanceof MistypedValue ||
  (datacenters ?? []).some(
    (one) => Object.keys(one).join() !== "country_code" || typedValue(one.country_code) === undefined,
  );
