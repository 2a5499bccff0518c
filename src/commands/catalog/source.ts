/** The catalogs that a command line means, from the service or the data folder, and the models of them. */
import {
  type CatalogEntry,
  type CatalogId,
  type CatalogName,
  cacheCatalog,
  catalogNames,
  compilePattern,
  type Filter,
  findUnknownWord,
  joinCatalogs,
  parseCatalog,
  readCachedCatalog,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { effectiveSettings, openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type CatalogModel, listAnalysisModels, listRouterModels } from "../../contract/catalog.ts";
import type { Entries, ReplyList } from "../../contract/replies.ts";
import { Failure } from "../../failure.ts";
import { findNearest } from "../../nearest.ts";
import { pluralize } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import { catalogNotCached } from "../failures.ts";
import type { TypedSource } from "../lists/options.ts";
import { noteNulls } from "../lists/selection.ts";

/** A catalog that was read. */
export interface CatalogRead extends CatalogId {
  readonly models: ReplyList<CatalogModel>;
  /** When the service last said that it is current: milliseconds since 1970. */
  readonly asOf: number;
}

/** The options that say which catalogs are read, and from where. */
type TypedCatalogs = TypedSource & { readonly catalog?: CatalogName | undefined };

/** Checks `--max-age` and `--offline`. @throws Failure `conflicting-options` */
export const checkSourceOptions = ({ maxAge, offline }: TypedSource): void => {
  if (maxAge !== undefined && offline)
    throw contradiction("--offline", "--max-age", "--offline uses the copy however old it is");
};

/** Reads the catalogs that are meant. @throws Failure as `readCatalogs`, `setting-missing`, `conflicting-options` */
export const readSelectedCatalogs = async (
  context: Context,
  typed: TypedCatalogs,
  {
    names: given,
    label = "reading catalogs",
  }: { readonly names?: readonly CatalogName[]; readonly label?: string } = {},
): Promise<CatalogsRead> => {
  checkSourceOptions(typed);
  const settings = await effectiveSettings(context);
  const names = given ?? selectCatalogs(settings, typed.catalog);
  const progress = context.screen.startProgress(label);
  return await readCatalogs(context, { settings, typed, names }).finally(progress.stop);
};

/** The settings that name the provider of each catalog. */
const providerSettings = { analysis: "analysis_provider", router: "router_provider" } as const;

/** The catalog that was named, or all whose provider is set. @throws Failure `setting-missing` if none is */
export const selectCatalogs = (settings: Settings, named?: CatalogName): readonly CatalogName[] => {
  if (named !== undefined) return [named];
  const set = catalogNames.filter((name) => settings.get(providerSettings[name]) !== undefined);
  if (set.length === 0) settings.require("router_provider");
  return set;
};

/** Says which catalogs are left out because their provider is not set. */
export const noteSkippedCatalogs = ({ screen }: Context, names: readonly CatalogName[]): void => {
  for (const name of catalogNames) {
    if (!names.includes(name)) screen.notice(`the ${name} catalog is left out: ${providerSettings[name]} is not set`);
  }
};

/** @throws Failure `setting-missing` */
export const catalogIdOf = (settings: Settings, catalog: CatalogName): CatalogId => {
  const provider = settings.require(providerSettings[catalog]);
  return { address: settings.local ? "local" : settings.address("base"), catalog, provider };
};

interface CatalogRequest {
  readonly settings: Settings;
  readonly catalog: CatalogName;
  readonly typed: TypedSource;
}

/**
 * Reads a catalog. What the service answers is saved after the run, so that nobody waits for it.
 * @throws Failure `catalog-not-cached` offline; what the client throws
 */
export const readCatalog = async (
  context: Context,
  { settings, catalog, typed: { maxAge, offline } }: CatalogRequest,
): Promise<CatalogRead> => {
  const { screen, host } = context;
  const place = catalogIdOf(settings, catalog);
  const folder = settings.dataFolder();
  const copy = folder === undefined ? undefined : readCachedCatalog(folder, place);
  const age = host.now() - (copy?.checkedAt ?? Number.NaN);
  // A copy from the future was checked by another clock.
  const isEnough = offline || (maxAge !== undefined && age >= 0 && age <= maxAge);
  const bytes = isEnough ? copy?.read() : undefined;
  const where = `the ${catalog} catalog`;
  if (copy !== undefined && bytes !== undefined) {
    const models = parseCatalog(bytes);
    if (models === undefined) throw catalogNotCached(place);
    screen.notice(
      `${where} as it was at ${formatMinute(copy.checkedAt)}, ${formatAge(age)}: the service was not asked`,
    );
    noteNulls(screen, models, where);
    return { ...place, models, asOf: copy.checkedAt };
  }
  if (offline) throw catalogNotCached(place);
  const client = await openClient(context, settings);
  const asked = { body: undefined, ...(copy === undefined ? {} : { cached: copy }) };
  const { provider } = place;
  const reply =
    catalog === "analysis"
      ? await client.send(listAnalysisModels, { ...asked, parameters: { analysis_provider: provider } })
      : await client.send(listRouterModels, { ...asked, parameters: { router_provider: provider } });
  const now = host.now();
  const fetched = { ...reply, current: reply.status === 304 ? copy : undefined, now };
  if (folder !== undefined) context.runAtEnd(async () => cacheCatalog(folder, place, fetched));
  noteNulls(screen, reply.value, where);
  return { ...place, models: reply.value, asOf: now };
};

/** A time to the minute, for a person: `2026-10-01 12:00 UTC`. */
export const formatMinute = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const ageUnits = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** An age for a person: `3 hours ago`. */
const formatAge = (ms: number): string => {
  const [name, unit] = ageUnits.find(([, length]) => ms >= length) ?? ["second", 1000];
  return `${pluralize(Math.max(0, Math.floor(ms / unit)), name)} ago`;
};

/** Catalogs that were read, and why others were not. */
export interface CatalogsRead {
  readonly names: readonly CatalogName[];
  readonly read: readonly CatalogRead[];
  readonly listed: Entries<CatalogEntry>;
  readonly failures: readonly Failure[];
}

/** Reads catalogs at the same time. @throws Failure if none could be read, and if the run was interrupted */
export const readCatalogs = async (
  context: Context,
  { names, settings, typed }: Omit<CatalogRequest, "catalog"> & { readonly names: readonly CatalogName[] },
): Promise<CatalogsRead> => {
  const settled = await Promise.allSettled(
    names.map(async (catalog) => await readCatalog(context, { settings, catalog, typed })),
  );
  const read = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const reasons = settled.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
  const failures = reasons.filter((reason) => reason instanceof Failure);
  const worst = reasons.find((reason) => !(reason instanceof Failure) || reason.code === "interrupted");
  if (worst !== undefined) throw worst;
  if (read.length === 0 && failures[0] !== undefined) throw failures[0];
  return { names, read, listed: joinCatalogs(read), failures };
};

/** Ends a run that printed what it could read. @throws Failure */
export const throwFirst = ([failure]: readonly Failure[]): void => {
  if (failure !== undefined) throw failure;
};

/** Checks a filter before anything is read. @throws Failure `conflicting-options` */
export const checkFilterOptions = ({ deprecated, notDeprecated }: Filter): void => {
  if (deprecated && notDeprecated)
    throw contradiction("--deprecated", "--not-deprecated", "a model's deprecation date has come, or it has not");
};

/** Words that are named in one sentence at most. */
const maxWords = 8;

/** Refuses words that are neither usual nor in a model. @throws Failure `invalid-option-value` */
export const checkFilterWords = (filter: Filter, models: Entries<CatalogModel>): void => {
  const unknown = findUnknownWord(filter, models);
  if (unknown === undefined) return;
  const { option, word, usual, near, occurring } = unknown;
  const more = occurring.length > maxWords ? ` and ${occurring.length - maxWords} more` : "";
  const wanted =
    occurring.length === 0
      ? `such words as ${usual.slice(0, maxWords).join(", ")}`
      : `what occurs: ${occurring.slice(0, maxWords).map(formatWordCount).join(", ")}${more}`;
  throw wrongValue(option, word, wanted, near && formatWordCount(near));
};

const formatWordCount = ({ word, count }: { readonly word: string; readonly count: number }): string =>
  count === 0 ? word : `${word} (${pluralize(count, "model")})`;

/** The id of a model, or a glob over ids; of one catalog, if it names one. */
interface ModelName {
  readonly text: string;
  readonly catalog?: CatalogName;
}

/** Opens the names of models; without any, all models are meant. It is asked about one model after the other. */
export const openModelNames = (names: readonly ModelName[] | undefined) => {
  const all = (names ?? []).map(({ text, catalog }) => {
    const isGlob = /[*?]/.test(text) && catalog === undefined;
    return { text, catalog, glob: isGlob ? compilePattern(text) : undefined, found: false };
  });
  const ids = new Set<string>();
  return {
    /** True if a model is named. */
    means(id: string | undefined, catalog: CatalogName): boolean {
      if (names === undefined) return true;
      if (id !== undefined) ids.add(id);
      const meant = all.filter(
        (one) =>
          (one.catalog ?? catalog) === catalog && (one.text === id || one.glob?.({ id: id ?? "", name: "" }) === true),
      );
      for (const one of meant) one.found = true;
      return meant.length > 0;
    },
    /** The names that meant no model so far, each with the id that is nearest to it. */
    missing: (): readonly { readonly id: string; readonly near: string | undefined }[] =>
      all.filter(({ found }) => !found).map(({ text }) => ({ id: text, near: findNearest(text, ids) })),
  };
};
