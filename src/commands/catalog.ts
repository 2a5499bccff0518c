/** `rollcall catalog`: the public catalogs of models. */
import type { Command } from "commander";
import type { CatalogName, Filter } from "../catalogs/index.ts";
import type { Context, Start } from "../context.ts";
import type { CatalogModel } from "../contract/catalog.ts";
import { catalogColumns, deprecationMark, ownPriceColumns } from "./catalog-columns.ts";
import { filterOf, filterOptions, requireWords, type TypedFilter } from "./catalog-filter.ts";
import { oddNotice } from "./catalog-odd.ts";
import { type CatalogSource, readCatalog, sourceOf, sourceOptions, type TypedSource } from "./catalog-source.ts";
import { examples } from "./help.ts";
import { limitOf, orderOf, selected, selectionNotice, selectionOptions, type TypedSelection } from "./selection.ts";

/** What a catalog was asked for. */
interface CatalogOptions {
  readonly catalog: CatalogName;
  readonly filter: Filter;
  readonly sort: readonly string[] | undefined;
  readonly limit: number | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog analysis` and `catalog router` (service-interface 4.4 and 4.5). */
export const declareCatalog = (parent: Command, start: Start): void => {
  const group = parent.command("catalog").description("list the public catalogs of models");
  declareOne(group, start, { catalog: "analysis", of: "the analysis provider" });
  declareOne(group, start, { catalog: "router", of: "the routing provider" });
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
  requireColumns(sort);
  const progress = screen.progress(`reading the ${catalog} catalog`);
  const settings = await context.settings();
  const { value, bytes } = await readCatalog(context, { settings, catalog, source }).finally(progress.stop);
  const entries = value.data;
  await requireWords(context, filter, entries);
  const room = await context.catalogs();
  const columns = [...catalogColumns(deprecationMark(room, host.now())), ...ownPriceColumns(room, entries)];
  const matches = room.matcherOf(filter, { now: host.now() });
  const selection = selected({ entries, matches, order: orderOf(sort, columns), limit });
  for (const sentence of [
    oddNotice(room, entries, filter),
    selectionNotice(selection, { ...asked(filter), of: entries.length, none: "the catalog is empty" }),
  ]) {
    if (sentence !== undefined) screen.notice(sentence);
  }
  await screen.list({ columns, rows: selection.rows, wire: { bytes, member: "data", kept: selection.kept } });
};

/** A catalog's own prices are known once it is read; every other name is right or wrong before. */
const requireColumns = (sort: readonly string[] | undefined): void => {
  orderOf<CatalogModel>(
    sort?.filter((name) => !/^-?pricing\./.test(name)),
    catalogColumns(),
  );
};

const asked = ({ pattern, ...rest }: Filter) => ({
  pattern,
  filtered: pattern === undefined || Object.values(rest).some((value) => value !== undefined),
});
