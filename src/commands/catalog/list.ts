/** Lists the entries of catalogs: of one, of both, or each beside the model that can be called (interface 4.2, 4.4 and 4.5). */
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
import { catalogsMeant, endWith, leftOut, listedOf, readCatalog, readCatalogs, sourceOf } from "./source.ts";

/** What is listed, and in which order. */
interface ListOptions {
  readonly filter: Filter;
  readonly sort: readonly string[];
  readonly limit: number | undefined;
}

/** What was typed for any list. */
type TypedModels = TypedFilter & TypedOrder & { readonly pattern: string | undefined };

const optionsOf = ({ host }: Context, typed: TypedModels): ListOptions => ({
  filter: filterOf(typed, { now: host.now() }),
  sort: typed.sort,
  limit: typed.limit,
});

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, catalog: CatalogName, typed: TypedList): Promise<void> => {
  const { screen } = context;
  const [options, source] = [optionsOf(context, typed), sourceOf(typed)];
  orderOf(withoutPrices(options.sort), catalogColumns());
  const progress = screen.progress(`reading the ${catalog} catalog`);
  const settings = await settingsInForce(context);
  const { value, bytes } = await readCatalog(context, { settings, catalog, source }).finally(progress.stop);
  const entries = value.data;
  if (context.screen.isForProgram && isEverything(options)) {
    // A program gets the reply as it came: no entry has to be looked at.
    return await printList(screen, { columns: catalogColumns(), rows: entries, wire: { bytes, member: "data" } });
  }
  const { columns, selection } = selectModels(context, options, {
    rows: entries,
    models: entries,
    modelOf: (model) => model,
    matches: matcherOf(options.filter, { now: context.host.now() }),
    columnsWith: (own) => own,
    none: "the catalog is empty",
    noun: "models",
  });
  await printList(screen, { columns, rows: selection.rows, wire: { bytes, member: "data", kept: selection.kept } });
};

const isEverything = ({ filter, sort, limit }: ListOptions): boolean =>
  sort.length === 0 && [limit, ...Object.values(filter)].every((one) => one === undefined);

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  const [options, source] = [optionsOf(context, typed), sourceOf(typed)];
  requireJoinedColumns(options.sort, { withModels: false });
  const settings = await settingsInForce(context);
  const progress = context.screen.progress("reading both catalogs");
  const { read, failures } = await readCatalogs(context, { settings, source, names: catalogNames }).finally(
    progress.stop,
  );
  const listed = listedOf(read);
  const rows = mapped(listed, (one) => ({ listed: one }));
  const catalogs = read.map(({ place }) => place.catalog);
  await printJoined(context, options, { rows, listed, catalogs, withModels: false, none: "the catalogs are empty" });
  endWith(failures);
};

/** A list of models that can be called, as it was read. */
interface ModelsRead {
  readonly entries: Entries<InferenceModel>;
  readonly bytes: Uint8Array;
}

/** `models --with-prices`. Ids are joined where they are exactly the same. @throws Failure */
export const listPriced = async (
  context: Context,
  typed: TypedModels,
  readModels: () => Promise<ModelsRead>,
): Promise<void> => {
  const { screen } = context;
  const options = optionsOf(context, typed);
  requireJoinedColumns(options.sort, { withModels: true });
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, undefined);
  const source = { maxAgeMs: undefined, offline: false };
  const progress = screen.progress("reading the models and the catalogs");
  const [models, { read, failures }] = await Promise.all([
    readModels(),
    readCatalogs(context, { settings, source, names }),
  ]).finally(progress.stop);
  const listed = listedOf(read);
  const rows = joinedById(callableIn(models.entries, models.bytes), listed);
  const catalogs = read.map(({ place }) => place.catalog);
  const { pattern } = options.filter;
  const unlisted = unlistedIn(rows.filter(joinedMatcher({ pattern }, { now: 0 })), listed);
  for (const sentence of [...leftOut(names), ...unlistedSentences(unlisted, catalogs)]) screen.notice(sentence);
  await printJoined(context, options, {
    rows,
    listed,
    catalogs,
    withModels: true,
    none: "the service lists no models",
  });
  endWith(failures);
};

/** Models that are named in one sentence. */
const mostNamed = 5;

const unlistedSentences = (
  unlisted: ReturnType<typeof unlistedIn>,
  catalogs: readonly CatalogName[],
): readonly string[] => {
  if (unlisted.length === 0) return [];
  const named = unlisted
    .slice(0, mostNamed)
    .map(({ id, near }) => (near === undefined ? id : `${id} (there is ${near})`))
    .join(", ");
  const more = unlisted.length > mostNamed ? ` and ${unlisted.length - mostNamed} more` : "";
  const models = unlisted.length === 1 ? "model is" : "models are";
  const where = catalogs.length === 1 ? `not in the ${catalogs[0]} catalog` : "in no catalog";
  return [`${unlisted.length} ${models} ${where}: ${named}${more}`];
};

/** Refuses columns that there can't be, before anything is asked for. @throws Failure `option-value-wrong` */
const requireJoinedColumns = (sort: readonly string[], about: { readonly withModels: boolean }): void => {
  orderOf(withoutPrices(sort), joinedColumns(catalogColumns(), about));
};

/** Rows of several catalogs. */
interface JoinedList {
  readonly rows: Entries<JoinedRow>;
  readonly listed: Entries<Listed>;
  readonly catalogs: readonly CatalogName[];
  /** Whether models that can be called are listed: their columns stand behind those of the catalogs. */
  readonly withModels: boolean;
  /** The sentence for no row at all. */
  readonly none: string;
}

const printJoined = async (
  context: Context,
  options: ListOptions,
  { rows, listed, catalogs, withModels, none }: JoinedList,
): Promise<void> => {
  const { columns, selection } = selectModels(context, options, {
    rows,
    models: mapped(listed, ({ entry }) => entry),
    modelOf: (row) => row.listed?.entry,
    matches: joinedMatcher(options.filter, { now: context.host.now() }),
    columnsWith: (own) => joinedColumns(own, { withModels }),
    none,
    noun: "entries",
  });
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
  const forProgram = context.screen.isForProgram;
  const bytes = forProgram ? joinedDocument(rows, catalogs) : rowsDocument(rows);
  await printList(context.screen, {
    columns: forProgram ? namedAsInJson(columns) : columns,
    rows,
    wire: { bytes, member: "data" },
  });
};

/** Rows to select from, each with the model of a catalog that it shows. */
interface Selecting<Row> {
  readonly rows: Entries<Row>;
  /** All models that were read: a word that a filter takes is looked for in them. */
  readonly models: Entries<CatalogModel>;
  readonly modelOf: (row: Row) => CatalogModel | undefined;
  readonly matches: (row: Row) => boolean;
  readonly columnsWith: (own: ReturnType<typeof catalogColumns>) => readonly Column<Row>[];
  readonly none: string;
  readonly noun: string;
}

/** Selects rows, and says what is to be said of them. @throws Failure `option-value-wrong` */
const selectModels = <Row>(
  { host, screen }: Context,
  { filter, sort, limit }: ListOptions,
  { rows, models, modelOf, matches, columnsWith, none, noun }: Selecting<Row>,
): { readonly columns: readonly Column<Row>[]; readonly selection: Selection<Row> } => {
  requireWords(filter, models);
  const [prices, mistyped] = [openOwnPrices(), openMistyped(filter)];
  const own = catalogColumns(deprecationMark(host.now()));
  const selection = selected({
    // Gone through once, however much is asked of it: each entry is decoded whenever it is looked at.
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
  const about = { pattern: filter.pattern, filtered: isFiltered(filter), of: rows.length, none, noun, absent };
  mistyped.tell(screen);
  tellSelection(screen, selection, about);
  const asked = { order: orderOf(sort, columns), filtered: columnsFiltered(filter) };
  return { columns: withAskedSeen(columns, asked), selection };
};
