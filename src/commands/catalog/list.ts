/** Lists the models of catalogs, and shows one model (interface 4.2, 4.4, 4.5). */
import * as catalogs from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { type Entries, MistypedValue, mapEntries, type ReplyList, typedValue } from "../../contract/replies.ts";
import { rootSpan } from "../../json/walk.ts";
import {
  type Column,
  type Line,
  printList,
  printPage,
  readSpelledObject,
  type Screen,
  type Section,
} from "../../output/index.ts";
import { formatList } from "../../sentences.ts";
import { modelNotListed } from "../failures.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";
import { keepRequestedColumns, noteSelection, parseOrder, selectEntries } from "../lists/selection.ts";
import { type DeprecationMark, deprecationMark, listRequestedPrices, rowColumns, useJsonNames } from "./columns.ts";
import type { TypedList, TypedShow } from "./command.ts";
import * as source from "./source.ts";

type TypedRows = TypedFilter & TypedOrder & { readonly pattern: string | undefined };
type Row = catalogs.CatalogRow;

/** Checks options before anything is read. @throws Failure `invalid-option-value`, `conflicting-options` */
const openRowSelector = ({ host, screen }: Context, typed: TypedRows, of: "one" | "all" | "models") => {
  source.checkFilterOptions(typed);
  const prices = listRequestedPrices(typed);
  const { pattern, limit, sort } = typed;
  const columnsWith = (names: readonly string[]) =>
    rowColumns({ of, prices: names, mark: deprecationMark(host.now()) });
  const order = parseOrder(sort, columnsWith(prices));
  /**
   * Selects rows and prints the notes about them. The words of a filter are looked up in all listed entries.
   * @throws Failure `invalid-option-value`
   */
  return (entries: Entries<Row>, listed: Entries<catalogs.CatalogEntry>, emptyText: string) => {
    source.checkFilterWords(typed, listed);
    const mistypings = openEntryMistypings(pattern);
    const stated = new Set<string>();
    const { rows, ...selection } = selectEntries({
      entries,
      // All in one pass, because each pass decodes all entries.
      onEntry: ({ listed: own }) => {
        if (own === undefined) return;
        mistypings.add(own);
        for (const name of catalogs.statedPrices(own.entry.pricing).keys()) stated.add(name);
      },
      matches: catalogs.createRowMatcher(typed, host.now()),
      order,
      limit,
    });
    mistypings.note(screen);
    const isFiltered = pattern === undefined || catalogs.hasFilters(typed);
    const noun = of === "one" ? "models" : "entries";
    noteSelection(screen, { rows, ...selection }, { pattern, isFiltered, of: entries.length, emptyText, noun });
    const all = columnsWith(prices.filter((name) => stated.has(name)));
    const filtered = catalogs.filteredColumns(typed);
    return { ...selection, rows, columns: keepRequestedColumns(all, { order: parseOrder(sort, all), filtered }) };
  };
};

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, name: catalogs.CatalogName, typed: TypedList): Promise<void> => {
  const select = openRowSelector(context, typed, "one");
  const label = `reading the ${name} catalog`;
  const { read, listed } = await source.readSelectedCatalogs(context, typed, { names: [name], label });
  for (const { models } of read) {
    const entries = mapEntries(listed, (one): Row => ({ listed: one }));
    const { columns, rows, positions } = select(entries, listed, "the catalog is empty");
    const shownPositions = positions.map((at) => models.positions[at] ?? at);
    const wire = { bytes: models.bytes, member: "data", elements: models.elements, shownPositions };
    await printList(context.screen, { columns, rows, wire });
  }
};

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  const select = openRowSelector(context, typed, "all");
  const label = "reading both catalogs";
  const found = await source.readSelectedCatalogs(context, typed, { names: catalogs.catalogNames, label });
  const entries = mapEntries(found.listed, (listed): Row => ({ listed }));
  await printRows(context, select(entries, found.listed, "the catalogs are empty"), found);
};

/** `models --with-prices`. @throws Failure */
export const listPricedModels = async (
  context: Context,
  typed: TypedRows,
  readModels: () => Promise<ReplyList<InferenceModel>>,
): Promise<void> => {
  const select = openRowSelector(context, typed, "models");
  const options = { maxAge: undefined, offline: false };
  const label = "reading the models and the catalogs";
  const reading = source.readSelectedCatalogs(context, options, { label });
  const [models, found] = await Promise.all([readModels(), reading]);
  source.noteSkippedCatalogs(context, found.names);
  const entries = catalogs.joinById(models, found.listed);
  await printRows(context, select(entries, found.listed, "the service lists no models"), found);
};

const openEntryMistypings = (pattern = "") => {
  const models: string[] = [];
  const matches = catalogs.createMatcher({ pattern }, 0);
  return {
    add: ({ entry }: catalogs.CatalogEntry) => {
      const fields = matches(entry) ? catalogs.findMistypedFields(entry) : [];
      const id = typedValue(entry.id);
      const name = id === undefined ? "an entry without an id" : JSON.stringify(id);
      if (fields.length > 0) models.push(`${name} (${formatList(fields)})`);
    },
    note: ({ notice }: Screen) => {
      if (models.length > 0)
        notice(`printed fields of unexpected types as received, and filters ignored them: ${formatList(models)}`);
    },
  };
};

/** Prints rows, in JSON each entry as an object next to its catalog. @throws why a catalog was not read */
const printRows = async (
  { screen }: Context,
  { columns, rows }: { readonly columns: readonly Column<Row>[]; readonly rows: Pick<Entries<Row>, "length" | "at"> },
  { read, failures }: source.CatalogsRead,
): Promise<void> => {
  const { isForProgram } = screen;
  const names = read.map(({ catalog }) => catalog);
  const bytes = isForProgram ? catalogs.rowsDocument(rows, names) : catalogs.cellsDocument(rows);
  const wire = { bytes, member: "data" };
  await printList(screen, { columns: isForProgram ? useJsonNames(columns) : columns, rows, wire });
  source.throwFirst(failures);
};

/** `catalog show`. @throws Failure `model-not-listed` */
export const showModel = async (context: Context, typed: TypedShow): Promise<void> => {
  const { screen, host } = context;
  const selected = await source.readSelectedCatalogs(context, typed, { label: "reading the catalogs" });
  const { names, read, listed, failures } = selected;
  source.noteSkippedCatalogs(context, names);
  const found = [...listed].filter(({ entry }) => typedValue(entry.id) === typed.id);
  if (found.length === 0) {
    source.throwFirst(failures);
    const ids = Array.from(listed, ({ entry }) => typedValue(entry.id) ?? "");
    throw modelNotListed({ id: typed.id, names, near: catalogs.findNearestId(typed.id, ids) });
  }
  const mistypings = openEntryMistypings();
  found.forEach(mistypings.add);
  mistypings.note(screen);
  const mark = deprecationMark(host.now());
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const prices = [...new Set(found.flatMap(listExtraPrices))];
    const rows = found.map((one) => ({ listed: one }));
    return await printRows(context, { columns: rowColumns({ of: "all", prices, mark }), rows }, selected);
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

const entrySections = (listed: catalogs.CatalogEntry, title: string, mark: DeprecationMark): readonly Section[] => {
  const { entry, raw } = listed;
  const spelled = readSpelledObject(raw, rootSpan(raw));
  const extra = listExtraPrices(listed);
  const isNested = (name: string): boolean => typeof catalogs.statedPrices(entry.pricing).get(name) === "object";
  const columns = rowColumns({ prices: extra.filter((name) => !isNested(name)), mark });
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
