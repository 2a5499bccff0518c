import { basename } from "node:path";
import { type CatalogName, catalogNames, findSavedCatalog, readCatalogFile } from "../../catalogs/catalog-files.ts";
import { type Change, type DiffPolicy, diffCatalogs, isDifference } from "../../catalogs/diff.ts";
import { compilePattern, formatPercentChange, formatPlain, formatPrice, parseAmount } from "../../catalogs/fields.ts";
import { printObjects } from "../../output/list.ts";
import { noteDefects } from "../../output/lists/sort-rows.ts";
import type { Screen } from "../../output/screen.ts";
import type { KeyColumn } from "../../output/views.ts";
import type { Context } from "../../session/context.ts";
import type { Settings } from "../../settings/read.ts";
import { conflictingOptions, requiredOptionMissing } from "../../system/failures.ts";
import { formatList, pluralize } from "../../text/sentences.ts";
import { formatMinute, type TimeResolver } from "../../text/units.ts";
import type { CatalogModel } from "../../wire/contract/models.ts";
import { type ReplyList, toText } from "../../wire/contract/replies.ts";
import { catalogHistoryMissing, catalogsDiffer } from "../failures.ts";
import { formatFactName } from "./catalog-columns.ts";
import type { DiffOptions } from "./command.ts";
import type { DiffDocument } from "./output.ts";
import * as source from "./read-catalogs.ts";

type Side = Readonly<{
  catalog: CatalogName | null;
  provider: string | null;
  file: string | null;
  /** Milliseconds since 1970; undefined for a file. */
  asOf: number | undefined;
  models: readonly CatalogModel[];
  isPartial: boolean;
}>;

type Pair = readonly [from: Side, to: Side];

/** @throws Failure `catalogs-differ` after printing the changes */
export const diff = async (context: Context, typed: DiffOptions) => {
  const { screen, host } = context;
  const { worse: onlyWorse, maxRise, within: withinMs } = typed;
  const progress = screen.startProgress("reading catalogs");
  const pairs = await readPairs(context, typed).finally(progress.stop);
  const compared = pairs.map((pair) => compareSides(pair, { maxRise, withinMs, now: host.now() }));
  const found = compared.flatMap(({ from, to, changes }) =>
    changes.map((one) => ({ catalog: from.catalog === to.catalog ? to.catalog : null, ...one })),
  );
  const shown = found.filter((change) => (onlyWorse ? change.worse : isDifference(change)));
  noteUnknowns(screen, found, compared);
  if (shown.length === 0) screen.notice(onlyWorse ? "no model got worse" : "no differences");
  const [first, ...others] = pairs;
  const columns = changeColumns(first && others.length === 0 ? nameSides(first) : undefined);
  const changes = shown.map(({ isUnknown: _, ...change }) => change);
  const sides = compared.map(({ from, to, models, unchecked }) => {
    return { from: toDocument(from), to: toDocument(to), models, unchecked };
  });
  const document: DiffDocument = { compared: sides, changes };
  await printObjects(screen, document, { member: "changes", columns });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length, onlyWorse);
};

const compareSides = ([from, to]: Pair, policy: DiffPolicy) => {
  const isPartial = { from: from.isPartial, to: to.isPartial };
  return { from, to, ...diffCatalogs({ from: from.models, to: to.models }, isPartial, policy) };
};

type Compared = ReturnType<typeof compareSides>;

const noteUnknowns = (screen: Screen, changes: readonly Change[], compared: readonly Compared[]) => {
  const unknown = changes.filter(({ isUnknown }) => isUnknown).map(({ id, field }) => `${id} ${field}`);
  if (unknown.length > 0)
    screen.noteInResult(`${formatCount(unknown, "fact")} no longer stated, so unknown: ${formatList(unknown)}`);
  for (const { to, unchecked } of compared)
    if (unchecked.length > 0)
      screen.noteInResult(
        `${formatCount(unchecked, "model")} not checked, because ${to.file ?? `the ${to.catalog} catalog`} is incomplete [partial-list]: ${formatList(unchecked)}`,
      );
};

const formatCount = (items: readonly string[], noun: string) =>
  `${pluralize(items.length, noun)} ${items.length === 1 ? "is" : "are"}`;

const toDocument = ({ catalog, provider, file, isPartial: partial, asOf }: Side) => {
  return { catalog, provider, file, partial, as_of: asOf === undefined ? null : new Date(asOf).toISOString() };
};

/** @throws Failure `conflicting-options`, `invalid-option-value` */
const readPairs = async (context: Context, typed: DiffOptions): Promise<readonly Pair[]> => {
  const { saved, since, until, with: other } = typed;
  const now = context.host.now();
  if (since && (other !== undefined || /^-$|\.jsonl?$/i.test(saved ?? "")))
    throw conflictingOptions("--since", other === undefined ? "<saved>" : "--with", "files have no history");
  if (since && until && until(now) < since(now))
    throw conflictingOptions("--since", "--until", "--until is before --since");
  if (saved === undefined && other !== undefined) throw requiredOptionMissing("--with", "<saved>");
  const patterns = since && saved !== undefined ? [saved, ...typed.pattern] : typed.pattern;
  const pairs = since ? await readHistory(context, typed, since) : await readSavedPairs(context, typed);
  if (patterns.length === 0) return pairs;
  const tests = patterns.map(compilePattern);
  const matches = ({ id, name }: CatalogModel) => tests.some((test) => test(toText(id), toText(name)));
  const selected = pairs.map((pair): Pair => {
    const [from, to] = pair.map((side) => ({ ...side, models: side.models.filter(matches) }));
    return from && to ? [from, to] : pair;
  });
  if (selected.every((pair) => pair.every(({ models }) => models.length === 0)))
    context.screen.notice("no model matches");
  return selected;
};

const readSavedPairs = async (context: Context, typed: DiffOptions): Promise<readonly Pair[]> => {
  const { saved, catalog, with: other } = typed;
  const older = saved === undefined ? undefined : await readFileSides(context, saved);
  const newer = other === undefined ? undefined : await readFileSides(context, other);
  if (older && newer) return pairFiles(older, newer, catalog);
  const settings = await source.readCatalogSettings(context, typed);
  if (!older) {
    if (catalog !== undefined) throw requiredOptionMissing("--catalog", "--since or <saved>");
    source.selectCatalogs(settings, catalogNames);
    return [
      [await readCurrent(context, settings, typed, "analysis"), await readCurrent(context, settings, typed, "router")],
    ];
  }
  const pairs: Pair[] = [];
  const isPlain = older.some((side) => side.catalog === null);
  const set = source.selectCatalogs(settings, catalog && [catalog]);
  if (isPlain && set.length > 1) throw catalogUnnamed();
  const sides = isPlain ? older : older.filter((side) => catalog === undefined || side.catalog === catalog);
  const named = sides.flatMap((side) => side.catalog ?? set);
  source.selectCatalogs(settings, named);
  for (const from of sides) {
    const name = from.catalog ?? set[0];
    if (name) pairs.push([from, await readCurrent(context, settings, typed, name)]);
  }
  return pairs;
};

const catalogUnnamed = () => requiredOptionMissing("<saved>", "--catalog, because a list does not name its catalog");

const pairFiles = (older: readonly Side[], newer: readonly Side[], catalog?: CatalogName): readonly Pair[] => {
  const join = (sides: readonly Side[], name: Side["catalog"]): Side | undefined =>
    sides.find((side) => side.catalog === name) ?? sides.find((side) => side.catalog === null);
  const names = catalog ? [catalog] : [...new Set([...older, ...newer].map((side) => side.catalog))];
  const named = names.filter((name) => name !== null || names.length === 1);
  if (named.length > 1 && named.length < names.length) throw catalogUnnamed();
  return named.flatMap((name): readonly Pair[] => {
    const [from, to] = [join(older, name), join(newer, name)];
    const [side] = [from, to].filter((one) => one !== undefined);
    const empty = side && { ...side, file: (from ? newer : older)[0]?.file ?? null, models: [] };
    return empty ? [[from ?? empty, to ?? empty]] : [];
  });
};

/** Returns a side for each catalog in the file. */
const readFileSides = async ({ screen, host }: Context, file: string): Promise<readonly Side[]> => {
  const { models: list, entries } = await readCatalogFile(file, host);
  noteDefects(screen, list, file);
  const found = [...new Set(entries.map(({ catalog }) => catalog))];
  return (found.length === 0 ? [null] : found).map((catalog) => {
    const models = entries.filter((one) => one.catalog === catalog).map(({ entry }) => entry);
    return { catalog, provider: null, file, asOf: undefined, models, isPartial: list.partialMark !== undefined };
  });
};

const readCurrent = async (context: Context, settings: Settings, typed: DiffOptions, name: CatalogName) =>
  toSide(await source.readCatalog(context, { settings, catalog: name, typed }));

const toSide = ({ models, ...id }: Pick<Side, "catalog" | "provider" | "asOf"> & { models: ReplyList }): Side => {
  const { catalog, provider, asOf } = id;
  const entries = models.entries.map(({ value }) => value);
  return { catalog, provider, asOf, file: null, models: entries, isPartial: models.partialMark !== undefined };
};

const readHistory = async (context: Context, typed: DiffOptions, since: TimeResolver): Promise<readonly Pair[]> => {
  const { screen, host } = context;
  const { catalog, until } = typed;
  const now = host.now();
  const settings = await source.readCatalogSettings(context, typed);
  const readPast = (name: CatalogName, option: string, time: number) => {
    const id = source.identifyCatalog(settings, name);
    const folder = settings.dataFolder();
    const saved = folder === undefined ? undefined : findSavedCatalog(folder, id, time);
    if (!saved) throw catalogHistoryMissing(id);
    const { models, fetchedAt: asOf } = saved;
    noteDefects(screen, models, `the saved ${name} catalog`);
    if (asOf > time)
      screen.notice(
        `no saved ${name} catalog is as old as ${option}, so rollcall uses the oldest one, from ${formatMinute(asOf)}`,
      );
    return toSide({ ...id, asOf, models });
  };
  const pairs: Pair[] = [];
  for (const name of source.selectCatalogs(settings, catalog && [catalog])) {
    const from = readPast(name, "--since", since(now));
    const to = until ? readPast(name, "--until", until(now)) : await readCurrent(context, settings, typed, name);
    pairs.push([from, to]);
  }
  return pairs;
};

const nameSides = (sides: Pair) => {
  const names = sides.map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (names[0] !== names[1]) return names;
  return sides.map(({ asOf }, at) => (asOf === undefined ? (names[at] ?? "") : formatMinute(asOf)));
};

type ChangeRow = DiffDocument["changes"][number];

const changeColumns = (names: readonly string[] | undefined): readonly KeyColumn<ChangeRow>[] => {
  const [older, newer] = names ?? [];
  const sides: Partial<Record<string, string>> = { gone: older ?? "", added: newer ?? "" };
  const formatChange = ({ change }: ChangeRow) => (sides[change] ? `only in ${sides[change]}` : change);
  const factColumn = (side: "from" | "to", name = ""): KeyColumn<ChangeRow> => {
    const heading = name === "" ? side : `${side}\n${name}`;
    return { name: side, heading, rank: 0, cell: (row) => formatFact(row.field, row[side]) };
  };
  return [
    { name: "id", rank: 0 },
    { name: "change", rank: 0, cell: formatChange },
    { name: "field", rank: 0, cell: ({ field }) => formatFactName(field ?? "") },
    factColumn("from", older),
    factColumn("to", newer),
    { name: "difference", rank: 2, value: formatDifference },
    ...(names ? [] : [{ name: "catalog", rank: 3 } as const]),
  ];
};

const formatFact = (field: string | null, value: unknown) => {
  if (field?.startsWith("pricing.") && value !== null)
    return formatPrice(field.slice(field.lastIndexOf(".") + 1), value);
  return toWords(value).join(", ");
};

const toWords = (value: unknown) => (value === null ? [] : [value].flat().map(formatPlain));

const formatDifference = ({ change, from, to }: ChangeRow) => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [toWords(from), toWords(to)];
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") {
    const [before, after] = [parseAmount(from), parseAmount(to)];
    if (!before || !after || before.digits <= 0n || after.digits < 0n) return "";
    return `${formatPercentChange(before, after)}%`;
  }
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return "";
  const difference = Number(to) - Number(from);
  return difference < 0 ? String(difference) : `+${difference}`;
};
