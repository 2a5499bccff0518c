/** Where a command's catalogs come from: the service, the copy of its last reply, or the history. */

import {
  type CatalogCopy,
  type CatalogName,
  type CatalogPlace,
  catalogNames,
  keepCatalog,
  type Listed,
  listedIn,
  readCopy,
} from "../../catalogs/index.ts";
import { contradiction } from "../../cli/index.ts";
import { openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Catalog, listAnalysisModels, listRouterModels, readDocument } from "../../contract/catalog.ts";
import type { Entries } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";
import { catalogNotHeld } from "../failures.ts";
import { withoutNullEntries } from "../lists/mistyped.ts";
import type { TypedSource } from "../lists/options.ts";

/** How a catalog may be come by. */
export interface CatalogSource {
  /** A copy that the service vouched for no longer ago than this is used without asking: milliseconds. */
  readonly maxAgeMs: number | undefined;
  /** Whether the copy is used however old it is, and the service not asked. */
  readonly offline: boolean;
}

/** A catalog that was read. */
export interface CatalogRead {
  readonly place: CatalogPlace;
  readonly value: Catalog;
  /** The reply as it came. */
  readonly bytes: Uint8Array;
  /** When the service last vouched for it: milliseconds since 1970. */
  readonly asOf: number;
}

/** What the options mean. @throws Failure `option-value-wrong`, `options-contradict` */
export const sourceOf = ({ maxAge: maxAgeMs, offline }: TypedSource): CatalogSource => {
  if (maxAgeMs !== undefined && offline)
    throw contradiction("--offline", "--max-age", "--offline uses the copy however old it is");
  return { maxAgeMs, offline };
};

/** The settings that name the provider of each catalog. */
const providerSettings = { analysis: "analysis_provider", router: "router_provider" } as const;

/** The catalogs whose provider is set. @throws Failure `setting-missing` where none is */
const catalogsInForce = (settings: Settings): readonly CatalogName[] => {
  const set = catalogNames.filter((name) => settings.get(providerSettings[name]) !== undefined);
  if (set.length === 0) settings.require("router_provider");
  return set;
};

/** The catalogs that are meant: the one that was named, or all whose provider is set. @throws Failure `setting-missing` */
export const catalogsMeant = (settings: Settings, named: CatalogName | undefined): readonly CatalogName[] =>
  named === undefined ? catalogsInForce(settings) : [named];

/** Sentences for the catalogs that are left out, since nobody said whose they are. */
export const leftOut = (names: readonly CatalogName[]): readonly string[] =>
  catalogNames
    .filter((name) => !names.includes(name))
    .map((name) => `the ${name} catalog is left out: ${providerSettings[name]} is not set`);

/** Which catalog that is, whoever answers. @throws Failure `setting-missing` */
export const placeOf = (settings: Settings, catalog: CatalogName): CatalogPlace => {
  const provider = settings.require(providerSettings[catalog]);
  return { address: settings.local ? "local" : settings.address("base"), catalog, provider };
};

/** A catalog to read. */
interface CatalogAsked {
  readonly settings: Settings;
  readonly catalog: CatalogName;
  readonly source: CatalogSource;
}

/**
 * Reads a catalog. What the service answers is kept after the run, so that nobody waits for that.
 * @throws Failure `catalog-not-held` offline; what the client throws
 */
export const readCatalog = async (
  context: Context,
  { settings, catalog, source: { offline, maxAgeMs } }: CatalogAsked,
): Promise<CatalogRead> => {
  const place = placeOf(settings, catalog);
  const folder = settings.dataFolder();
  const copy = folder === undefined ? undefined : readCopy(folder, place);
  const age = copy === undefined ? Number.NaN : context.host.now() - copy.checkedAt;
  // A copy from the future was checked by another clock.
  const isEnough = offline || (maxAgeMs !== undefined && age >= 0 && age <= maxAgeMs);
  const bytes = isEnough ? copy?.read() : undefined;
  if (copy !== undefined && bytes !== undefined) return catalogIn(context, place, { copy, bytes });
  if (offline) throw catalogNotHeld(place);
  const fetched = await fetchCatalog(context, settings, { place, copy });
  const now = context.host.now();
  if (folder !== undefined) context.afterwards(async () => keepCatalog(folder, place, { fetched, copy, now }));
  return withoutNulls(context, { place, value: fetched.value, bytes: fetched.bytes, asOf: now });
};

const fetchCatalog = async (
  context: Context,
  settings: Settings,
  { place, copy }: { readonly place: CatalogPlace; readonly copy: CatalogCopy | undefined },
) => {
  const client = await openClient(context, settings);
  const asked = { body: undefined, ...(copy === undefined ? {} : { held: copy }) };
  const { provider } = place;
  const reply =
    place.catalog === "analysis"
      ? await client.send(listAnalysisModels, { ...asked, parameters: { analysis_provider: provider } })
      : await client.send(listRouterModels, { ...asked, parameters: { router_provider: provider } });
  return { ...reply, unchanged: reply.status === 304 };
};

/** The catalog in the bytes of a copy. @throws Failure `catalog-not-held` if they hold none */
const catalogIn = (
  context: Context,
  place: CatalogPlace,
  { copy: { checkedAt }, bytes }: { readonly copy: CatalogCopy; readonly bytes: Uint8Array },
): CatalogRead => {
  const value = Catalog.safeParse(readDocument(bytes, "data")?.value);
  if (!value.success) throw catalogNotHeld(place);
  const when = `${minuteOf(checkedAt)}, ${ageOf(context.host.now() - checkedAt)}`;
  context.screen.notice(`the ${place.catalog} catalog as it was at ${when}: the service was not asked`);
  return withoutNulls(context, { place, value: value.data, bytes, asOf: checkedAt });
};

const withoutNulls = ({ screen }: Context, read: CatalogRead): CatalogRead => ({
  ...read,
  bytes: withoutNullEntries(screen, { ...read, entries: read.value.data, where: `the ${read.place.catalog} catalog` }),
});

/** A moment to the minute, for a person: `2026-10-01 12:00 UTC`. */
export const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const ageUnits = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** An age for a person: `3 hours ago`. */
const ageOf = (ms: number): string => {
  const [name, unit] = ageUnits.find(([, length]) => ms >= length) ?? ["second", 1000];
  const count = Math.max(0, Math.floor(ms / unit));
  return `${counted(count, name)} ago`;
};

/** Catalogs that were read, and why others were not. */
export interface CatalogsRead {
  readonly read: readonly CatalogRead[];
  readonly failures: readonly Failure[];
}

/** Reads catalogs side by side. @throws Failure where none could be read, and where the run was interrupted */
export const readCatalogs = async (
  context: Context,
  {
    settings,
    source,
    names,
  }: { readonly settings: Settings; readonly source: CatalogSource; readonly names: readonly CatalogName[] },
): Promise<CatalogsRead> => {
  const settled = await Promise.allSettled(
    names.map(async (catalog) => await readCatalog(context, { settings, catalog, source })),
  );
  const read = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const reasons = settled.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
  const failures = reasons.filter((reason): reason is Failure => reason instanceof Failure);
  const worst = reasons.find((reason) => !(reason instanceof Failure) || reason.code === "interrupted");
  if (worst !== undefined) throw worst;
  if (read.length === 0 && failures[0] !== undefined) throw failures[0];
  return { read, failures };
};

/** The entries of catalogs, one catalog behind the other. */
export const listedOf = (read: readonly CatalogRead[]): Entries<Listed> =>
  listedIn(read.map(({ place, value, bytes }) => ({ catalog: place.catalog, entries: value.data, bytes })));

/** Ends a run that printed what it could read. @throws Failure */
export const endWith = ([failure]: readonly Failure[]): void => {
  if (failure !== undefined) throw failure;
};
