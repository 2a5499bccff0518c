/** `rollcall catalog diff`: what is different between the two catalogs, two dates, or two files. */

import { basename } from "node:path";
import {
  type CatalogName,
  type CatalogPlace,
  type Change,
  type Difference,
  diffCatalogs,
  readCatalogFile,
  savedCatalogAt,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Catalog, type CatalogModel, readDocument } from "../../contract/catalog.ts";
import { known } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import { printList } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { withoutNullEntries } from "../lists/mistyped.ts";
import { changeColumns, type Sides, shortSide } from "./columns.ts";
import type { TypedDiff } from "./command.ts";
import { type CatalogSource, catalogsMeant, minuteOf, placeOf, readCatalog, sourceOf } from "./source.ts";

/** @throws Failure `options-contradict`, `option-value-wrong` */
const checkDiff = ({ file: files, catalog, since }: TypedDiff): void => {
  if (files.length > 0 && since !== undefined) throw contradiction("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw wrongValue("<file>", files.join(" "), "two files, or one and --catalog <analysis|router>");
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

/** Compares, and prints what is different. @throws Failure `catalogs-differ`, once the result was printed */
export const run = async (context: Context, typed: TypedDiff): Promise<void> => {
  const { screen } = context;
  checkDiff(typed);
  const source = sourceOf(typed);
  const progress = screen.progress("reading catalogs");
  const compared = await sidesOf(context, typed, source)
    .then((pairs) => pairs.map(([from, to]) => ({ from, to, difference: diffCatalogs(from.models, to.models) })))
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
  const several = others.length > 0;
  const sides = several ? undefined : sidesNamed(only);
  await printList(screen, {
    columns: changeColumns({ sides: screen.format === "table" ? cutSides(sides) : sides, several }),
    rows,
    wire: { bytes: Buffer.from(JSON.stringify(documentOf(compared, rows))), member: "changes" },
  });
  if (typed.exitCode && rows.length > 0) throw new Failure("catalogs-differ", { changes: rows.length });
};

const withoutId = (count: number): string =>
  counted(count, "entry has no id, and was not compared", "entries have no id, and were not compared");

/** What the two sides are called: by their catalogs or files; a catalog at two times by these. */
const sidesNamed = (only: Compared | undefined): Sides | undefined => {
  if (only === undefined) return undefined;
  const [from, to] = [only.from, only.to].map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (from !== to) return { from: from ?? "", to: to ?? "" };
  const [older, newer] = [only.from, only.to].map(({ asOf }) => (asOf === undefined ? "" : minuteOf(asOf)));
  return { from: older || (from ?? ""), to: newer || (to ?? "") };
};

const cutSides = (sides: Sides | undefined): Sides | undefined =>
  sides === undefined ? undefined : { from: shortSide(sides.from), to: shortSide(sides.to) };

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

const sidesOf = async (
  context: Context,
  { file: [older, newer], catalog, ...typed }: TypedDiff,
  source: CatalogSource,
): Promise<readonly (readonly [Side, Side])[]> => {
  const [since, until] = [typed.since?.(context.host.now()), typed.until?.(context.host.now())];
  if (older !== undefined && newer !== undefined)
    return [[await fileSide(context, older), await fileSide(context, newer)]];
  const settings = await settingsInForce(context);
  const current = async (name: CatalogName): Promise<Side> => {
    const { place, value, asOf } = await readCatalog(context, { settings, catalog: name, source });
    return { catalog: name, provider: place.provider, file: null, asOf, models: value.data };
  };
  if (older !== undefined && catalog !== undefined) return [[await fileSide(context, older), await current(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw new Failure("option-needs", { option: "--catalog", needs: "--since or <file>" });
    return [[await current("analysis"), await current("router")]];
  }
  const pairs: (readonly [Side, Side])[] = [];
  for (const name of catalogsMeant(settings, catalog)) {
    const place = placeOf(settings, name);
    const from = pastSide(context, { settings, place, time: since });
    const to = until === undefined ? await current(name) : pastSide(context, { settings, place, time: until });
    pairs.push([from, to]);
  }
  return pairs;
};

/** A saved catalog. @throws Failure `catalog-file-unreadable`, `catalog-file-broken` */
const fileSide = async ({ host, screen }: Context, file: string): Promise<Side> => {
  const { data: { data: models } = {} } = Catalog.safeParse(await readCatalogFile(file, host));
  // What has entries of which none has an id, such as trajectories, is something else.
  if (models === undefined || (models.length > 0 && !Array.from(models).some(({ id }) => known(id) !== undefined))) {
    throw new Failure("catalog-file-broken", { file, wrong: "no-catalog" }, { where: { file } });
  }
  withoutNullEntries(screen, { entries: models, bytes: new Uint8Array(), where: file });
  return { catalog: null, provider: null, file, asOf: undefined, models };
};

/** A catalog as it was. @throws Failure `catalog-not-kept` */
const pastSide = (
  { screen }: Context,
  { settings, place, time }: { readonly settings: Settings; readonly place: CatalogPlace; readonly time: number },
): Side => {
  const folder = settings.dataFolder();
  const saved = folder === undefined ? undefined : savedCatalogAt(folder, place, time);
  const catalogThen = Catalog.safeParse(saved === undefined ? undefined : readDocument(saved.bytes, "data")?.value);
  if (saved === undefined || !catalogThen.success) throw new Failure("catalog-not-kept", place);
  const { catalog, provider } = place;
  if (saved.fetchedAt > time) {
    screen.notice(
      `the history of the ${catalog} catalog begins ${minuteOf(saved.fetchedAt)}: that is what is compared`,
    );
  }
  return { catalog, provider, file: null, asOf: saved.fetchedAt, models: catalogThen.data.data };
};
