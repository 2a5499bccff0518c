/** `rollcall catalog cost`: what a usage costs at each model's prices, cheapest first. */

import { compareCosts, costOf, dayOf, deprecationOf, type Listed, matcherOf } from "../../catalogs/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { type Entries, known, mapped } from "../../contract/fields.ts";
import { Failure } from "../../failure.ts";
import { printList } from "../../output/index.ts";
import { type CostRow, costColumns, deprecationMark } from "./columns.ts";
import type { TypedCost } from "./command.ts";
import { filterOf, requireWords } from "./filter.ts";
import { openNamed } from "./named.ts";
import { type CatalogRead, catalogsMeant, listedOf, readCatalog, sourceOf } from "./source.ts";
import { readUsage, type UsageRead, usageAsked } from "./usage.ts";

/** Prices the usage. @throws Failure `models-missing`, once the others were printed */
export const run = async (context: Context, typed: TypedCost): Promise<void> => {
  const { screen, host } = context;
  const [asked, filter, source] = [usageAsked(typed), filterOf(typed, { now: host.now() }), sourceOf(typed)];
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, typed.catalog);
  const progress = screen.progress("reading catalogs");
  try {
    const usage = await readUsage(context, settings, asked);
    const read: CatalogRead[] = [];
    for (const catalog of names) read.push(await readCatalog(context, { settings, catalog, source }));
    progress.stop();
    const listed = listedOf(read);
    requireWords(
      filter,
      mapped(listed, ({ entry }) => entry),
    );
    const matches = matcherOf(filter, { now: host.now() });
    const { rows, missing } = costsOf(listed, { models: typed.model, matches, usage, now: host.now() });
    for (const sentence of usage.notices) screen.notice(sentence);
    const shown = rows.slice(0, typed.limit);
    const unknown = shown.filter(({ cost }) => cost.total === null).length;
    if (rows.length === 0 && missing.length === 0) screen.notice("no model is like that");
    if (unknown > 0) screen.notice(unknownNotice(unknown, shown.length));
    await printList(screen, {
      columns: costColumns({ several: names.length > 1, mark: deprecationMark(host.now()) }),
      rows: shown,
      wire: { bytes: Buffer.from(JSON.stringify(documentOf(usage, shown))), member: "models" },
    });
    if (missing.length > 0) throw new Failure("models-missing", { models: missing, catalogs: names });
  } finally {
    progress.stop();
  }
};

const unknownNotice = (unknown: number, of: number): string =>
  `${unknown} of ${of} models state no price of something that was used: their total is not known`;

const documentOf = ({ usage, from }: UsageRead, rows: readonly CostRow[]) => ({
  usage: { ...usage, from },
  models: rows.map(({ catalog, id, name, model, ended, cost: { total, at_least, not_stated, items } }) => {
    const known = {
      catalog,
      id: id ?? null,
      name: name ?? null,
      deprecation_date: deprecationOf(model) ?? null,
      ended,
    };
    return { ...known, total, at_least, not_stated, items };
  }),
});

/** What is priced. */
interface Pricing {
  readonly models: readonly string[];
  readonly matches: (model: CatalogModel) => boolean;
  readonly usage: UsageRead;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Cheapest first; what has ended costs nobody anything any more, and stands last. */
const costsOf = (listed: Entries<Listed>, { models, matches, usage: { usage, unitsAsked }, now }: Pricing) => {
  const today = dayOf(now);
  const named = openNamed(models.length === 0 ? undefined : models.map((text) => ({ text })));
  const rows: CostRow[] = [];
  for (const { catalog, entry } of listed) {
    const [id, name] = [known(entry.id), known(entry.name)];
    if (!named.means(id, catalog) || !matches(entry)) continue;
    const ended = (deprecationOf(entry) ?? today) < today;
    rows.push({ catalog, id, name, model: entry, ended, cost: costOf(entry, { usage, unitsAsked }) });
  }
  rows.sort((a, b) => Number(a.ended) - Number(b.ended) || compareCosts(a.cost, b.cost) || byId(a, b));
  return { rows, missing: named.missing() };
};

const byId = (a: CostRow, b: CostRow): number =>
  (a.id ?? "") < (b.id ?? "") ? -1 : (a.id ?? "") > (b.id ?? "") ? 1 : 0;
