/** Reads the selected catalogs from the service or the data folder. */

import { type CatalogName, catalogNames, findSavedCatalog, saveCatalog } from "../../catalogs/catalog-files.ts";
import { compilePattern } from "../../catalogs/fields.ts";
import type { CatalogEntry } from "../../catalogs/rows.ts";
import { isFailure } from "../../failure.ts";
import { noteDefects } from "../../output/lists/sort-rows.ts";
import { openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { CatalogSourceOptions } from "../../session/options/list-options.ts";
import type { Settings } from "../../settings/read.ts";
import { getErrorCode } from "../../system/files.ts";
import { findNearest } from "../../text/nearest.ts";
import { describeSystemCode } from "../../text/sentences.ts";
import { formatMinute } from "../../text/units.ts";
import { listAnalysisModels, listRouterModels } from "../../wire/contract/models.ts";
import { toText } from "../../wire/contract/replies.ts";
import { catalogNotCached } from "../failures.ts";

export const readCatalogSettings = async (context: Context, typed: Partial<CatalogSourceOptions>) => {
  const { analysisProvider, routerProvider } = typed;
  return await readEffectiveSettings(context, { analysis_provider: analysisProvider, router_provider: routerProvider });
};

export const readCatalogs = async (
  context: Context,
  typed: Partial<CatalogSourceOptions> & { readonly catalog?: CatalogName | undefined },
  selected: { readonly settings?: Settings; readonly names?: readonly CatalogName[] | undefined } = {},
) => {
  const settings = selected.settings ?? (await readCatalogSettings(context, typed));
  const names = selectCatalogs(settings, selected.names ?? (typed.catalog && [typed.catalog]));
  const progress = context.screen.startProgress("reading catalogs");
  const reading = names.map((catalog) => readCatalog(context, { settings, catalog, typed }));
  const read = await Promise.all(reading).finally(progress.stop);
  const listed = read.flatMap(({ catalog, models }) =>
    models.entries.map(({ value: entry, ...raw }): CatalogEntry => ({ catalog, entry, ...raw })),
  );
  return { names, read, listed };
};

/** Default: the catalogs with a provider. @throws Failure `setting-missing` */
export const selectCatalogs = (settings: Settings, named?: readonly CatalogName[]) => {
  const set = catalogNames.filter((name) => settings.get(`${name}_provider`) !== undefined);
  const names = named ?? set;
  const providers = (named ?? (set.length > 0 ? set : catalogNames)).map((name) => `${name}_provider` as const);
  settings.requireAll([...(settings.local ? [] : (["base_url"] as const)), ...providers]);
  return names;
};

export const identifyCatalog = (settings: Settings, catalog: CatalogName) => {
  const provider = settings.require(`${catalog}_provider`);
  return { baseUrl: settings.local ? "local" : settings.serviceUrl("base"), catalog, provider };
};

type CatalogRequest = Readonly<{
  settings: Settings;
  catalog: CatalogName;
  typed: Partial<CatalogSourceOptions>;
}>;

/** @throws Failure `catalog-not-cached` */
export const readCatalog = async (
  context: Context,
  { settings, catalog, typed: { maxAge: maxAgeMs, offline = false } }: CatalogRequest,
) => {
  const { screen, host } = context;
  const id = identifyCatalog(settings, catalog);
  const folder = findCache(context, settings, offline);
  const canUseCache = folder !== undefined && (offline || maxAgeMs !== undefined);
  const cached = canUseCache ? findSavedCatalog(folder, id, Number.POSITIVE_INFINITY) : undefined;
  const ageMs = host.now() - (cached?.checkedAt ?? Number.NaN);
  const title = `the ${catalog} catalog`;
  // A negative age means that the clock was changed.
  if (cached && (offline || (ageMs >= 0 && ageMs <= (maxAgeMs ?? 0)))) {
    const { models, checkedAt: asOf } = cached;
    screen.notice(`using ${title} cached at ${formatMinute(asOf)}`);
    noteDefects(screen, models, title);
    return { ...id, models, asOf };
  }
  if (offline) throw catalogNotCached(id);
  const { provider } = id;
  const client = await openServiceClient(context, settings);
  const { bytes, value: models } =
    catalog === "analysis"
      ? await client.send(listAnalysisModels, { body: undefined, parameters: { analysis_provider: provider } })
      : await client.send(listRouterModels, { body: undefined, parameters: { router_provider: provider } });
  const asOf = host.now();
  // The saved bytes have no headers, so they would later count as the whole list.
  const isPartByHeader = models.partialMark?.startsWith("the header ") === true;
  context.runAtEnd(async () => {
    if (folder === undefined || isPartByHeader) return;
    try {
      saveCatalog(folder, id, bytes, new Date(asOf));
    } catch (thrown) {
      const reason = describeSystemCode(getErrorCode(thrown));
      screen.notice(`${title} was not saved in ${folder} for --offline and \`rollcall catalog diff\`: ${reason}`);
    }
  });
  noteDefects(screen, models, title);
  return { ...id, models, asOf };
};

/** Only `--offline` needs the cache. @throws Failure `unsafe-ownership` */
const findCache = ({ screen }: Context, settings: Settings, isNeeded: boolean) => {
  try {
    return settings.dataFolder();
  } catch (thrown) {
    if (isNeeded || !isFailure(thrown, "unsafe-ownership")) throw thrown;
    screen.notice(`the cache of catalogs is not used: ${thrown.message}`);
    return undefined;
  }
};

const maxSearched = 20;

export const selectNamed = (listed: readonly CatalogEntry[], names: readonly string[]) => {
  const idOf = ({ entry }: CatalogEntry) => toText(entry.id) ?? "";
  const named = new Set(names);
  const globs = names.filter((id) => /[*?]/.test(id)).map((id) => ({ id, matches: compilePattern(id) }));
  const isSelected = (one: CatalogEntry) => named.has(idOf(one)) || globs.some(({ matches }) => matches(idOf(one)));
  const selected = names.length === 0 ? listed : listed.filter(isSelected);
  const matched = globs.filter(({ matches }) => listed.some((one) => matches(idOf(one)))).map(({ id }) => id);
  const found = new Set([...listed.map(idOf), ...matched]);
  const missing = names
    .filter((id) => !found.has(id))
    // Only one suggestion is printed.
    .map((id, at) => ({ id, near: at > maxSearched ? undefined : findNearest(id, listed.map(idOf)) }));
  return { selected, missing };
};
