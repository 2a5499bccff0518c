/** `rollcall catalog plot`: what models cost, against the context that they take. */

import {
  bestValueOf,
  type CatalogName,
  type Filter,
  type JoinedRow,
  joinedMatcher,
  matcherOf,
  priceIn,
  rowsDocument,
} from "../../catalogs/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { known, mapped } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { type Decimal, formatDecimal } from "../../decimal.ts";
import { openWebPage, type Plot, printList, printPlot, type WebPage } from "../../output/index.ts";
import type { TypedFilter, TypedSource } from "../lists/options.ts";
import { selected } from "../lists/selection.ts";
import {
  catalogColumns,
  deprecationMark,
  joinedColumns,
  openOwnPrices,
  type Point,
  perMillionOf,
  pointColumns,
} from "./columns.ts";
import { filterOf, openMistyped, requireWords } from "./filter.ts";
import { type CatalogRead, catalogsMeant, endWith, listedOf, minuteOf, readCatalogs, sourceOf } from "./source.ts";

/** The argument and options as typed. */
export interface TypedPlot extends TypedFilter, TypedSource {
  readonly pattern: string | undefined;
  readonly catalog?: CatalogName;
  readonly price?: string;
  /** The file of a web page. */
  readonly html?: string;
}

/** What is drawn. */
interface Drawing {
  readonly filter: Filter;
  /** Name of the price on the wire. */
  readonly price: string;
  readonly read: readonly CatalogRead[];
}

/** Draws the models, and writes the page that is asked for. @throws Failure */
export const run = async (context: Context, typed: TypedPlot): Promise<void> => {
  const { screen } = context;
  const { price = "prompt", html } = typed;
  const filter = filterOf(typed, { now: context.host.now() });
  const source = sourceOf(typed);
  const page = html === undefined ? undefined : await openWebPage(screen, html, "catalog plot");
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, typed.catalog);
  const progress = screen.progress("reading catalogs");
  const { read, failures } = await readCatalogs(context, { settings, source, names }).finally(progress.stop);
  const drawing = { filter, price, read };
  const { points, others } = pointsIn(context, drawing);
  const meant = points.length + others;
  const plot = plotOf(points, drawing);
  if (page !== undefined) {
    const { table, rowOf } = tableOf(context, drawing, points);
    const own = points.filter(({ at }) => rowOf.has(at));
    const rows = own.flatMap(({ at }) => rowOf.get(at) ?? []);
    await page.write({ ...table, plot: plotOf(own, drawing), rowOf: rows, priceColumn: `pricing.${price}` });
    const some = table.list.rows.length < meant ? `${table.list.rows.length} of the ${meant} models` : "the models";
    screen.notice(`${html} has ${some} as a page: open it in a browser`);
  }
  const notice = noticeOf({ points: points.length, others, price });
  if (notice !== undefined) screen.notice(notice);
  if (screen.format === "table") await printPlot(screen, plot);
  else await printList(screen, { columns: pointColumns({ price }), rows: points, wire: wireOf(points, drawing) });
  endWith(failures);
};

/** The models meant that state both measures, and how many others were meant. */
const pointsIn = (
  { host, screen }: Context,
  { filter, price: name, read }: Drawing,
): { readonly points: readonly Point[]; readonly others: number } => {
  const listed = listedOf(read);
  requireWords(
    filter,
    mapped(listed, ({ entry }) => entry),
  );
  const matches = matcherOf(filter, { now: host.now() });
  const mistyped = openMistyped(filter);
  const found: Omit<Point, "best">[] = [];
  let meant = 0;
  for (const { catalog, entry } of listed) {
    mistyped.add(entry);
    if (!matches(entry)) continue;
    const at = meant++;
    const [tokens, price] = [known(entry.context_length), priceIn(entry.pricing, name)];
    if (tokens === undefined || !Number.isSafeInteger(tokens) || tokens <= 0 || price === undefined) continue;
    found.push({ catalog, at, id: known(entry.id), name: known(entry.name), context: tokens, price });
  }
  mistyped.tell(screen);
  const best = new Set([...bestValueOf(found.filter((one) => !isFree(one))), ...bestValueOf(found.filter(isFree))]);
  return { points: found.map((one) => ({ ...one, best: best.has(one) })), others: meant - found.length };
};

const isFree = ({ price }: { readonly price: Decimal }): boolean => price.digits === 0n;

const noticeOf = (about: {
  readonly points: number;
  readonly others: number;
  readonly price: string;
}): string | undefined => {
  const { points, others, price } = about;
  if (points === 0 && others === 0) return "no model matches";
  if (others === 0) return undefined;
  return `${others} of ${points + others} models state no context length or no ${price} price: they are left out`;
};

const plotOf = (points: readonly Point[], { price, read }: Drawing): Plot => {
  const series = read.map(({ place }) => place.catalog);
  return {
    title: `${counted(points.length, "model")}: price against context`,
    priceName: `${price}, $ per million tokens`,
    series,
    points: points.map((point) => ({
      name: point.id ?? point.name ?? "",
      series: series.indexOf(point.catalog),
      context: point.context,
      price: Number(perMillionOf(point)),
      priceText: perMillionOf(point),
      best: point.best,
    })),
  };
};

/** Models of a page: each takes about a kilobyte, and what has many more no browser shows without a wait. */
const mostOnPage = 5000;

/** The table of the page. */
interface PageTable {
  readonly table: Pick<WebPage<JoinedRow>, "title" | "note" | "list">;
  /** Its rows by the positions of the models among those that are meant. */
  readonly rowOf: ReadonlyMap<number, number>;
}

/**
 * The table of the page: the models that are meant, those without a place in the plot too; and what is said of it. Of more
 * than a page holds, those of best value and the first of the others.
 */
const tableOf = ({ host }: Context, { filter, read }: Drawing, points: readonly Point[]): PageTable => {
  const now = host.now();
  const prices = openOwnPrices();
  const { rows: all } = selected({
    entries: mapped(listedOf(read), (one): JoinedRow => ({ listed: one })),
    see: ({ listed }) => {
      if (listed !== undefined) prices.add(listed.entry);
    },
    matches: joinedMatcher(filter, { now }),
    order: [],
    limit: undefined,
  });
  const best = points.flatMap(({ at, best: isBest }) => (isBest ? [at] : []));
  const order = [...new Set([...best, ...Array(Math.min(all.length, mostOnPage)).keys()])].slice(0, mostOnPage);
  const kept = order.sort((a, b) => a - b);
  const rows = { length: kept.length, at: (row: number) => all.at(kept[row] ?? all.length) };
  const own = [...catalogColumns(deprecationMark(now)), ...prices.columns()];
  const catalogs = read.map(({ place }) => place.catalog);
  const asOf = minuteOf(Math.min(...read.map((one) => one.asOf)));
  const count = rows.length === all.length ? String(all.length) : `${rows.length} of ${all.length}`;
  const models = `${count} ${all.length === 1 ? "model" : "models"}`;
  const table = {
    title: "Models by price and context",
    note: `${models} of the ${catalogs.join(" and ")} ${catalogs.length > 1 ? "catalogs" : "catalog"}, as of ${asOf}. Made by rollcall.`,
    list: {
      columns: joinedColumns(own, { withModels: false }),
      rows,
      wire: { bytes: rowsDocument(rows), member: "data" },
    },
  };
  return { table, rowOf: new Map(kept.map((at, row) => [at, row])) };
};

const wireOf = (points: readonly Point[], { price }: Drawing) => {
  const data = points.map(({ id = null, name = null, catalog, context, price: amount, best }) => {
    return { id, name, catalog, context_length: context, price: formatDecimal(amount), best };
  });
  return { bytes: Buffer.from(JSON.stringify({ price, data })), member: "data" };
};
