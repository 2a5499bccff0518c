/** Lists the models of catalogs, and shows one model (interface 4.2, 4.4, 4.5). */
import {
  type CatalogEntry,
  type CatalogName,
  type CatalogRow,
  catalogNames,
  cellsDocument,
  createMatcher,
  createRowMatcher,
  filteredColumns,
  findMistypedFields,
  findNearestId,
  hasFilters,
  joinById,
  namedPrices,
  rowsDocument,
  statedPrices,
} from "../../catalogs/index.ts";
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
import { formatList, pluralize } from "../../sentences.ts";
import { modelNotListed } from "../failures.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";
import { keepRequestedColumns, noteSelection, parseOrder, type Selection, selectEntries } from "../lists/selection.ts";
import { type DeprecationMark, deprecationMark, listRequestedPrices, rowColumns, useJsonNames } from "./columns.ts";
import type { TypedList, TypedShow } from "./command.ts";
import {
  type CatalogsRead,
  checkFilterOptions,
  checkFilterWords,
  noteSkippedCatalogs,
  readSelectedCatalogs,
  throwFirst,
} from "./source.ts";

type TypedRows = TypedFilter & TypedOrder & { readonly pattern: string | undefined };

interface RowsRead {
  readonly rows: Entries<CatalogRow>;
  /** All entries. The words of a filter are looked up in them. */
  readonly listed: Entries<CatalogEntry>;
  /** The note if there is nothing to select from. */
  readonly emptyText: string;
}

interface SelectedRows {
  readonly columns: readonly Column<CatalogRow>[];
  readonly selection: Selection<CatalogRow>;
}

/** Checks options before anything is read. @throws Failure `invalid-option-value`, `conflicting-options` */
const openRowSelector = ({ host, screen }: Context, typed: TypedRows, of: "one" | "all" | "models") => {
  checkFilterOptions(typed);
  const prices = listRequestedPrices(typed);
  const { pattern, limit, sort } = typed;
  const columnsWith = (names: readonly string[]) =>
    rowColumns({ of, prices: names, mark: deprecationMark(host.now()) });
  const order = parseOrder(sort, columnsWith(prices));
  /** Selects rows and prints the notes about them. @throws Failure `invalid-option-value` */
  return ({ rows, listed, emptyText }: RowsRead): SelectedRows => {
    checkFilterWords(typed, listed);
    const mistypings = openEntryMistypings(pattern);
    const stated = new Set<string>();
    const selection = selectEntries({
      entries: rows,
      // All in one pass, because each pass decodes all entries.
      onEntry: ({ listed: own }) => {
        if (own === undefined) return;
        mistypings.add(own);
        for (const name of statedPrices(own.entry.pricing).keys()) stated.add(name);
      },
      matches: createRowMatcher(typed, host.now()),
      order,
      limit,
    });
    mistypings.note(screen);
    const isFiltered = pattern === undefined || hasFilters(typed);
    const noun = of === "one" ? "models" : "entries";
    noteSelection(screen, selection, { pattern, isFiltered, of: rows.length, emptyText, noun });
    const columns = columnsWith(prices.filter((name) => stated.has(name)));
    const shown = { order: parseOrder(sort, columns), filtered: filteredColumns(typed) };
    return { columns: keepRequestedColumns(columns, shown), selection };
  };
};

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, catalog: CatalogName, typed: TypedList): Promise<void> => {
  const select = openRowSelector(context, typed, "one");
  const label = `reading the ${catalog} catalog`;
  const { read, listed } = await readSelectedCatalogs(context, typed, { names: [catalog], label });
  for (const { models } of read) {
    const { bytes, elements, positions } = models;
    const rows = mapEntries(listed, (one): CatalogRow => ({ listed: one }));
    const { columns, selection } = select({ rows, listed, emptyText: "the catalog is empty" });
    const shownPositions = selection.positions.map((at) => positions[at] ?? at);
    const wire = { bytes, member: "data", elements, shownPositions };
    await printList(context.screen, { columns, rows: selection.rows, wire });
  }
};

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  const select = openRowSelector(context, typed, "all");
  const catalogs = await readSelectedCatalogs(context, typed, { names: catalogNames, label: "reading both catalogs" });
  const rows = mapEntries(catalogs.listed, (listed): CatalogRow => ({ listed }));
  await printSelected(context, select({ rows, ...catalogs, emptyText: "the catalogs are empty" }), catalogs);
};

/** `models --with-prices`. @throws Failure */
export const listPricedModels = async (
  context: Context,
  typed: TypedRows,
  readModels: () => Promise<ReplyList<InferenceModel>>,
): Promise<void> => {
  const select = openRowSelector(context, typed, "models");
  const source = { maxAge: undefined, offline: false };
  const label = "reading the models and the catalogs";
  const [models, catalogs] = await Promise.all([readModels(), readSelectedCatalogs(context, source, { label })]);
  const rows = joinById(models, catalogs.listed);
  noteSkippedCatalogs(context, catalogs.names);
  const unlisted = rows
    .filter(createRowMatcher({ pattern: typed.pattern }, 0))
    .flatMap(({ model, listed }) => (listed === undefined ? (typedValue(model?.value.id) ?? []) : []));
  if (unlisted.length > 0) {
    const where = catalogs.names.length === 1 ? `not in the ${catalogs.names[0]} catalog` : "not in any catalog";
    const count = pluralize(unlisted.length, "model is", "models are");
    context.screen.notice(`${count} ${where}: ${formatList(unlisted)}`);
  }
  await printSelected(context, select({ rows, ...catalogs, emptyText: "the service lists no models" }), catalogs);
};

/** Collects the mistyped fields of the models that match a pattern. */
const openEntryMistypings = (pattern = "") => {
  const models: string[] = [];
  const matches = createMatcher({ pattern }, 0);
  return {
    add: ({ entry }: CatalogEntry) => {
      const fields = matches(entry) ? findMistypedFields(entry) : [];
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

const printSelected = async (context: Context, selected: SelectedRows, catalogs: CatalogsRead): Promise<void> => {
  await printRows(context, selected.columns, selected.selection.rows, catalogs);
  throwFirst(catalogs.failures);
};

/** Prints rows. In JSON, each entry is an object next to its catalog. */
const printRows = async (
  { screen }: Context,
  columns: readonly Column<CatalogRow>[],
  rows: Pick<Entries<CatalogRow>, "length" | "at">,
  { read }: CatalogsRead,
): Promise<void> => {
  const names = read.map(({ catalog }) => catalog);
  const bytes = screen.isForProgram ? rowsDocument(rows, names) : cellsDocument(rows);
  await printList(screen, {
    columns: screen.isForProgram ? useJsonNames(columns) : columns,
    rows,
    wire: { bytes, member: "data" },
  });
};

/** `catalog show`. @throws Failure `model-not-listed` */
export const showModel = async (context: Context, typed: TypedShow): Promise<void> => {
  const { screen, host } = context;
  const catalogs = await readSelectedCatalogs(context, typed, { label: "reading the catalogs" });
  const { names, read, listed, failures } = catalogs;
  noteSkippedCatalogs(context, names);
  const found = [...listed].filter(({ entry }) => typedValue(entry.id) === typed.id);
  if (found.length === 0) {
    throwFirst(failures);
    const ids = Array.from(listed, ({ entry }) => typedValue(entry.id) ?? "");
    throw modelNotListed({ id: typed.id, names, near: findNearestId(typed.id, ids) });
  }
  const mistypings = openEntryMistypings();
  found.forEach(mistypings.add);
  mistypings.note(screen);
  const mark = deprecationMark(host.now());
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const prices = [...new Set(found.flatMap(listExtraPrices))];
    const rows = found.map((one) => ({ listed: one }));
    await printRows(context, rowColumns({ of: "all", prices, mark }), rows, catalogs);
  } else {
    const sections = read.flatMap(({ catalog, provider }): readonly Section[] => {
      const title = `${catalog} catalog, ${provider}`;
      const entries = found.filter((one) => one.catalog === catalog);
      if (entries.length === 0) return [{ title, block: "not listed" }];
      return entries.flatMap((entry) => entrySections(entry, title, mark));
    });
    await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
  }
  throwFirst(failures);
};

const listExtraPrices = ({ entry }: CatalogEntry): readonly string[] =>
  [...statedPrices(entry.pricing).keys()].filter((name) => !namedPrices.has(name));

/** Returns the sections of an entry: its fields, then all other keys. */
const entrySections = (listed: CatalogEntry, title: string, mark: DeprecationMark): readonly Section[] => {
  const { entry, raw } = listed;
  const spelled = readSpelledObject(raw, rootSpan(raw));
  const extra = listExtraPrices(listed);
  const isNested = (name: string): boolean => typeof statedPrices(entry.pricing).get(name) === "object";
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
const hasMoreThanCountry = (datacenters: CatalogEntry["entry"]["datacenters"]): boolean =>
  datacenters instanceof MistypedValue ||
  (datacenters ?? []).some(
    (one) => Object.keys(one).join() !== "country_code" || typedValue(one.country_code) === undefined,
  );
