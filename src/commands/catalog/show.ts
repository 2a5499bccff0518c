/** `rollcall catalog show`: one model, with everything that the catalogs say of it. */

import type { Command } from "commander";
import type { CatalogName, JoinedRow, Listed } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import type { Entries } from "../../contract/fields.ts";
import { known } from "../../contract/fields.ts";
import { Failure } from "../../failure.ts";
import { printPage } from "../../output/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import { catalogColumns, deprecationMark, openOwnPrices } from "./columns.ts";
import { endWith, joinedColumns, leftOut, listedOf, printRows, readCatalogs } from "./joined.ts";
import { openOddities } from "./odd.ts";
import { modelPage } from "./page.ts";
import {
  type CatalogRead,
  type CatalogSource,
  catalogsInForce,
  sourceOf,
  sourceOptions,
  type TypedSource,
} from "./source.ts";

/** What was asked for. */
interface ShowOptions {
  readonly id: string;
  readonly source: CatalogSource;
}

/** Declares `catalog show` (interface 2.5). */
export const declareCatalogShow = (group: Command, start: Start): void => {
  const command = group
    .command("show")
    .description("show one model, with everything that the catalogs say of it")
    .argument("<id>", "the whole id, such as moonshotai/Kimi-K2.5");
  sourceOptions(command).action(async (id: string, typed: TypedSource, own: Command) => {
    await show(start(own), { id, source: sourceOf(typed) });
  });
  examples(command, [
    "rollcall catalog show moonshotai/Kimi-K2.5 --local",
    "rollcall catalog show openai/gpt-oss-120b --json --local",
  ]);
};

const show = async (context: Context, { id, source }: ShowOptions): Promise<void> => {
  const { screen } = context;
  const room = await context.catalogs();
  const settings = await context.settings();
  const names = await catalogsInForce(context, settings);
  const progress = screen.progress("reading the catalogs");
  const { read, failures } = await readCatalogs(context, { settings, source, names }).finally(progress.stop);
  for (const sentence of leftOut(room.catalogNames, names)) screen.notice(sentence);
  const listed = await listedOf(context, read);
  const found: Listed[] = [];
  for (const one of listed) if (known(one.entry.id) === id) found.push(one);
  if (found.length === 0) {
    endWith(failures);
    throw notListed({ id, names, near: room.nearestId(id, idsOf(listed)) });
  }
  await print(context, { found, read });
  endWith(failures);
};

const idsOf = (listed: Entries<Listed>): readonly string[] => Array.from(listed, ({ entry }) => known(entry.id) ?? "");

const notListed = (data: {
  readonly id: string;
  readonly names: readonly CatalogName[];
  readonly near: string | undefined;
}): Failure => new Failure("model-not-listed", data);

const print = async (
  context: Context,
  { found, read }: { readonly found: readonly Listed[]; readonly read: readonly CatalogRead[] },
): Promise<void> => {
  const { screen, host } = context;
  const room = await context.catalogs();
  const [prices, oddities] = [openOwnPrices(room), openOddities(room, {})];
  for (const { entry } of found) {
    prices.add(entry);
    oddities.add(entry);
  }
  const sentence = oddities.notice();
  if (sentence !== undefined) screen.notice(sentence);
  const mark = deprecationMark(room, host.now());
  const asList = isForProgram(context) || screen.format === "csv" || screen.fields !== undefined;
  if (!asList) return await printPage(screen, modelPage({ found, read, mark, room }));
  const rows: Entries<JoinedRow> = found.map((listed) => ({ listed }));
  const columns = joinedColumns([...catalogColumns(mark), ...prices.columns()], { withModels: false });
  await printRows(context, { columns, rows, catalogs: read.map(({ place }) => place.catalog) });
};
