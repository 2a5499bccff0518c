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
} from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { type Entries, MistypedValue, mapEntries, type ReplyList, typedValue } from "../../contract/replies.ts";
import { rootSpan } from "../../json/walk.ts";
import { type Column, type Line, printList, printPage, readSpelledObject, type Section } from "../../output/index.ts";
import { formatList as joinNames, pluralize } from "../../sentences.ts";
import { modelNotListed } from "../failures.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";
import {
  keepRequestedColumns,
  noteSelection,
  openMistypings,
  parseOrder,
  type Selection,
  selectEntries,
} from "../lists/selection.ts";
import {
  type DeprecationMark,
  deprecationMark,
  openExtraPrices,
  parseSortedPrices,
  rowColumns,
  useJsonNames,
} from "./columns.ts";
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

type RowScope = "one" | "all" | "models";

/** Checks options before anything is read. @throws Failure `invalid-option-value`, `conflicting-options` */
const checkRowOptions = (typed: TypedRows, of: RowScope): void => {
  checkFilterOptions(typed);
  parseOrder(typed.sort, rowColumns({ of, prices: parseSortedPrices(typed.sort) }));
};

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, catalog: CatalogName, typed: TypedList): Promise<void> => {
  const { screen } = context;
  checkRowOptions(typed, "one");
  const label = `reading the ${catalog} catalog`;
  const { read, listed } = await readSelectedCatalogs(context, typed, { names: [catalog], label });
  for (const { models } of read) {
    const { bytes, elements, positions, nulls } = models;
    const rows = mapEntries(listed, (one): CatalogRow => ({ listed: one }));
    const isAll =
      typed.pattern === undefined && !hasFilters(typed) && typed.sort.length === 0 && typed.limit === undefined;
    // A program gets the bytes of the reply, so no entry is decoded.
    if (screen.isForProgram && isAll) {
      const wire = { bytes, member: "data", elements, ...(nulls === 0 ? {} : { shownPositions: positions }) };
      return await printList(screen, { columns: rowColumns(), rows, wire });
    }
    const emptyText = "the catalog is empty";
    const { columns, selection } = selectRows(context, typed, { scope: "one", rows, listed, emptyText });
    const shownPositions = selection.positions.map((at) => positions[at] ?? at);
    await printList(screen, {
      columns,
      rows: selection.rows,
      wire: { bytes, member: "data", elements, shownPositions },
    });
  }
};

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  checkRowOptions(typed, "all");
  const catalogs = await readSelectedCatalogs(context, typed, { names: catalogNames, label: "reading both catalogs" });
  const rows = mapEntries(catalogs.listed, (listed): CatalogRow => ({ listed }));
  await printSelected(context, typed, { scope: "all", rows, ...catalogs, emptyText: "the catalogs are empty" });
};

/** `models --with-prices`. @throws Failure */
export const listPricedModels = async (
  context: Context,
  typed: TypedRows,
  readModels: () => Promise<ReplyList<InferenceModel>>,
): Promise<void> => {
  checkRowOptions(typed, "models");
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
    context.screen.notice(`${count} ${where}: ${joinNames(unlisted)}`);
  }
  await printSelected(context, typed, { scope: "models", rows, ...catalogs, emptyText: "the service lists no models" });
};

interface RowsRead {
  readonly scope: RowScope;
  readonly rows: Entries<CatalogRow>;
  /** All entries. The words of a filter are looked up in them. */
  readonly listed: Entries<CatalogEntry>;
  /** The note if there is nothing to select from. */
  readonly emptyText: string;
}

/** Selects rows and prints the notes about them. @throws Failure `invalid-option-value` */
const selectRows = (
  { host, screen }: Context,
  typed: TypedRows,
  { scope, rows, listed, emptyText }: RowsRead,
): { readonly columns: readonly Column<CatalogRow>[]; readonly selection: Selection<CatalogRow> } => {
  const { pattern, sort, limit } = typed;
  checkFilterWords(
    typed,
    mapEntries(listed, ({ entry }) => entry),
  );
  const [prices, mistypings] = [openExtraPrices(), openEntryMistypings(pattern)];
  const selection = selectEntries({
    entries: rows,
    // All in one pass, because each pass decodes all entries.
    onEntry: ({ listed: own }) => {
      if (own === undefined) return;
      prices.add(own.entry);
      mistypings.add(own);
    },
    matches: createRowMatcher(typed, host.now()),
    order: parseOrder(sort, rowColumns({ of: scope, prices: parseSortedPrices(sort) })),
    limit,
  });
  mistypings.note(screen);
  const columns = rowColumns({ of: scope, prices: prices.names(), mark: deprecationMark(host.now()) });
  const isFiltered = pattern === undefined || hasFilters(typed);
  const noun = scope === "one" ? "models" : "entries";
  noteSelection(screen, selection, { pattern, isFiltered, of: rows.length, emptyText, noun });
  const order = parseOrder(sort, columns);
  return { columns: keepRequestedColumns(columns, { order, filtered: filteredColumns(typed) }), selection };
};

/** Collects the mistyped fields of the models that match a pattern. */
const openEntryMistypings = (pattern = "") => {
  const { add, note } = openMistypings(", and filters ignored them");
  const matches = createMatcher({ pattern }, 0);
  return {
    add: ({ entry }: CatalogEntry) =>
      matches(entry) ? add(typedValue(entry.id), findMistypedFields(entry)) : undefined,
    note,
  };
};

const printSelected = async (context: Context, typed: TypedRows, rowsRead: RowsRead & CatalogsRead): Promise<void> => {
  const { columns, selection } = selectRows(context, typed, rowsRead);
  await printRows(context, { columns, rows: selection.rows, names: rowsRead.read.map(({ catalog }) => catalog) });
  throwFirst(rowsRead.failures);
};

interface PrintedRows {
  readonly columns: readonly Column<CatalogRow>[];
  readonly rows: Pick<Entries<CatalogRow>, "length" | "at">;
  readonly names: readonly CatalogName[];
}

/** Prints rows. In JSON, each entry is an object next to its catalog. */
const printRows = async ({ screen }: Context, { columns, rows, names }: PrintedRows): Promise<void> => {
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
  const { names, read, listed, failures } = await readSelectedCatalogs(context, typed, {
    label: "reading the catalogs",
  });
  noteSkippedCatalogs(context, names);
  const found = [...listed].filter(({ entry }) => typedValue(entry.id) === typed.id);
  if (found.length === 0) {
    throwFirst(failures);
    const ids = Array.from(listed, ({ entry }) => typedValue(entry.id) ?? "");
    throw modelNotListed({ id: typed.id, names, near: findNearestId(typed.id, ids) });
  }
  const [prices, mistypings] = [openExtraPrices(), openEntryMistypings()];
  for (const one of found) {
    prices.add(one.entry);
    mistypings.add(one);
  }
  mistypings.note(screen);
  const mark = deprecationMark(host.now());
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const columns = rowColumns({ of: "all", prices: prices.names(), mark });
    await printRows(context, {
      columns,
      rows: found.map((one) => ({ listed: one })),
      names: read.map(({ catalog }) => catalog),
    });
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

/** Returns the sections of an entry: its fields, then all other keys. */
const entrySections = (listed: CatalogEntry, title: string, mark: DeprecationMark): readonly Section[] => {
  const { entry, raw } = listed;
  const spelled = readSpelledObject(raw, rootSpan(raw));
  const ownPrices = Object.entries(typedValue(entry.pricing) ?? {}).filter(([name]) => !namedPrices.has(name));
  const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;
  const prices = ownPrices.flatMap(([name, price]) => (isPlain(price) ? [name] : []));
  const columns = rowColumns({ prices, mark });
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
  const objects = ownPrices.flatMap(([name, price]) => (isPlain(price) ? [] : [`pricing.${name}`]));
  const other = [...objects, ...others].map((key) => ({ label: key, text: spelled.json(key) }));
  return [{ title, lines }, ...(other.length === 0 ? [] : [{ title: "other", level: 2 as const, lines: other }])];
};

/** True if a data center has other keys than its country, or no country. */
const hasMoreThanCountry = (datacenters: CatalogEntry["entry"]["datacenters"]): boolean =>
  datacenters instanceof MistypedValue ||
  (datacenters ?? []).some(
    (one) => Object.keys(one).join() !== "country_code" || typedValue(one.country_code) === undefined,
  );
