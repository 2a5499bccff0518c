/** `rollcall catalog show`: one model, with everything that the catalogs say of it (interface 2.5). */

import { type JoinedRow, type Listed, namedPrices, nearestId } from "../../catalogs/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import { wholeOf } from "../../json/walk.ts";
import { type Line, type Page, printPage, type Section, spelledIn } from "../../output/index.ts";
import { modelNotListed } from "../failures.ts";
import { catalogColumns, deprecationMark, joinedColumns, openOwnPrices, ownPriceColumn } from "./columns.ts";
import type { TypedShow } from "./command.ts";
import { openMistyped } from "./filter.ts";
import { printRows } from "./list.ts";
import { type CatalogRead, catalogsMeant, endWith, leftOut, listedOf, readCatalogs, sourceOf } from "./source.ts";

/** Shows the model. @throws Failure `model-not-listed` */
export const run = async (context: Context, typed: TypedShow): Promise<void> => {
  const { screen } = context;
  const { id } = typed;
  const source = sourceOf(typed);
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, undefined);
  const progress = screen.progress("reading the catalogs");
  const { read, failures } = await readCatalogs(context, { settings, source, names }).finally(progress.stop);
  for (const sentence of leftOut(names)) screen.notice(sentence);
  const listed = listedOf(read);
  const found = [...listed].filter(({ entry }) => known(entry.id) === id);
  if (found.length === 0) {
    endWith(failures);
    const ids = Array.from(listed, ({ entry }) => known(entry.id) ?? "");
    throw modelNotListed({ id, names, near: nearestId(id, ids) });
  }
  await print(context, { found, read });
  endWith(failures);
};

/** Entries of one id, and the catalogs that were looked in. */
interface Found {
  readonly found: readonly Listed[];
  readonly read: readonly CatalogRead[];
}

const print = async (context: Context, { found, read }: Found): Promise<void> => {
  const { screen, host } = context;
  const [prices, mistyped] = [openOwnPrices(), openMistyped({})];
  for (const { entry } of found) {
    prices.add(entry);
    mistyped.add(entry);
  }
  mistyped.tell(screen);
  const mark = deprecationMark(host.now());
  const asList = context.screen.isForProgram || screen.format === "csv" || screen.fields !== undefined;
  if (!asList) return await printPage(screen, modelPage({ found, read, mark }));
  const rows = found.map((listed): JoinedRow => ({ listed }));
  const columns = joinedColumns([...catalogColumns(mark), ...prices.columns()], { withModels: false });
  await printRows(context, { columns, rows, catalogs: read.map(({ place }) => place.catalog) });
};

/** What a page is made of. */
interface ModelPage extends Found {
  readonly mark: ReturnType<typeof deprecationMark>;
}

/** The page, a section for each entry; a catalog without one says so. */
const modelPage = (page: ModelPage): Page => {
  const id = known(page.found[0]?.entry.id) ?? "";
  const sections = page.read.flatMap(({ place: { catalog, provider } }) => {
    const title = `${catalog} catalog, ${provider}`;
    const entries = page.found.filter((one) => one.catalog === catalog);
    if (entries.length === 0) return [{ title, block: "does not list it" }];
    return entries.flatMap((entry) => entrySections(entry, title, page));
  });
  return { sections: [{ title: id }, ...sections] };
};

const entrySections = (listed: Listed, title: string, page: ModelPage): readonly Section[] => {
  const other = otherLines(listed);
  return [
    { title, lines: fieldLines(listed, page) },
    ...(other.length === 0 ? [] : [{ title: "other", level: 2 as const, lines: other }]),
  ];
};

const fieldLines = ({ entry, raw }: Listed, { mark }: ModelPage): readonly Line[] => {
  const spelled = spelledIn(raw, wholeOf(raw));
  const own = ownPrices(entry).flatMap(({ name, isPlain }) => (isPlain ? [ownPriceColumn(name)] : []));
  const columns = [...catalogColumns(mark), ...own];
  return columns
    .filter(({ name }) => name !== "id")
    .map(({ name, heading, cell, mark: markOf }) => {
      const word = markOf?.(entry);
      const text = cell(entry, () => spelled.text(name));
      const label = heading.replace("\n", " ");
      return word === undefined ? { label, text } : { label, text: `${text} ${word.text}`, tone: word.tone };
    });
};

/** Prices that the interface does not name; what is no text and no number has no cell. */
const ownPrices = ({ pricing }: CatalogModel) =>
  Object.entries(known(pricing) ?? {}).flatMap(([name, price]) =>
    namedPrices.has(name) ? [] : [{ name, isPlain: typeof price !== "object" || price === null }],
  );

/** Fields that have a line of their own. */
const shownFields = new Set(catalogColumns().map(({ name }) => name));

/** What has no line of its own: other fields, and those of the interface that hold more than their line can show. */
const otherLines = ({ entry, raw }: Listed): readonly Line[] => {
  const spelled = spelledIn(raw, wholeOf(raw));
  const prices = ownPrices(entry).flatMap(({ name, isPlain }) => (isPlain ? [] : [`pricing.${name}`]));
  const others = spelled.keys.filter((key) => {
    if (key === "pricing") return entry.pricing instanceof Mistyped;
    if (key === "datacenters") return holdsMore(entry);
    return !shownFields.has(key);
  });
  return [...prices, ...others].map((key) => ({ label: key, text: spelled.json(key) }));
};

/** Whether a data centre says more, or less, than its country. */
const holdsMore = ({ datacenters }: CatalogModel): boolean =>
  datacenters instanceof Mistyped ||
  (known(datacenters) ?? []).some(
    (one) => Object.keys(one).some((key) => key !== "country_code") || known(one.country_code) === undefined,
  );
