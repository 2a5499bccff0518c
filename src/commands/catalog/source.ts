/** Where a command's catalogs come from: the service, the copy that is held of its last reply, or the history. */
import type { Command } from "commander";
import type { CatalogName, CatalogPlace, HeldCatalog } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { Catalog } from "../../contract/catalog.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import type { Settings } from "../../settings/index.ts";
import { parseAge } from "../lists/moment.ts";

/** The options as typed. */
export interface TypedSource {
  readonly maxAge?: string;
  readonly offline?: boolean;
}

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

/** Declares the options. */
export const sourceOptions = (command: Command): Command =>
  command
    .option("--max-age <duration>", "use a copy no older than this, such as 1h")
    .option("--offline", "use the copy, however old, and ask nobody");

/** What the options mean. @throws Failure `option-value-wrong`, `options-contradict` */
export const sourceOf = ({ maxAge, offline = false }: TypedSource): CatalogSource => {
  if (maxAge !== undefined && offline) {
    const why = "--offline uses the copy however old it is";
    throw new Failure("options-contradict", { first: "--offline", second: "--max-age", why });
  }
  return { maxAgeMs: maxAge === undefined ? undefined : parseAge(maxAge, { option: "--max-age" }), offline };
};

/** A catalog by its name. @throws Failure `option-value-wrong` */
export const catalogNamed = (value: string): CatalogName => {
  if (value === "analysis" || value === "router") return value;
  const near = nearest(value, ["analysis", "router"]);
  throw new Failure("option-value-wrong", {
    option: "--catalog",
    value,
    wanted: "analysis or router",
    ...(near === undefined ? {} : { suggestion: near }),
  });
};

/** The settings that name the provider of each catalog. */
export const providerSettings = { analysis: "analysis_provider", router: "router_provider" } as const;

/** The catalogs whose provider is set. @throws Failure `setting-missing` where none is */
export const catalogsInForce = async ({ catalogs }: Context, settings: Settings): Promise<readonly CatalogName[]> => {
  const { catalogNames } = await catalogs();
  const set = catalogNames.filter((name) => settings.get(providerSettings[name]) !== undefined);
  if (set.length === 0) settings.require("router_provider");
  return set;
};

/** Which catalog that is, whoever answers. @throws Failure `setting-missing` */
export const placeOf = (settings: Settings, catalog: CatalogName): CatalogPlace => {
  const provider = settings.require(providerSettings[catalog]);
  return { address: settings.local ? "local" : settings.address("base"), catalog, provider };
};

/**
 * Reads a catalog. What the service answers is kept when the run is over, so that nobody waits for that.
 * @throws Failure `catalog-not-held` offline; what the client throws
 */
export const readCatalog = async (
  context: Context,
  {
    settings,
    catalog,
    source,
  }: { readonly settings: Settings; readonly catalog: CatalogName; readonly source: CatalogSource },
): Promise<CatalogRead> => {
  const place = placeOf(settings, catalog);
  const folder = settings.dataFolder;
  const { readHeld } = await context.catalogs();
  const held = folder === undefined ? undefined : readHeld(folder, place);
  const copy = held !== undefined && isEnough(held, source, context.host.now()) ? held.read() : undefined;
  if (held !== undefined && copy !== undefined) return await readCopy(context, { place, held, bytes: copy });
  if (source.offline) throw new Failure("catalog-not-held", place);
  const fetched = await fetchCatalog(context, { settings, place, held });
  const now = context.host.now();
  if (folder !== undefined) {
    context.afterwards(async () => {
      const { keepCatalog } = await context.catalogs();
      await keepCatalog(folder, place, { fetched, held, now });
    });
  }
  return { place, value: fetched.value, bytes: fetched.bytes, asOf: now };
};

const isEnough = ({ checkedAt }: HeldCatalog, { maxAgeMs, offline }: CatalogSource, now: number): boolean => {
  const age = now - checkedAt;
  // What is from the future was checked by a clock that nobody can hold against this one.
  return offline || (maxAgeMs !== undefined && age >= 0 && age <= maxAgeMs);
};

const fetchCatalog = async (
  context: Context,
  {
    settings,
    place,
    held,
  }: { readonly settings: Settings; readonly place: CatalogPlace; readonly held: HeldCatalog | undefined },
) => {
  const { listAnalysisModels, listRouterModels } = await context.contract.catalog();
  const client = await context.client(settings);
  const asked = { body: undefined, ...(held === undefined ? {} : { held }) };
  const { provider } = place;
  const reply =
    place.catalog === "analysis"
      ? await client.send(listAnalysisModels, { ...asked, parameters: { analysis_provider: provider } })
      : await client.send(listRouterModels, { ...asked, parameters: { router_provider: provider } });
  return { ...reply, unchanged: reply.status === 304 };
};

const readCopy = async (
  context: Context,
  { place, held, bytes }: { readonly place: CatalogPlace; readonly held: HeldCatalog; readonly bytes: Uint8Array },
): Promise<CatalogRead> => {
  const { Catalog, readDocument } = await context.contract.catalog();
  const value = Catalog.safeParse(readDocument(bytes, "data")?.value);
  if (!value.success) throw new Failure("catalog-not-held", place);
  const { checkedAt } = held;
  const day = new Date(checkedAt).toISOString().slice(0, 16).replace("T", " ");
  const age = ageOf(context.host.now() - checkedAt);
  context.screen.notice(`the ${place.catalog} catalog as it was at ${day} UTC, ${age}: the service was not asked`);
  return { place, value: value.data, bytes, asOf: checkedAt };
};

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
  return `${count} ${name}${count === 1 ? "" : "s"} ago`;
};
