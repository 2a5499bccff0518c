/** Lists the models of catalogs, and shows one of them (interface 4.2, 4.4, 4.5). */
import {
  absentWords,
  asksMore,
  type CatalogName,
  type CatalogRow,
  catalogNames,
  cellsDocument,
  columnsFiltered,
  joinedById,
  type Listed,
  matcherOf,
  mistypedFields,
  namedPrices,
  nearestId,
  rowMatcherOf,
  rowsDocument,
  unlistedIn,
} from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { type Entries, known, Mistyped, mapped, type ReplyList } from "../../contract/replies.ts";
import { wholeOf } from "../../json/walk.ts";
import { type Column, type Line, printList, printPage, type Section, spelledIn } from "../../output/index.ts";
import { counted } from "../../sentences.ts";
import { modelNotListed } from "../failures.ts";
import type { TypedFilter, TypedOrder } from "../lists/options.ts";
import { openMistypings, orderOf, type Selection, selected, tellSelection, withAskedSeen } from "../lists/selection.ts";
import {
  type DeprecationMark,
  deprecationMark,
  namedAsInJson,
  openOwnPrices,
  pricesIn,
  rowColumns,
} from "./columns.ts";
import type { TypedList, TypedShow } from "./command.ts";
import {
  type CatalogRead,
  type CatalogsRead,
  endWith,
  readMeant,
  requireFilter,
  requireWords,
  tellLeftOut,
} from "./source.ts";

type TypedRows = TypedFilter & TypedOrder & { readonly pattern: string | undefined };

type RowsOf = "one" | "all" | "models";

/** Refuses options that cannot hold, before anything is read. @throws Failure `option-value-wrong`, `options-contradict` */
const requireRows = (typed: TypedRows, of: RowsOf): void => {
  requireFilter(typed);
  orderOf(typed.sort, rowColumns({ of, prices: pricesIn(typed.sort) }));
};

/** `catalog analysis`, `catalog router`. @throws Failure */
export const listCatalog = async (context: Context, catalog: CatalogName, typed: TypedList): Promise<void> => {
  const { screen } = context;
  requireRows(typed, "one");
  const label = `reading the ${catalog} catalog`;
  const { read, listed } = await readMeant(context, typed, { names: [catalog], label });
  for (const { models } of read) {
    const { bytes, elements, positions, nulls } = models;
    const rows = mapped(listed, (one): CatalogRow => ({ listed: one }));
    const isAll =
      typed.pattern === undefined && !asksMore(typed) && typed.sort.length === 0 && typed.limit === undefined;
    // A program gets the whole reply as it came: no entry has to be decoded.
    if (screen.isForProgram && isAll) {
      const wire = { bytes, member: "data", elements, ...(nulls === 0 ? {} : { kept: positions }) };
      return await printList(screen, { columns: rowColumns(), rows, wire });
    }
    const { columns, selection } = selectRows(context, typed, {
      of: "one",
      rows,
      listed,
      none: "the catalog is empty",
    });
    const kept = selection.kept.map((at) => positions[at] ?? at);
    await printList(screen, { columns, rows: selection.rows, wire: { bytes, member: "data", elements, kept } });
  }
};

/** `catalog all`. @throws Failure */
export const listCatalogs = async (context: Context, typed: TypedList): Promise<void> => {
  requireRows(typed, "all");
  const catalogs = await readMeant(context, typed, { names: catalogNames, label: "reading both catalogs" });
  const rows = mapped(catalogs.listed, (listed): CatalogRow => ({ listed }));
  await printSelected(context, typed, { of: "all", rows, ...catalogs, none: "the catalogs are empty" });
};

/** `models --with-prices`. Ids are joined if they are exactly the same. @throws Failure */
export const listPriced = async (
  context: Context,
  typed: TypedRows,
  readModels: () => Promise<ReplyList<InferenceModel>>,
): Promise<void> => {
  const { screen } = context;
  requireRows(typed, "models");
  const source = { maxAge: undefined, offline: false };
  const label = "reading the models and the catalogs";
  const [models, catalogs] = await Promise.all([readModels(), readMeant(context, source, { label })]);
  const rows = joinedById(models, catalogs.listed);
  const unlisted = unlistedIn(rows.filter(rowMatcherOf({ pattern: typed.pattern }, 0)), catalogs.listed);
  tellLeftOut(context, catalogs.names);
  if (unlisted.length > 0) screen.notice(unlistedText(unlisted, catalogs.read));
  await printSelected(context, typed, { of: "models", rows, ...catalogs, none: "the service lists no models" });
};

/** Models that are named in one sentence at most. */
const maxNamed = 5;

const unlistedText = (unlisted: ReturnType<typeof unlistedIn>, [only, other]: readonly CatalogRead[]): string => {
  const named = unlisted
    .slice(0, maxNamed)
    .map(({ id, near }) => (near === undefined ? id : `${id} (there is ${near})`));
  const more = unlisted.length > maxNamed ? ` and ${unlisted.length - maxNamed} more` : "";
  const where = other === undefined ? `not in the ${only?.catalog} catalog` : "in no catalog";
  return `${counted(unlisted.length, "model is", "models are")} ${where}: ${named.join(", ")}${more}`;
};

/** Rows to select from. */
interface RowsRead {
  readonly of: RowsOf;
  readonly rows: Entries<CatalogRow>;
  /** All entries that were read: the words of a filter are looked up in them. */
  readonly listed: Entries<Listed>;
  /** The sentence for no row at all. */
  readonly none: string;
}

/** Selects rows, and says what there is to say about them. @throws Failure `option-value-wrong` */
const selectRows = (
  { host, screen }: Context,
  typed: TypedRows,
  { of, rows, listed, none }: RowsRead,
): { readonly columns: readonly Column<CatalogRow>[]; readonly selection: Selection<CatalogRow> } => {
  const { pattern, sort, limit } = typed;
  const models = mapped(listed, ({ entry }) => entry);
  requireWords(typed, models);
  const [prices, mistypings] = [openOwnPrices(), openCatalogMistypings(pattern)];
  const selection = selected({
    entries: rows,
    // All questions are asked in one pass, because each pass decodes all entries.
    see: ({ listed: own }) => {
      if (own === undefined) return;
      prices.add(own.entry);
      mistypings.add(own);
    },
    matches: rowMatcherOf(typed, host.now()),
    order: orderOf(sort, rowColumns({ of, prices: pricesIn(sort) })),
    limit,
  });
  mistypings.tell(screen);
  const columns = rowColumns({ of, prices: prices.names(), mark: deprecationMark(host.now()) });
  const absent = selection.found === 0 ? absentWords(typed, models) : [];
  const filtered = pattern === undefined || asksMore(typed);
  const noun = of === "one" ? "models" : "entries";
  tellSelection(screen, selection, { pattern, filtered, of: rows.length, none, noun, absent });
  const order = orderOf(sort, columns);
  return { columns: withAskedSeen(columns, { order, filtered: columnsFiltered(typed) }), selection };
};

/** Gathers the mistyped fields of the models that a pattern means. */
const openCatalogMistypings = (pattern = "") => {
  const { add, tell } = openMistypings("shown as it came and matched by no filter");
  const isMeant = matcherOf({ pattern }, 0);
  return {
    add: ({ entry }: Listed) => (isMeant(entry) ? add(known(entry.id), mistypedFields(entry)) : undefined),
    tell,
  };
};

const printSelected = async (context: Context, typed: TypedRows, rowsRead: RowsRead & CatalogsRead): Promise<void> => {
  const { columns, selection } = selectRows(context, typed, rowsRead);
  await printRows(context, { columns, rows: selection.rows, read: rowsRead.read });
  endWith(rowsRead.failures);
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
  const shown = screen.isForProgram ? namedAsInJson(columns) : columns;
  await printList(screen, { columns: shown, rows, wire: { bytes, member: "data" } });
};

/** `catalog show`: everything that the catalogs say about one model. @throws Failure `model-not-listed` */
export const showModel = async (context: Context, typed: TypedShow): Promise<void> => {
  const { screen, host } = context;
  const { names, read, listed, failures } = await readMeant(context, typed, { label: "reading the catalogs" });
  tellLeftOut(context, names);
  const found = [...listed].filter(({ entry }) => known(entry.id) === typed.id);
  if (found.length === 0) {
    endWith(failures);
    const ids = Array.from(listed, ({ entry }) => known(entry.id) ?? "");
    throw modelNotListed({ id: typed.id, names, near: nearestId(typed.id, ids) });
  }
  const [prices, mistypings] = [openOwnPrices(), openCatalogMistypings()];
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
      return entries.flatMap((entry) => sectionsOf(entry, title, mark));
    });
    await printPage(screen, { sections: [{ title: typed.id }, ...sections] });
  }
  endWith(failures);
};

/** The sections of an entry: its fields, then what has no line of its own. */
const sectionsOf = (listed: Listed, title: string, mark: DeprecationMark): readonly Section[] => {
  const { entry, raw } = listed;
  const spelled = spelledIn(raw, wholeOf(raw));
  const ownPrices = Object.entries(known(entry.pricing) ?? {}).filter(([name]) => !namedPrices.has(name));
  const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;
  const prices = ownPrices.flatMap(([name, price]) => (isPlain(price) ? [name] : []));
  const columns = rowColumns({ prices, mark });
  const lines = columns.slice(1).map(({ name, heading, cell, mark: markOf }): Line => {
    const word = markOf?.({ listed });
    const text = cell({ listed }, () => spelled.text(name));
    const label = heading.replace("\n", " ");
    return word === undefined ? { label, text } : { label, text: `${text} ${word.text}`, tone: word.tone };
  });
  const shown = new Set(columns.map(({ name }) => name));
  const others = spelled.keys.filter((key) => {
    if (key === "pricing") return entry.pricing instanceof Mistyped;
    return key === "datacenters" ? saysMore(entry.datacenters) : !shown.has(key);
  });
  const objects = ownPrices.flatMap(([name, price]) => (isPlain(price) ? [] : [`pricing.${name}`]));
  const other = [...objects, ...others].map((key) => ({ label: key, text: spelled.json(key) }));
  return [{ title, lines }, ...(other.length === 0 ? [] : [{ title: "other", level: 2 as const, lines: other }])];
};

/** True if a data center states anything but its country, or no country. */
const saysMore = (datacenters: Listed["entry"]["datacenters"]): boolean =>
  datacenters instanceof Mistyped ||
  (datacenters ?? []).some(
    (one) => Object.keys(one).join() !== "country_code" || known(one.country_code) === undefined,
  );
