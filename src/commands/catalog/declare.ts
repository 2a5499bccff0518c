/** `rollcall catalog`: the public catalogs of models. */

import type { Command } from "commander";
import type { CatalogName, Filter } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import { printList } from "../../output/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import {
  isFiltered,
  limitOf,
  orderOf,
  selected,
  selectionNotice,
  selectionOptions,
  type TypedSelection,
  watched,
  withOrderSeen,
} from "../lists/selection.ts";
import { declareCatalogAll } from "./all.ts";
import { catalogColumns, deprecationMark, openOwnPrices, ownPriceColumn, pricesIn, withoutPrices } from "./columns.ts";
import { declareCatalogCost } from "./cost.ts";
import { declareCatalogDiff } from "./diff.ts";
import { absentIn, filterOf, filterOptions, requireWords, type TypedFilter } from "./filter.ts";
import { declareCatalogLock } from "./lock.ts";
import { openOddities } from "./odd.ts";
import { declareCatalogPlot } from "./plot.ts";
import { declareCatalogShow } from "./show.ts";
import { type CatalogSource, readCatalog, sourceOf, sourceOptions, type TypedSource } from "./source.ts";
import { declareCatalogVerify } from "./verify.ts";

/** What a catalog was asked for. */
interface CatalogOptions {
  readonly catalog: CatalogName;
  readonly filter: Filter;
  readonly sort: readonly string[] | undefined;
  readonly limit: number | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog analysis` and `catalog router` (interface 4.4 and 4.5). */
export const declareCatalog = (parent: Command, start: Start): void => {
  const group = parent.command("catalog").description("list the public catalogs of models");
  declareOne(group, start, { catalog: "analysis", of: "the analysis provider" });
  declareOne(group, start, { catalog: "router", of: "the routing provider" });
  declareCatalogAll(group, start);
  declareCatalogShow(group, start);
  declareCatalogDiff(group, start);
  declareCatalogCost(group, start);
  declareCatalogPlot(group, start);
  declareCatalogLock(group, start);
  declareCatalogVerify(group, start);
  examples(group, ["rollcall catalog analysis --local", "rollcall catalog router --sort pricing.prompt --local"]);
};

const declareOne = (group: Command, start: Start, { catalog, of }: { catalog: CatalogName; of: string }): void => {
  const command = group
    .command(catalog)
    .description(`list the models in the catalog of ${of}`)
    .argument("[pattern]", "words of the id or name, or a glob over the id such as 'qwen*'");
  sourceOptions(selectionOptions(filterOptions(command)).optionsGroup("source")).action(
    async (pattern: string | undefined, typed: TypedFilter & TypedSelection & TypedSource, own: Command) => {
      const context = start(own);
      const filter = filterOf({ ...typed, pattern }, { now: context.host.now() });
      const { sort } = typed;
      await listCatalog(context, { catalog, filter, sort, limit: limitOf(typed.limit), source: sourceOf(typed) });
    },
  );
  examples(command, [
    `rollcall catalog ${catalog} kimi --local`,
    `rollcall catalog ${catalog} --feature tools --max-price prompt=0.5 --local`,
    `rollcall catalog ${catalog} --sort -context_length,id --limit 3 --local`,
  ]);
};

const listCatalog = async (
  context: Context,
  { catalog, filter, sort, limit, source }: CatalogOptions,
): Promise<void> => {
  const { screen, host } = context;
  orderOf(withoutPrices(sort), catalogColumns());
  const progress = screen.progress(`reading the ${catalog} catalog`);
  const settings = await context.settings();
  const { value, bytes } = await readCatalog(context, { settings, catalog, source }).finally(progress.stop);
  const entries = value.data;
  if (isForProgram(context) && isEverything({ filter, sort, limit })) {
    // A program gets the reply as it came: no entry has to be looked at.
    return await printList(screen, { columns: catalogColumns(), rows: entries, wire: { bytes, member: "data" } });
  }
  await requireWords(context, filter, entries);
  const room = await context.catalogs();
  const [prices, oddities] = [openOwnPrices(room), openOddities(room, filter)];
  const own = catalogColumns(deprecationMark(room, host.now()));
  const selection = selected({
    // Gone through once, however much is asked of it: each entry is decoded whenever it is looked at.
    entries: watched(entries, (model) => {
      prices.add(model);
      oddities.add(model);
    }),
    matches: room.matcherOf(filter, { now: host.now() }),
    order: orderOf(sort, [...own, ...pricesIn(sort).map((name) => ownPriceColumn(room, name))]),
    limit,
  });
  const all = [...own, ...prices.columns()];
  const columns = withOrderSeen(all, orderOf(sort, all));
  for (const sentence of [
    oddities.notice(),
    selectionNotice(selection, {
      pattern: filter.pattern,
      filtered: isFiltered(filter),
      of: entries.length,
      none: "the catalog is empty",
      absent: selection.found === 0 ? await absentIn(context, filter, entries) : [],
    }),
  ]) {
    if (sentence !== undefined) screen.notice(sentence);
  }
  await printList(screen, { columns, rows: selection.rows, wire: { bytes, member: "data", kept: selection.kept } });
};

const isEverything = ({ filter, sort, limit }: Pick<CatalogOptions, "filter" | "sort" | "limit">): boolean =>
  [sort, limit, ...Object.values(filter)].every((one) => one === undefined);
