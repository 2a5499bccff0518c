/** Reads the inference models and the selected catalogs. */

import { type CatalogName, catalogNames } from "../../catalogs/catalog-files.ts";
import { compilePattern } from "../../catalogs/fields.ts";
import { noteDefects } from "../../output/lists/sort-rows.ts";
import { openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { CatalogSourceOptions } from "../../session/options/list-options.ts";
import type { Settings } from "../../settings/read.ts";
import { saveIds } from "../../settings/saved-files.ts";
import { findNearest } from "../../text/nearest.ts";
import { type CatalogModel, listAnalysisModels, listModels, listRouterModels } from "../../wire/contract/models.ts";
import { type ReplyEntry, type ReplyList, toText } from "../../wire/contract/replies.ts";

export type CatalogEntry = Readonly<Omit<ReplyEntry, "value"> & { catalog: CatalogName; entry: CatalogModel }>;

/** The entry of a catalog, an inference model, or both. */
export type CatalogRow = Partial<CatalogEntry> & { readonly model?: ReplyEntry };

export const readCatalogSettings = async (context: Context, typed: Partial<CatalogSourceOptions>) => {
  const { analysisProvider, routerProvider } = typed;
  return await readEffectiveSettings(context, { analysis_provider: analysisProvider, router_provider: routerProvider });
};

export const readCatalogs = async (context: Context, settings: Settings, named?: readonly CatalogName[]) => {
  const names = selectCatalogs(settings, named);
  const progress = context.screen.startProgress("reading catalogs");
  const reading = names.map((catalog) => readCatalog(context, settings, catalog));
  const replies = await Promise.all(reading).finally(progress.stop);
  const entries = replies.flatMap(({ catalog, models }) =>
    models.entries.map(({ value: entry, ...raw }): CatalogEntry => ({ catalog, entry, ...raw })),
  );
  return { names, replies, entries };
};

/** Default: the catalogs with a provider. @throws Failure `setting-missing` */
export const selectCatalogs = (settings: Settings, named?: readonly CatalogName[]) => {
  const set = catalogNames.filter((name) => settings.get(`${name}_provider`) !== undefined);
  const names = named ?? set;
  const providers = (named ?? (set.length > 0 ? set : catalogNames)).map((name) => `${name}_provider` as const);
  settings.requireAll(["base_url", ...providers]);
  return names;
};

export const readCatalog = async (context: Context, settings: Settings, catalog: CatalogName) => {
  const provider = settings.require(`${catalog}_provider`);
  const client = await openServiceClient(context, settings);
  const models =
    catalog === "analysis"
      ? await client.send(listAnalysisModels, { body: undefined, parameters: { analysis_provider: provider } })
      : await client.send(listRouterModels, { body: undefined, parameters: { router_provider: provider } });
  noteList(context, models, catalog, `the ${catalog} catalog`);
  return { catalog, provider, models };
};

/** Reads the inference models (interface 2.3). */
export const readModels = async (context: Context, settings: Settings) => {
  const client = await openServiceClient(context, settings);
  const models = await client.send(listModels, { parameters: {}, body: undefined });
  noteList(context, models, "models", "the list of models");
  return models;
};

/** Saves the ids for the completion, and prints a notice about an incomplete list. */
const noteList = ({ host, screen }: Context, list: ReplyList, file: Parameters<typeof saveIds>[1], name: string) => {
  const ids = list.entries.map(({ value }) => value.id);
  saveIds(host, file, ids);
  noteDefects(screen, list, name);
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
