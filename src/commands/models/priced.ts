/** `rollcall models --with-prices`: the models that can be called, joined with what the catalogs say of them. */
import type { CatalogName, Filter, JoinedRow, Listed } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { Entries } from "../../contract/fields.ts";
import type { InferenceModel } from "../../contract/models.ts";
import { endWith, leftOut, listedOf, printJoined, readCatalogs, requireJoinedColumns } from "../catalog/joined.ts";
import { catalogsInForce } from "../catalog/source.ts";

/** What was asked for. */
export interface PricedOptions {
  readonly filter: Filter;
  readonly sort: readonly string[] | undefined;
  readonly limit: number | undefined;
}

/** A list of models as it was read. */
interface ModelsRead {
  readonly entries: Entries<InferenceModel>;
  readonly bytes: Uint8Array;
}

/** Lists them. Ids are joined where they are exactly the same. @throws Failure */
export const listPriced = async (
  context: Context,
  { filter, sort, limit }: PricedOptions,
  readModels: () => Promise<ModelsRead>,
): Promise<void> => {
  const { screen } = context;
  const withModels = true;
  requireJoinedColumns(sort, { withModels });
  const settings = await context.settings();
  const names = await catalogsInForce(context, settings);
  const source = { maxAgeMs: undefined, offline: false };
  const progress = screen.progress("reading the models and the catalogs");
  const [models, { read, failures }] = await Promise.all([
    readModels(),
    readCatalogs(context, { settings, source, names }),
  ]).finally(progress.stop);
  const room = await context.catalogs();
  const listed = await listedOf(context, read);
  const rows = room.joinedById(room.callableIn(models.entries, models.bytes), listed);
  const catalogs = read.map(({ place }) => place.catalog);
  for (const sentence of [
    ...leftOut(room.catalogNames, names),
    ...unlisted(room, { rows, listed, catalogs, filter }),
  ]) {
    screen.notice(sentence);
  }
  const none = "the service lists no models";
  await printJoined(context, { rows, listed, catalogs, filter, sort, limit, withModels, none });
  endWith(failures);
};

/** Models that are named in one sentence. */
const mostNamed = 5;

const unlisted = (
  { unlistedIn, joinedMatcher }: Awaited<ReturnType<Context["catalogs"]>>,
  {
    rows,
    listed,
    catalogs,
    filter: { pattern },
  }: {
    readonly rows: readonly JoinedRow[];
    readonly listed: Entries<Listed>;
    readonly catalogs: readonly CatalogName[];
    readonly filter: Filter;
  },
): readonly string[] => {
  const found = unlistedIn(rows.filter(joinedMatcher({ pattern }, { now: 0 })), listed);
  if (found.length === 0) return [];
  const named = found
    .slice(0, mostNamed)
    .map(({ id, near }) => (near === undefined ? id : `${id} (there is ${near})`))
    .join(", ");
  const more = found.length > mostNamed ? ` and ${found.length - mostNamed} more` : "";
  const models = found.length === 1 ? "model is" : "models are";
  const where = catalogs.length === 1 ? `not in the ${catalogs[0]} catalog` : "in no catalog";
  return [`${found.length} ${models} ${where}: ${named}${more}`];
};
