/** `rollcall catalog`: the public catalogs of models. */
import type { Command } from "commander";
import type { CatalogName } from "../catalogs/index.ts";
import type { Context, Start } from "../context.ts";
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/odd.ts";
import { catalogColumns, ownPriceColumns } from "./catalog-columns.ts";
import { type CatalogSource, readCatalog, sourceOf, sourceOptions, type TypedSource } from "./catalog-source.ts";
import { examples } from "./help.ts";
import { nothingFound, orderOf, selected } from "./selection.ts";

/** What a catalog was asked for. */
interface CatalogOptions {
  readonly catalog: CatalogName;
  readonly pattern: string | undefined;
  readonly sort: string | undefined;
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
    .argument("[pattern]", "letters of the id or name, or a glob over the id such as 'qwen*'")
    .option("--sort <column>", "sort by a column; -column for descending")
    .action(async (pattern: string | undefined, typed: TypedSource & { readonly sort?: string }, own: Command) => {
      await listCatalog(start(own), { catalog, pattern, sort: typed.sort, source: sourceOf(typed) });
    });
  sourceOptions(command);
  examples(command, [
    `rollcall catalog ${catalog} kimi --local`,
    `rollcall catalog ${catalog} --sort -context_length --fields id,name --local`,
  ]);
};

const listCatalog = async (context: Context, { catalog, pattern, sort, source }: CatalogOptions): Promise<void> => {
  const { screen } = context;
  const columns = catalogColumns(new Date(context.host.now()));
  // A catalog's own prices are known once it is read; every other name is right or wrong before.
  if (!/^-?pricing\./.test(sort ?? "")) orderOf(sort, columns);
  const progress = screen.progress(`reading the ${catalog} catalog`);
  const settings = await context.settings();
  const reply = await readCatalog(context, { settings, catalog, source }).finally(progress.stop);
  const entries = reply.value.data;
  const all = [...columns, ...ownPriceColumns(entries)];
  const { rows, kept } = selected({ entries, pattern, order: orderOf(sort, all), texts });
  if (rows.length === 0) screen.notice(nothingFound(pattern, "the catalog is empty"));
  await screen.list({ columns: all, rows, wire: { bytes: reply.bytes, member: "data", kept } });
};

const texts = ({ id, name }: CatalogModel) => ({ id: known(id) ?? "", name: known(name) ?? "" });
