/** Lists the entries of catalogs, alone or joined with the models that can be called, and shows one model. */
import * as catalogs from "../../catalogs/index.ts";
import { effectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { textOf } from "../../contract/replies.ts";
import { isObject } from "../../json/walk.ts";
import { type Line, printList, printPage, readSpelledObject, type Section } from "../../output/index.ts";
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
  analysis: "the catalog is empty",
  router: "the catalog is empty",
  all: "the catalogs are empty",
  priced: "the service lists no models",
};

/** Runs `catalog analysis`, `catalog router`, `catalog all` and `models --with-prices`. */
export const listEntries = async (context: Context, of: columnsOf.ListOf, typed: TypedRows) => {
  const { screen, host } = context;
  const { pattern, limit, sort } = typed;
  const prices = columnsOf.listRequestedPrices(typed);
  const columnsWith = (priceNames: readonly string[]) => columnsOf.rowColumns(of, priceNames, host.now());
  // Refuses unknown columns before anything is read.
  parseOrder(sort, columnsWith(prices));
  const settings = await effectiveSettings(context);
  const selected = of === "priced" ? undefined : of === "all" ? catalogs.catalogNames : [of];
  const [{ names, read, listed }, models] = await Promise.all([
    source.readCatalogs(context, typed, { settings, names: selected }),
    of === "priced" ? readModels(context, settings) : undefined,
  ]);
  source.checkFilterWords(typed, listed);
  const allRows =
    models === undefined ? listed.map((one): Row => ({ catalogEntry: one })) : catalogs.joinById(models, listed);
  const isStated = (name: string) => listed.some(({ entry }) => catalogs.statedPrices(entry.pricing).has(name));
  const columns = columnsWith(prices.filter(isStated));
  const order = parseOrder(sort, columns);
  const matching = allRows.filter(catalogs.createRowMatcher(typed, host.now()));
  const rows = sortRows(matching, order).slice(0, limit);
  const [single] = of === "all" || of === "priced" ? [] : read;
  const counts = { of: allRows.length, matching: matching.length, shown: rows.length };
  noteSelection(screen, {
    ...counts,
    noun: single ? "models" : "entries",
    emptyText: emptyTexts[of],
    pattern: catalogs.hasFilters(typed) ? undefined : pattern,
  });
  const shownPositions = rows.flatMap(({ catalogEntry: one }) => one?.position ?? []);
  const wire = single ? { bytes: single.models.bytes, shownPositions } : { bytes: catalogs.rowsDocument(rows, names) };
  const ranked = rankColumns(columns, order, catalogs.filteredColumns(typed));
  await printList(screen, { columns: ranked, rows, wire: { ...wire, member: "data" } });
};

/** @throws Failure `model-not-listed` */
export const showModel = async (context: Context, typed: TypedShow) => {
  const { screen, host } = context;
  const { names, read, listed } = await source.readCatalogs(context, typed);
  const found = listed.filter(({ entry }) => entry.id === typed.id);
  if (found.length === 0) {
    const ids = listed.map(({ entry }) => textOf(entry.id) ?? "");
    throw modelNotListed(typed.id, names, catalogs.findNearestId(typed.id, ids));
  }
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const columns = columnsOf.rowColumns("all", [...new Set(found.flatMap(listExtraPrices))], host.now());
    const rows = found.map((one) => ({ catalogEntry: one }));
    const wire = { bytes: catalogs.rowsDocument(rows, names), member: "data" };
    return await printList(screen, { columns, rows, wire });
  }
  const sections = read.flatMap(({ catalog, provider }): readonly Section[] => {
    const title = `${catalog} catalog, ${provider}`;
    const entries = found.filter((one) => one.catalog === catalog);
    if (entries.length === 0) return [{ title, block: "not listed" }];
    return entries.flatMap((entry) => toSections(entry, title, host.now()));
  });
  await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
};

const listExtraPrices = ({ entry }: catalogs.CatalogEntry) =>
  [...catalogs.statedPrices(entry.pricing).keys()].filter((name) => !catalogs.namedPrices.has(name));

const toSections = (catalogEntry: catalogs.CatalogEntry, title: string, now: number): readonly Section[] => {
  const { entry, raw } = catalogEntry;
  const spelled = readSpelledObject(raw);
  const extraPrices = listExtraPrices(catalogEntry);
  const isNested = (name: string) => typeof catalogs.statedPrices(entry.pricing).get(name) === "object";
  const plainPrices = extraPrices.filter((name) => !isNested(name));
  const columns = columnsOf.rowColumns(catalogEntry.catalog, plainPrices, now);
  const lines = columns.slice(1).map(({ name, heading, cell, tag: tagOf }): Line => {
    const tag = tagOf?.({ catalogEntry });
    const text = cell({ catalogEntry }, () => spelled.text(name));
    const label = heading.replace("\n", " ");
    return tag === undefined ? { label, text } : { label, text: `${text} ${tag.text}`, tone: tag.tone };
  });
  const shown = new Set(columns.map(({ name }) => name));
  const otherKeys = spelled.keys.filter((key) => {
    if (key === "pricing") return entry.pricing !== null && !isObject(entry.pricing);
    return key === "datacenters" ? hasMoreThanCountry(entry.datacenters) : !shown.has(key);
  });
  const nestedPrices = extraPrices.filter(isNested).map((name) => `pricing.${name}`);
  const otherLines = [...nestedPrices, ...otherKeys].map((key) => ({ label: key, text: spelled.json(key) }));
  if (otherLines.length === 0) return [{ title, lines }];
  return [
    { title, lines },
    { title: "other", level: 2, lines: otherLines },
  ];
};

/** True if the column of countries does not show everything about the data centers. */
const hasMoreThanCountry = (datacenters: unknown) =>
  datacenters !== null &&
  !catalogs
    .listDatacenters(datacenters)
    ?.every((one) => Object.keys(one).join() === "country_code" && textOf(one.country_code) !== undefined);
