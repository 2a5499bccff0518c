/** `rollcall catalog diff`: what is different between the two catalogs, two dates, or two files. */

import type { Command } from "commander";
import type { CatalogName, Change, Difference } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { Failure } from "../../failure.ts";
import { printList } from "../../output/index.ts";
import { examples } from "../help.ts";
import { parseMoment } from "../lists/moment.ts";
import { changeColumns } from "./diff-columns.ts";
import {
  type CatalogSource,
  catalogNamed,
  catalogsInForce,
  placeOf,
  readCatalog,
  sourceOf,
  sourceOptions,
  type TypedSource,
} from "./source.ts";

interface TypedDiff extends TypedSource {
  readonly catalog?: string;
  readonly since?: string;
  readonly until?: string;
  readonly exitCode?: boolean;
}

/** What `catalog diff` was asked for. */
interface DiffOptions {
  readonly files: readonly string[];
  readonly catalog: CatalogName | undefined;
  /** Milliseconds since 1970. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly exitCode: boolean;
  readonly source: CatalogSource;
}

/** Declares `catalog diff`. */
export const declareCatalogDiff = (group: Command, start: Start): void => {
  const command = group
    .command("diff")
    .description("compare the two catalogs, two dates, or two files")
    .argument("[file...]", "two saved catalogs; one, with --catalog, for that file and now")
    .option("--since <time>", "from the history: what changed since then, such as 30d or 2026-10-01")
    .option("--until <time>", "up to then, instead of now")
    .option("--catalog <analysis|router>", "only that catalog")
    .option("--exit-code", "exit 10 where they differ");
  sourceOptions(command).action(async (files: string[], typed: TypedDiff, own: Command) => {
    const context = start(own);
    await diff(context, optionsOf(context, files, typed));
  });
  examples(command, ["rollcall catalog diff --local", "rollcall catalog diff --since 30d --exit-code"]);
};

const optionsOf = (context: Context, files: readonly string[], typed: TypedDiff): DiffOptions => {
  const { since, until, exitCode = false } = typed;
  const now = context.host.now();
  const catalog = typed.catalog === undefined ? undefined : catalogNamed(typed.catalog);
  if (files.length > 0 && since !== undefined) {
    throw new Failure("options-contradict", { first: "--since", second: "<file>", why: "files have no history" });
  }
  if (until !== undefined && since === undefined)
    throw new Failure("option-needs", { option: "--until", needs: "--since" });
  if (files.length > 2 || (files.length === 1 && catalog === undefined)) {
    const wanted = "two files, or one and --catalog <analysis|router>";
    throw new Failure("option-value-wrong", { option: "<file>", value: files.join(" "), wanted });
  }
  return {
    files,
    catalog,
    since: since === undefined ? undefined : parseMoment(since, { option: "--since", now }),
    until: until === undefined ? undefined : parseMoment(until, { option: "--until", now }),
    exitCode,
    source: sourceOf(typed),
  };
};

/** One of two catalogs that are compared. */
interface Side {
  readonly catalog: CatalogName | null;
  readonly provider: string | null;
  readonly file: string | null;
  /** When it was so: milliseconds since 1970. */
  readonly asOf: number | undefined;
  readonly models: Iterable<CatalogModel>;
}

/** Two sides and their difference. */
interface Compared {
  readonly from: Side;
  readonly to: Side;
  readonly difference: Difference;
}

/** @throws Failure `catalogs-differ`, once the result was printed */
const diff = async (context: Context, options: DiffOptions): Promise<void> => {
  const { screen } = context;
  const progress = screen.progress("reading catalogs");
  const compared = await sidesOf(context, options)
    .then(async (pairs) => await compare(context, pairs))
    .finally(progress.stop);
  const rows = compared.flatMap(({ from, to, difference }) =>
    difference.changes.map((change) => ({ catalog: from.catalog === to.catalog ? to.catalog : null, ...change })),
  );
  for (const { difference } of compared) {
    const { without_id } = difference.models;
    if (without_id > 0) screen.notice(withoutId(without_id));
  }
  if (rows.length === 0) screen.notice("nothing is different");
  const [only, ...others] = compared;
  const { placesFor } = await context.catalogs();
  await printList(screen, {
    columns: changeColumns({ placesFor, sides: sidesNamed(only, others.length > 0), several: others.length > 0 }),
    rows,
    wire: { bytes: Buffer.from(JSON.stringify(documentOf(compared, rows))), member: "changes" },
  });
  if (options.exitCode && rows.length > 0) throw new Failure("catalogs-differ", { changes: rows.length });
};

const withoutId = (count: number): string =>
  count === 1 ? "1 entry has no id, and was not compared" : `${count} entries have no id, and were not compared`;

/** The names of the two catalogs, where they are not the same one at two times. */
const sidesNamed = (only: Compared | undefined, several: boolean): { from: string; to: string } | undefined => {
  const [from, to] = several ? [] : [only?.from.catalog, only?.to.catalog];
  return from && to && from !== to ? { from, to } : undefined;
};

/** `{"compared":[{"from","to","models"}],"changes":[{"catalog","id","name","change","field","from","to"}]}` */
const documentOf = (
  compared: readonly Compared[],
  rows: readonly (Change & { readonly catalog: string | null })[],
) => ({
  compared: compared.map(({ from, to, difference: { models } }) => ({
    from: sideDocument(from),
    to: sideDocument(to),
    models,
  })),
  changes: rows.map(({ catalog, id, name, change, field, from, to }) => {
    return { catalog, id, name: name ?? null, change, field, from, to };
  }),
});

const sideDocument = ({ catalog, provider, file, asOf }: Side) => ({
  catalog,
  provider,
  file,
  as_of: asOf === undefined ? null : new Date(asOf).toISOString(),
});

const compare = async (context: Context, pairs: readonly (readonly [Side, Side])[]): Promise<readonly Compared[]> => {
  const { diffCatalogs } = await context.catalogs();
  return pairs.map(([from, to]) => ({ from, to, difference: diffCatalogs(from.models, to.models) }));
};

const sidesOf = async (context: Context, options: DiffOptions): Promise<readonly (readonly [Side, Side])[]> => {
  const { files, catalog, since, until } = options;
  const [older, newer] = files;
  if (older !== undefined && newer !== undefined)
    return [[await fileSide(context, older), await fileSide(context, newer)]];
  const settings = await context.settings();
  const current = async (name: CatalogName): Promise<Side> => {
    const { place, value, asOf } = await readCatalog(context, { settings, catalog: name, source: options.source });
    return { catalog: name, provider: place.provider, file: null, asOf, models: value.data };
  };
  if (older !== undefined && catalog !== undefined) return [[await fileSide(context, older), await current(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw new Failure("option-needs", { option: "--catalog", needs: "--since or <file>" });
    return [[await current("analysis"), await current("router")]];
  }
  const names = catalog === undefined ? await catalogsInForce(context, settings) : [catalog];
  const pairs: (readonly [Side, Side])[] = [];
  for (const name of names) {
    const place = placeOf(settings, name);
    const from = await pastSide(context, { folder: settings.dataFolder, place, moment: since });
    const to =
      until === undefined
        ? await current(name)
        : await pastSide(context, { folder: settings.dataFolder, place, moment: until });
    pairs.push([from, to]);
  }
  return pairs;
};

const fileSide = async (context: Context, file: string): Promise<Side> => {
  const { readCatalogFile } = await (await context.catalogs()).filesDoor();
  const { data } = await readCatalogFile(file, context.host);
  return { catalog: null, provider: null, file, asOf: undefined, models: data };
};

/** A catalog as it was. @throws Failure `catalog-not-kept`, `storage` */
const pastSide = async (
  context: Context,
  {
    folder,
    place,
    moment,
  }: { readonly folder: string | undefined; readonly place: ReturnType<typeof placeOf>; readonly moment: number },
): Promise<Side> => {
  const { openExistingHistory } = await (await context.catalogs()).historyDoor();
  const history = folder === undefined ? undefined : openExistingHistory(folder);
  const kept = history?.at(place, moment);
  history?.close();
  if (kept === undefined) throw new Failure("catalog-not-kept", place);
  if (kept.fetchedAt > moment) {
    const day = new Date(kept.fetchedAt).toISOString().slice(0, 16).replace("T", " ");
    context.screen.notice(`the history of the ${place.catalog} catalog begins ${day} UTC: that is what is compared`);
  }
  const { Catalog, readDocument } = await context.contract.catalog();
  const { data } = Catalog.parse(readDocument(kept.bytes, "data")?.value);
  const { catalog, provider } = place;
  return { catalog, provider, file: null, asOf: kept.fetchedAt, models: data };
};
