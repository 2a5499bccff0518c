/** Lists the models of catalogs, and shows one of them (interface 4.2, 4.4, 4.5). */
import {
  type CatalogEntry,
  type CatalogName,
  type CatalogRow,
  catalogNames,
  cellsDocument,
  createMatcher,
  createRowMatcher,
  filteredColumns,
  findAbsentWords,
  findMistypedFields,
  findNearestId,
  findUnlistedModels,
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
import { pluralize } from "../../sentences.ts";
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
  type CatalogRead,
  type CatalogsRead,
  checkFilterOptions,
  checkFilterWords,
  noteSkippedCatalogs,
  readSelectedCatalogs,
  throwFirst,
} from "./source.ts";

type TypedRows = TypedFilter & TypedOrder & { readonly pattern: string | undefined };

type RowScope = "one" | "all" | "models";

/** Refuses options that cannot hold, before anything is read. @throws Failure `invalid-option-value`, `conflicting-options` */
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
    // A program gets the whole reply as it came: no entry has to be decoded.
    if (screen.isForProgram && isAll) {
      const wire = { bytes, member: "data", elements, ...(nulls === 0 ? {} : { shownPositions: positions }) };
      return await printList(screen, { columns: rowColumns(), rows, wire });
    }
    const { columns, selection } = selectRows(context, typed, {
      scope: "one",
      rows,
      listed,
      emptyText: "the catalog is empty",
    });
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

/** `models --with-prices`. Ids are joined if they are exactly the same. @throws Failure */
export const listPricedModels = async (
  context: Context,
  typed: TypedRows,
  readModels: () => Promise<ReplyList<InferenceModel>>,
): Promise<void> => {
  const { screen } = context;
  checkRowOptions(typed, "models");
  const source = { maxAge: undefined, offline: false };
  const label = "reading the models and the catalogs";
  const [models, catalogs] = await Promise.all([readModels(), readSelectedCatalogs(context, source, { label })]);
  const rows = joinById(models, catalogs.listed);
  const unlisted = findUnlistedModels(rows.filter(createRowMatcher({ pattern: typed.pattern }, 0)), catalogs.listed);
  noteSkippedCatalogs(context, catalogs.names);
  if (unlisted.length > 0) screen.notice(describeUnlisted(unlisted, catalogs.read));
  await printSelected(context, typed, { scope: "models", rows, ...catalogs, emptyText: "the service lists no models" });
};

/** Models that are named in one sentence at most. */
const maxNamedModels = 5;

const describeUnlisted = (
  unlisted: ReturnType<typeof findUnlistedModels>,
  [only, other]: readonly CatalogRead[],
): string => {
  const named = unlisted
    .slice(0, maxNamedModels)
    .map(({ id, near }) => (near === undefined ? id : `${id} (there is ${near})`));
  const more = unlisted.length > maxNamedModels ? ` and ${unlisted.length - maxNamedModels} more` : "";
  const where = other === undefined ? `not in the ${only?.catalog} catalog` : "in no catalog";
  return `${pluralize(unlisted.length, "model is", "models are")} ${where}: ${named.join(", ")}${more}`;
};

/** Rows to select from. */
interface RowsRead {
  readonly scope: RowScope;
  readonly rows: Entries<CatalogRow>;
  /** All entries that were read: the words of a filter are looked up in them. */
  readonly listed: Entries<CatalogEntry>;
  /** The sentence for no row at all. */
  readonly emptyText: string;
}

/** Selects rows, and says what there is to say about them. @throws Failure `invalid-option-value` */
const selectRows = (
  { host, screen }: Context,
  typed: TypedRows,
  { scope: of, rows, listed, emptyText: none }: RowsRead,
): { readonly columns: readonly Column<CatalogRow>[]; readonly selection: Selection<CatalogRow> } => {
  const { pattern, sort, limit } = typed;
  const models = mapEntries(listed, ({ entry }) => entry);
  checkFilterWords(typed, models);
  const [prices, mistypings] = [openExtraPrices(), openEntryMistypings(pattern)];
  const selection = selectEntries({
    entries: rows,
    // All questions are asked in one pass, because each pass decodes all entries.
    see: ({ listed: own }) => {
      if (own === undefined) return;
      prices.add(own.entry);
      mistypings.add(own);
    },
    matches: createRowMatcher(typed, host.now()),
    order: parseOrder(sort, rowColumns({ of, prices: parseSortedPrices(sort) })),
    limit,
  });
  mistypings.tell(screen);
  const columns = rowColumns({ of, prices: prices.names(), mark: deprecationMark(host.now()) });
  const absent = selection.total === 0 ? findAbsentWords(typed, models) : [];
  const filtered = pattern === undefined || hasFilters(typed);
  const noun = of === "one" ? "models" : "entries";
  noteSelection(screen, selection, { pattern, filtered, of: rows.length, none, noun, absent });
  const order = parseOrder(sort, columns);
  return { columns: keepRequestedColumns(columns, { order, filtered: filteredColumns(typed) }), selection };
};

/** Gathers the mistyped fields of the models that a pattern means. */
const openEntryMistypings = (pattern = "") => {
  const { add, note: tell } = openMistypings("shown as it came and matched by no filter");
  const isMeant = createMatcher({ pattern }, 0);
  return {
    add: ({ entry }: CatalogEntry) =>
      isMeant(entry) ? add(typedValue(entry.id), findMistypedFields(entry)) : undefined,
    tell,
  };
};

const printSelected = async (context: Context, typed: TypedRows, rowsRead: RowsRead & CatalogsRead): Promise<void> => {
  const { columns, selection } = selectRows(context, typed, rowsRead);
  await printRows(context, { columns, rows: selection.rows, read: rowsRead.read });
  throwFirst(rowsRead.failures);
};

/** Rows in the form asked for. */
interface RowsPrinted {
  readonly columns: readonly Column<CatalogRow>[];
  readonly rows: Pick<Entries<CatalogRow>, "length" | "at">;
  readonly read: readonly CatalogRead[];
}

/** Prints rows. JSON has the catalog next to each entry. */
const printRows = async ({ screen }: Context, { columns, rows, read }: RowsPrinted): Promise<void> => {
  const catalogs = read.map(({ catalog }) => catalog);
  const bytes = screen.isForProgram ? rowsDocument(rows, catalogs) : cellsDocument(rows);
  const shown = screen.isForProgram ? useJsonNames(columns) : columns;
  await printList(screen, { columns: shown, rows, wire: { bytes, member: "data" } });
};

/** `catalog show`: everything that the catalogs say about one model. @throws Failure `model-not-listed` */
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
  mistypings.tell(screen);
  const mark = deprecationMark(host.now());
  if (screen.isForProgram || screen.format === "csv" || screen.fields !== undefined) {
    const columns = rowColumns({ of: "all", prices: prices.names(), mark });
    await printRows(context, { columns, rows: found.map((one) => ({ listed: one })), read });
  } else {
    const sections = read.flatMap(({ catalog, provider }): readonly Section[] => {
      const title = `${catalog} catalog, ${provider}`;
      const entries = found.filter((one) => one.catalog === catalog);
      if (entries.length === 0) return [{ title, block: "does not list it" }];
      return entries.flatMap((entry) => entrySections(entry, title, mark));
    });
    await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
  }
  throwFirst(failures);
};

/** The sections of an entry: its fields, then what has no line of its own. */
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

/** True if a data center states anything but its country, or no country. */
const hasMoreThanCountry = (datacenters: CatalogEntry["entry"]["datacenters"]): boolean =>
  datacenters instanceof MistypedValue ||
  (datacenters ?? []).some(
    (one) => Object.keys(one).join() !== "country_code" || typedValue(one.country_code) === undefined,
  );
