/** `rollcall catalog all`: both catalogs in one list. */
import type { Command } from "commander";
import type { Filter } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import { examples } from "../help.ts";
import { limitOf, selectionOptions, type TypedSelection } from "../lists/selection.ts";
import { filterOf, filterOptions, type TypedFilter } from "./filter.ts";
import { endWith, listedOf, printJoined, readCatalogs, requireJoinedColumns } from "./joined.ts";
import { type CatalogSource, sourceOf, sourceOptions, type TypedSource } from "./source.ts";

/** What was asked for. */
interface AllOptions {
  readonly filter: Filter;
  readonly sort: readonly string[] | undefined;
  readonly limit: number | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog all` (interface 4.4 and 4.5). */
export const declareCatalogAll = (group: Command, start: Start): void => {
  const command = group
    .command("all")
    .description("list the models of both catalogs, and which catalog has them")
    .argument("[pattern]", "words of the id or name, or a glob over the id such as 'qwen*'");
  sourceOptions(selectionOptions(filterOptions(command)).optionsGroup("source")).action(
    async (pattern: string | undefined, typed: TypedFilter & TypedSelection & TypedSource, own: Command) => {
      const context = start(own);
      const filter = filterOf({ ...typed, pattern }, { now: context.host.now() });
      await listAll(context, { filter, sort: typed.sort, limit: limitOf(typed.limit), source: sourceOf(typed) });
    },
  );
  examples(command, [
    "rollcall catalog all kimi --local",
    "rollcall catalog all --feature tools --sort pricing.prompt --local",
    "rollcall catalog all --country EU --limit 3 --json --local",
  ]);
};

const listAll = async (context: Context, { filter, sort, limit, source }: AllOptions): Promise<void> => {
  const withModels = false;
  requireJoinedColumns(sort, { withModels });
  const { catalogNames, changed } = await context.catalogs();
  const settings = await context.settings();
  const progress = context.screen.progress("reading both catalogs");
  const { read, failures } = await readCatalogs(context, { settings, source, names: catalogNames }).finally(
    progress.stop,
  );
  const listed = await listedOf(context, read);
  const rows = changed(listed, (one) => ({ listed: one }));
  const catalogs = read.map(({ place }) => place.catalog);
  await printJoined(context, {
    rows,
    listed,
    catalogs,
    filter,
    sort,
    limit,
    withModels,
    none: "the catalogs are empty",
  });
  endWith(failures);
};
