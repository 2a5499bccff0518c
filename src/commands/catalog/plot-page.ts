/** The web page of `rollcall catalog plot`: all models that are meant, those without a place in the plot too. */
import type { Filter, JoinedRow } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { WebPage } from "../../output/index.ts";
import { selected, watched } from "../lists/selection.ts";
import { catalogColumns, deprecationMark, openOwnPrices } from "./columns.ts";
import { joinedColumns, listedOf } from "./joined.ts";
import type { CatalogRead } from "./source.ts";

/** The table of the page, and what is said of it. */
export const pageOf = async (
  context: Context,
  { filter, read }: { readonly filter: Filter; readonly read: readonly CatalogRead[] },
): Promise<Pick<WebPage<JoinedRow>, "title" | "note" | "list">> => {
  const room = await context.catalogs();
  const now = context.host.now();
  const prices = openOwnPrices(room);
  const listed = room.changed(await listedOf(context, read), (one): JoinedRow => ({ listed: one }));
  const { rows } = selected({
    entries: watched(listed, (row) => {
      if (row.listed !== undefined) prices.add(row.listed.entry);
    }),
    matches: room.joinedMatcher(filter, { now }),
    order: [],
    limit: undefined,
  });
  const columns = joinedColumns([...catalogColumns(deprecationMark(room, now)), ...prices.columns()], {
    withModels: false,
  });
  const names = read.map(({ place }) => place.catalog);
  const asOf = new Date(Math.min(...read.map((one) => one.asOf))).toISOString().slice(0, 16).replace("T", " ");
  return {
    title: "Models by price and context",
    note: `${rows.length} ${rows.length === 1 ? "model" : "models"} of the ${names.join(" and ")} ${names.length > 1 ? "catalogs" : "catalog"}, as of ${asOf} UTC. Made by rollcall.`,
    list: { columns, rows, wire: { bytes: room.rowsDocument(rows), member: "data" } },
  };
};
