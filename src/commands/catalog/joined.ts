/** Lists the entries of several catalogs at once, each beside the model that can be called where it was joined with one. */
import type { CatalogName, Filter, JoinedRow, Listed } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { Entries } from "../../contract/fields.ts";
import { Failure } from "../../failure.ts";
import { type Column, printList } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { sortValue, textCell } from "../lists/cells.ts";
import { isForProgram } from "../lists/form.ts";
import { isFiltered, orderOf, selected, selectionNotice, watched, withOrderSeen } from "../lists/selection.ts";
import { modelColumns } from "../models/columns.ts";
import { catalogColumns, deprecationMark, openOwnPrices, ownPriceColumn, pricesIn, withoutPrices } from "./columns.ts";
import { absentIn, requireWords } from "./filter.ts";
import { openOddities } from "./odd.ts";
import { type CatalogRead, type CatalogSource, providerSettings, readCatalog } from "./source.ts";

/** Catalogs that were read, and why others were not. */
export interface CatalogsRead {
  readonly read: readonly CatalogRead[];
  readonly failures: readonly Failure[];
}

/** Reads catalogs side by side. @throws Failure where none could be read, and where the run was interrupted */
export const readCatalogs = async (
  context: Context,
  {
    settings,
    source,
    names,
  }: { readonly settings: Settings; readonly source: CatalogSource; readonly names: readonly CatalogName[] },
): Promise<CatalogsRead> => {
  const settled = await Promise.allSettled(
    names.map(async (catalog) => await readCatalog(context, { settings, catalog, source })),
  );
  const read = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const reasons = settled.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
  const failures = reasons.filter((reason): reason is Failure => reason instanceof Failure);
  const worst = reasons.find((reason) => !(reason instanceof Failure) || reason.code === "interrupted");
  if (worst !== undefined) throw worst;
  if (read.length === 0 && failures[0] !== undefined) throw failures[0];
  return { read, failures };
};

/** The entries of catalogs, one catalog behind the other. */
export const listedOf = async (context: Context, read: readonly CatalogRead[]): Promise<Entries<Listed>> => {
  const { listedIn } = await context.catalogs();
  return listedIn(read.map(({ place, value, bytes }) => ({ catalog: place.catalog, entries: value.data, bytes })));
};

/** What is listed, and how. */
export interface JoinedList {
  readonly rows: Entries<JoinedRow>;
  /** All entries that were read: a word that a filter takes is looked for in them. */
  readonly listed: Entries<Listed>;
  readonly catalogs: readonly CatalogName[];
  readonly filter: Filter;
  readonly sort: readonly string[] | undefined;
  readonly limit: number | undefined;
  /** Whether models that can be called are listed: their columns stand behind those of the catalogs. */
  readonly withModels: boolean;
  /** The sentence for no row at all. */
  readonly none: string;
}

/** Prints such a list. @throws Failure `option-value-wrong` */
export const printJoined = async (context: Context, list: JoinedList): Promise<void> => {
  const { screen, host } = context;
  const { rows, listed, catalogs, filter, sort, limit, withModels, none } = list;
  const room = await context.catalogs();
  const entries = room.changed(listed, ({ entry }) => entry);
  await requireWords(context, filter, entries);
  const [prices, oddities] = [openOwnPrices(room), openOddities(room, filter)];
  const now = host.now();
  const own = catalogColumns(deprecationMark(room, now));
  const columnsWith = (priced: typeof own) => joinedColumns([...own, ...priced], { withModels });
  const selection = selected({
    entries: watched(rows, (row) => {
      if (row.listed === undefined) return;
      prices.add(row.listed.entry);
      oddities.add(row.listed.entry);
    }),
    matches: room.joinedMatcher(filter, { now }),
    order: orderOf(sort, columnsWith(pricesIn(sort).map((name) => ownPriceColumn(room, name)))),
    limit,
  });
  const all = columnsWith(prices.columns());
  const columns = withOrderSeen(all, orderOf(sort, all));
  const absent = selection.found === 0 ? await absentIn(context, filter, entries) : [];
  const about = {
    pattern: filter.pattern,
    filtered: isFiltered(filter),
    of: rows.length,
    none,
    noun: "entries",
    absent,
  };
  for (const sentence of [oddities.notice(), selectionNotice(selection, about)]) {
    if (sentence !== undefined) screen.notice(sentence);
  }
  await printRows(context, { columns, rows: selection.rows, catalogs });
};

/** Prints rows in the form asked for; JSON says the catalog beside each entry. */
export const printRows = async (
  context: Context,
  {
    columns,
    rows,
    catalogs,
  }: {
    readonly columns: readonly Column<JoinedRow>[];
    readonly rows: Pick<Entries<JoinedRow>, "length" | "at">;
    readonly catalogs: readonly CatalogName[];
  },
): Promise<void> => {
  const room = await context.catalogs();
  const forProgram = isForProgram(context);
  const bytes = forProgram ? room.joinedDocument(rows, catalogs) : room.rowsDocument(rows);
  await printList(context.screen, {
    columns: forProgram ? columns.map(namedAsInJson) : columns,
    rows,
    wire: { bytes, member: "data" },
  });
};

/** Refuses columns that there can't be, before anything is asked for. @throws Failure `option-value-wrong` */
export const requireJoinedColumns = (
  sort: readonly string[] | undefined,
  about: { readonly withModels: boolean },
): void => {
  orderOf(withoutPrices(sort), joinedColumns(catalogColumns(), about));
};

/** The columns of such a list: the catalogs' own, with the catalog itself behind the id, and those of the models at the end. */
export const joinedColumns = (
  own: ReturnType<typeof catalogColumns>,
  { withModels }: { readonly withModels: boolean },
): readonly Column<JoinedRow>[] => [
  idColumn,
  catalogColumn,
  ...own.filter(({ name }) => name !== "id").map(ofEntry),
  ...(withModels ? modelColumns.filter(({ name }) => name !== "id").map(ofModel) : []),
];

const idOf = ({ model, listed }: JoinedRow) => (listed === undefined ? model?.value.id : listed.entry.id);

const idColumn: Column<JoinedRow> = {
  name: "id",
  heading: "id",
  rank: 0,
  cell: (row, spelled) => textCell(idOf(row), spelled),
  value: (row) => sortValue(idOf(row)),
};

const catalogColumn: Column<JoinedRow> = {
  name: "catalog",
  heading: "catalog",
  rank: 0,
  cell: ({ listed }) => listed?.catalog ?? "none",
  value: ({ listed }) => listed?.catalog,
};

const ofEntry = (column: ReturnType<typeof catalogColumns>[number]): Column<JoinedRow> => ({
  ...column,
  cell: ({ listed }, spelled) => (listed === undefined ? "" : column.cell(listed.entry, spelled)),
  value: ({ listed }) => (listed === undefined ? undefined : column.value(listed.entry)),
  mark: ({ listed }) => (listed === undefined ? undefined : column.mark?.(listed.entry)),
});

/** Behind all columns of the catalogs. */
const modelRank = 20;

const ofModel = (column: (typeof modelColumns)[number]): Column<JoinedRow> => ({
  ...column,
  name: `model.${column.name}`,
  heading: `model\n${column.heading}`,
  rank: modelRank + column.rank,
  cell: ({ model }, spelled) => (model === undefined ? "" : column.cell(model.value, spelled)),
  value: ({ model }) => (model === undefined ? undefined : column.value(model.value)),
  mark: () => undefined,
});

/** The names that `--fields` takes of such a list; in JSON an entry is an object of its own, beside the catalog that it is from. */
export const joinedNames = ({
  withModels,
  asJson,
}: {
  readonly withModels: boolean;
  readonly asJson: boolean;
}): readonly string[] =>
  joinedColumns(catalogColumns(), { withModels }).map((column) => (asJson ? namedAsInJson(column) : column).name);

const namedAsInJson = (column: Column<JoinedRow>): Column<JoinedRow> =>
  column.name === "catalog" || column.name.startsWith("model.") ? column : { ...column, name: `entry.${column.name}` };

/** Ends a run that printed what it could read. @throws Failure */
export const endWith = ([failure]: readonly Failure[]): void => {
  if (failure !== undefined) throw failure;
};

/** Sentences for the catalogs that are left out, since nobody said which they are. */
export const leftOut = (all: readonly CatalogName[], names: readonly CatalogName[]): readonly string[] =>
  all
    .filter((name) => !names.includes(name))
    .map((name) => `the ${name} catalog is left out: ${providerSettings[name]} is not set`);
