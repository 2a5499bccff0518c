/** Lists the entries of catalogs: of one, of both, or each next to the model that can be called (interface 4.2, 4.4, 4.5). */
import {
  absentWords,
  type CatalogName,
  callableIn,
  catalogNames,
  columnsFiltered,
  type Filter,
  type JoinedRow,
  joinedById,
  joinedDocument,
  joinedMatcher,
  type Listed,
  matcherOf,
  rowsDocument,
  unlistedIn,
} from "../../catalogs/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { type Entries, mapped } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { counted } from "../../counted.ts";
import { type Column, printList } from "../../output/index.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";
import { isFiltered, orderOf, type Selection, selected, tellSelection, withAskedSeen } from "../lists/selection.ts";
import {
  catalogColumns,
  deprecationMark,
  joinedColumns,
  namedAsInJson,
  openOwnPrices,
  ownPriceColumn,
  pricesIn,
  withoutPrices,
} from "./columns.ts";
import type { TypedList } from "./command.ts";
import { filterOf, openMistyped, requireWords } from "./filter.ts";
import {
  type CatalogsRead,
  catalogsMeant,
  endWith,
  leftOut,
  listedOf,
  readCatalog,
  readCatalogs,
  sourceOf,
} from "./source.ts";

/** What is listed, and in which order. */
interface ListAsked extends TypedOrder {
  readonly filter: Filter;
}

const askedIn = (
  { host }: Context,
  typed: TypedFilter & TypedOrder & { readonly pattern: string | undefined },
): ListAsked => ({ filter: filterOf(typed, { now: host.now() }), sort: typed.sort, limit: typed.limit });

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, catalog: CatalogName, typed: TypedList): Promise<void> => {
  const { screen, host } = context;
  const [asked, source] = [askedIn(context, typed), sourceOf(typed)];
  const { filter, sort, limit } = asked;
  orderOf(withoutPrices(sort), catalogColumns());
  const progress = screen.progress(`reading the ${catalog} catalog`);
  const settings = await settingsInForce(context);
  const { value, bytes } = await readCatalog(context, { settings, catalog, source }).finally(progress.stop);
  const entries = value.data;
  const isAll = sort.length === 0 && [limit, ...Object.values(filter)].every((one) => one === undefined);
  // A program gets the whole reply as it came: no entry has to be decoded.
  if (screen.isForProgram && isAll)
    return await printList(screen, { columns: catalogColumns(), rows: entries, wire: { bytes, member: "data" } });
  const { columns, selection } = selectModels(context, asked, {
    rows: entries,
    models: entries,
    modelOf: (model) => model,
    matches: matcherOf(filter, { now: host.now() }),
    columnsWith: (own) => own,
    none: "the catalog is empty",
    noun: "models",
  });
  await printList(screen, { columns, rows: selection.rows, wire: { bytes, member: "data", kept: selection.kept } });
};

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  const [asked, source] = [askedIn(context, typed), sourceOf(typed)];
  requireJoinedColumns(asked, { withModels: false });
  const settings = await settingsInForce(context);
  const progress = context.screen.progress("reading both catalogs");
  const catalogs = await readCatalogs(context, { settings, source, names: catalogNames }).finally(progress.stop);
  const listed = listedOf(catalogs.read);
  const rows = mapped(listed, (one) => ({ listed: one }));
  await printJoined(context, asked, { rows, listed, catalogs, withModels: false, none: "the catalogs are empty" });
};

/** `models --with-prices`. Ids are joined if they are exactly the same. @throws Failure */
export const listPriced = async (
  context: Context,
  typed: Parameters<typeof askedIn>[1],
  readModels: () => Promise<{ readonly entries: Entries<InferenceModel>; readonly bytes: Uint8Array }>,
): Promise<void> => {
  const { screen } = context;
  const asked = askedIn(context, typed);
  requireJoinedColumns(asked, { withModels: true });
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, undefined);
  const source = { maxAgeMs: undefined, offline: false };
  const progress = screen.progress("reading the models and the catalogs");
  const [models, catalogs] = await Promise.all([
    readModels(),
    readCatalogs(context, { settings, source, names }),
  ]).finally(progress.stop);
  const listed = listedOf(catalogs.read);
  const rows = joinedById(callableIn(models.entries, models.bytes), listed);
  const unlisted = unlistedIn(rows.filter(joinedMatcher({ pattern: typed.pattern }, { now: 0 })), listed);
  for (const sentence of leftOut(names)) screen.notice(sentence);
  if (unlisted.length > 0) screen.notice(unlistedText(unlisted, catalogs));
  await printJoined(context, asked, { rows, listed, catalogs, withModels: true, none: "the service lists no models" });
};

/** Models that are named in one sentence at most. */
const maxNamed = 5;

const unlistedText = (unlisted: ReturnType<typeof unlistedIn>, { read: [only, other] }: CatalogsRead): string => {
  const named = unlisted
    .slice(0, maxNamed)
    .map(({ id, near }) => (near === undefined ? id : `${id} (there is ${near})`));
  const more = unlisted.length > maxNamed ? ` and ${unlisted.length - maxNamed} more` : "";
  const where = other === undefined ? `not in the ${only?.place.catalog} catalog` : "in no catalog";
  return `${counted(unlisted.length, "model is", "models are")} ${where}: ${named.join(", ")}${more}`;
};

/** Refuses columns that cannot exist, before anything is asked for. @throws Failure `option-value-wrong` */
const requireJoinedColumns = ({ sort }: ListAsked, about: { readonly withModels: boolean }): void =>
  void orderOf(withoutPrices(sort), joinedColumns(catalogColumns(), about));

/** Rows of several catalogs. */
interface JoinedList {
  readonly rows: Entries<JoinedRow>;
  readonly listed: Entries<Listed>;
  readonly catalogs: CatalogsRead;
  /** True if models that can be called are listed: their columns come after those of the catalogs. */
  readonly withModels: boolean;
  /** The sentence for no row at all. */
  readonly none: string;
}

const printJoined = async (
  context: Context,
  asked: ListAsked,
  { rows, listed, catalogs: { read, failures }, withModels, none }: JoinedList,
): Promise<void> => {
  const { columns, selection } = selectModels(context, asked, {
    rows,
    models: mapped(listed, ({ entry }) => entry),
    modelOf: (row) => row.listed?.entry,
    matches: joinedMatcher(asked.filter, { now: context.host.now() }),
    columnsWith: (own) => joinedColumns(own, { withModels }),
    none,
    noun: "entries",
  });
  await printRows(context, { columns, rows: selection.rows, catalogs: read.map(({ place }) => place.catalog) });
  endWith(failures);
};

/** Rows in the form asked for. */
interface RowsPrinted {
  readonly columns: readonly Column<JoinedRow>[];
  readonly rows: Pick<Entries<JoinedRow>, "length" | "at">;
  readonly catalogs: readonly CatalogName[];
}

/** Prints rows in the form asked for; JSON has the catalog next to each entry. */
export const printRows = async ({ screen }: Context, { columns, rows, catalogs }: RowsPrinted): Promise<void> => {
  const bytes = screen.isForProgram ? joinedDocument(rows, catalogs) : rowsDocument(rows);
  const shown = screen.isForProgram ? namedAsInJson(columns) : columns;
  await printList(screen, { columns: shown, rows, wire: { bytes, member: "data" } });
};

/** Rows to select from, each with the model of a catalog that it shows. */
interface Selecting<Row> {
  readonly rows: Entries<Row>;
  /** All models that were read: the words of a filter are looked up in them. */
  readonly models: Entries<CatalogModel>;
  readonly modelOf: (row: Row) => CatalogModel | undefined;
  readonly matches: (row: Row) => boolean;
  readonly columnsWith: (own: ReturnType<typeof catalogColumns>) => readonly Column<Row>[];
  readonly none: string;
  readonly noun: string;
}

/** Selects rows, and says what there is to say about them. @throws Failure `option-value-wrong` */
const selectModels = <Row>(
  { host, screen }: Context,
  { filter, sort, limit }: ListAsked,
  { rows, models, modelOf, matches, columnsWith, none, noun }: Selecting<Row>,
): { readonly columns: readonly Column<Row>[]; readonly selection: Selection<Row> } => {
  requireWords(filter, models);
  const [prices, mistyped] = [openOwnPrices(), openMistyped(filter)];
  const own = catalogColumns(deprecationMark(host.now()));
  const selection = selected({
    // Gone through once, however much is asked about it: each entry is decoded whenever it is looked at.
    entries: rows,
    see: (row) => {
      const model = modelOf(row);
      if (model === undefined) return;
      prices.add(model);
      mistyped.add(model);
    },
    matches,
    order: orderOf(sort, columnsWith([...own, ...pricesIn(sort).map(ownPriceColumn)])),
    limit,
  });
  const columns = columnsWith([...own, ...prices.columns()]);
  const absent = selection.found === 0 ? absentWords(filter, models) : [];
  mistyped.tell(screen);
  const { pattern } = filter;
  tellSelection(screen, selection, { pattern, filtered: isFiltered(filter), of: rows.length, none, noun, absent });
  const order = orderOf(sort, columns);
  return { columns: withAskedSeen(columns, { order, filtered: columnsFiltered(filter) }), selection };
};
