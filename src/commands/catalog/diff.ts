/** Compares catalogs with each other and with their earlier versions: `catalog diff`. */
import { basename } from "node:path";
import * as catalogs from "../../catalogs/index.ts";
import { effectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { ReplyList } from "../../contract/replies.ts";
import { contradiction, requiredOptionMissing, wrongValue } from "../../failures.ts";
import { catalogHistoryMissing, catalogsDiffer } from "../failures.ts";
import { type KeyColumns, printObjects } from "../lists/object-list.ts";
import { noteSkippedNulls } from "../lists/selection.ts";
import { formatFactName } from "./columns.ts";
import type { TypedDiff } from "./command.ts";
import * as source from "./source.ts";

type ComparedCatalog = Readonly<{
  catalog: catalogs.CatalogName | null;
  provider: string | null;
  file: string | null;
  /** Milliseconds since 1970; undefined for a file. */
  asOf: number | undefined;
  models: ReplyList;
}>;

type Pair = readonly [from: ComparedCatalog, to: ComparedCatalog];

export const diff = async (context: Context, typed: TypedDiff) => {
  const { screen } = context;
  const { file: files, catalog, since, until } = typed;
  if (files.length > 0 && since !== undefined) throw contradiction("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw wrongValue("<file>", files.join(", "), "two files, or one file and --catalog <analysis|router>");
  const now = context.host.now();
  if (since !== undefined && until !== undefined && until(now) < since(now))
    throw contradiction("--since", "--until", "--until is before --since");
  const progress = screen.startProgress("reading catalogs");
  const pairs = await readPairs(context, typed).finally(progress.stop);
  const modelsOf = ({ models }: ComparedCatalog) => models.entries.map(({ value }) => value);
  const compared = pairs.map(([from, to]) => ({ from, to, ...catalogs.diffCatalogs(modelsOf(from), modelsOf(to)) }));
  const changes = compared.flatMap(({ from, to, changes: all }) =>
    all.map((one) => ({ catalog: from.catalog === to.catalog ? to.catalog : null, ...one, name: one.name ?? null })),
  );
  if (changes.length === 0) screen.notice("no differences");
  const names = pairs.length === 1 && pairs[0] ? nameSides(pairs[0]) : undefined;
  const sides = compared.map(({ from, to, models }) => ({
    from: toSideDocument(from),
    to: toSideDocument(to),
    models,
  }));
  const columns = changeColumns(screen.format === "table" ? names?.map(shortenName) : names, pairs.length > 1);
  await printObjects(screen, { compared: sides, changes }, { member: "changes", columns });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length);
};

const readPairs = async (context: Context, typed: TypedDiff): Promise<readonly Pair[]> => {
  const { screen, host } = context;
  const { catalog, since, until } = typed;
  const readSide = async (file: string) => {
    const models = await catalogs.readCatalogFile(file, host);
    noteSkippedNulls(screen, models, file);
    return { catalog: null, provider: null, file, asOf: undefined, models };
  };
  const [older, newer] = typed.file;
  if (older !== undefined && newer !== undefined) return [[await readSide(older), await readSide(newer)]];
  const settings = await effectiveSettings(context);
  const readCurrent = async (name: catalogs.CatalogName) => {
    return { ...(await source.readCatalog(context, { settings, catalog: name, typed })), file: null };
  };
  if (older !== undefined && catalog !== undefined) return [[await readSide(older), await readCurrent(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw requiredOptionMissing("--catalog", "--since or <file>");
    return [[await readCurrent("analysis"), await readCurrent("router")]];
  }
  const readPast = (name: catalogs.CatalogName, option: string, time: number) => {
    const id = source.identifyCatalog(settings, name);
    const folder = settings.dataFolder();
    const saved = folder === undefined ? undefined : catalogs.findSavedCatalog(folder, id, time);
    const models = saved && catalogs.parseCatalog(saved.bytes);
    if (saved === undefined || models === undefined) throw catalogHistoryMissing(id);
    const { fetchedAt: asOf } = saved;
    if (asOf > time)
      screen.notice(`${option}: using the oldest saved ${name} catalog, of ${source.formatMinute(asOf)}`);
    return { ...id, file: null, asOf, models };
  };
  const pairs: Pair[] = [];
  for (const name of source.selectCatalogs(settings, catalog)) {
    const from = readPast(name, "--since", since(host.now()));
    pairs.push([from, until === undefined ? await readCurrent(name) : readPast(name, "--until", until(host.now()))]);
  }
  return pairs;
};

const toSideDocument = ({ catalog, provider, file, asOf }: ComparedCatalog) => {
  return { catalog, provider, file, as_of: asOf === undefined ? null : new Date(asOf).toISOString() };
};

/** Returns the names of both catalogs or files, or their times if the names are equal. */
const nameSides = (sides: Pair) => {
  const names = sides.map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (names[0] !== names[1]) return names;
  return sides.map(({ asOf }, at) => (asOf === undefined ? (names[at] ?? "") : source.formatMinute(asOf)));
};

const maxNameLength = 20;
/** Keeps the end of a long name, because names of files often begin in the same way. */
const shortenName = (name: string) => (name.length <= maxNameLength ? name : `…${name.slice(1 - maxNameLength)}`);

type ChangeRow = Omit<catalogs.Change, "name"> & { readonly catalog: catalogs.CatalogName | null };

/** @param names the names of the two sides; undefined for several pairs */
const changeColumns = (names: readonly string[] | undefined, hasCatalogs: boolean): KeyColumns<ChangeRow> => {
  const [from = "", to = ""] = names ?? [];
  const changeText = ({ change }: ChangeRow) => {
    if (names === undefined) return change;
    return change === "added" ? `only in ${to}` : change === "gone" ? `only in ${from}` : change;
  };
  const heading = (name: string, side: string) => (names === undefined ? name : `${name}\n${side}`);
  return {
    id: 0,
    change: { rank: 0, text: changeText },
    field: { rank: 0, heading: "field", text: ({ field }) => formatFactName(field ?? "") },
    from: { rank: 0, heading: heading("from", from), text: ({ field, from: value }) => formatFact(field, value) },
    to: { rank: 0, heading: heading("to", to), text: ({ field, to: value }) => formatFact(field, value) },
    difference: { rank: 2, text: formatDifference },
    ...(hasCatalogs ? { catalog: 3 } : {}),
  };
};

const formatFact = (field: string | null, value: unknown) => {
  if (value === null) return "";
  if (field?.startsWith("pricing.")) return catalogs.formatPrice(field.slice("pricing.".length), value);
  return Array.isArray(value) ? value.map(catalogs.formatPlain).join(", ") : catalogs.formatPlain(value);
};

const formatDifference = ({ change, from, to }: ChangeRow) => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before = [], after = []] = [from, to].map((value) =>
      value === null ? [] : [value].flat().map(catalogs.formatPlain),
    );
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") {
    const before = catalogs.parseAmount(from);
    const after = catalogs.parseAmount(to);
    if (before === undefined || after === undefined || before.digits <= 0n || after.digits < 0n) return "";
    return `${catalogs.formatPercentChange(before, after)}%`;
  }
  if (!isInteger(from) || !isInteger(to)) return "";
  return to < from ? String(to - from) : `+${to - from}`;
};

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
