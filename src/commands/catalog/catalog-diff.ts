/** Compares a saved catalog with another one or with the current one. */
import { basename } from "node:path";
import { type CatalogName, readCatalogFile } from "../../catalogs/catalog-files.ts";
import { type Change, type DiffPolicy, diffCatalogs, isDifference } from "../../catalogs/diff.ts";
import * as fields from "../../catalogs/fields.ts";
import { formatPercentChange, formatPrice, isTerm, readPrices } from "../../catalogs/prices.ts";
import { Failure } from "../../failure.ts";
import { printObjects } from "../../output/list.ts";
import { noteDefects } from "../../output/lists/sort-rows.ts";
import type { Screen } from "../../output/screen.ts";
import type { KeyColumn } from "../../output/views.ts";
import { listServiceArgs } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { requiredOptionMissing } from "../../system/failures.ts";
import { formatList, pluralize, toOptionArgs } from "../../text/sentences.ts";
import type { CatalogModel } from "../../wire/contract/models.ts";
import { toText } from "../../wire/contract/replies.ts";
import { formatFactName } from "./catalog-columns.ts";
import type { DiffOptions } from "./command.ts";
import type { DiffDocument } from "./output.ts";
import * as source from "./read-catalogs.ts";

type Side = Readonly<{
  catalog: CatalogName | null;
  provider: string | null;
  file: string | null;
  models: readonly CatalogModel[];
  /** True if the service sent only a part of the list. */
  partial: boolean;
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
  const priced = pairs.flat().flatMap(({ models }) => models.filter((model) => readPrices(model).hasTerms));
  const names = first && others.length === 0 ? nameSides(first) : undefined;
  const columns = changeColumns(names, new Set(priced.map(({ id }) => toText(id))));
  const changes = shown.map(({ isUnknown: _, ...change }) => change);
  const sides = compared.map(({ from, to, models, unchecked }) => {
    return { from: toDocument(from), to: toDocument(to), models, unchecked };
  });
  const document: DiffDocument = { compared: sides, changes };
  await printObjects(screen, document, { member: "changes", columns });
  if (!typed.exitCode || changes.length === 0) return;
  const [noun, end] = onlyWorse ? ["change", " for the worse"] : ["difference", ""];
  const message = `${pluralize(changes.length, noun)}${end} found`;
  const hint = "omit --exit-code to exit with 0 even if the catalogs differ";
  throw new Failure("differs", "catalogs-differ", message, { hint });
};

const compareSides = ([from, to]: Pair, policy: DiffPolicy) => {
  const isPartial = { from: from.partial, to: to.partial };
  return { from, to, ...diffCatalogs({ from: from.models, to: to.models }, isPartial, policy) };
};

type Compared = ReturnType<typeof compareSides>;

const noteUnknowns = (screen: Screen, changes: readonly Change[], compared: readonly Compared[]) => {
  const unknown = changes.filter(({ isUnknown }) => isUnknown).map(({ id, field }) => `${id} ${field}`);
  if (unknown.length > 0)
    screen.noteInResult(
      `${formatCount(unknown, "fact")} no longer stated, or no longer readable, so unknown: ${formatList(unknown)}`,
    );
  for (const { to, unchecked } of compared)
    if (unchecked.length > 0)
      screen.noteInResult(
        `${formatCount(unchecked, "model")} not checked, because ${to.file ?? `the ${to.catalog} catalog`} is incomplete [partial-list]: ${formatList(unchecked)}`,
      );
};

const formatCount = (items: readonly string[], noun: string) =>
  `${pluralize(items.length, noun)} ${items.length === 1 ? "is" : "are"}`;

const toDocument = ({ catalog, provider, file, partial }: Side) => ({ catalog, provider, file, partial });

const readPairs = async (context: Context, typed: DiffOptions): Promise<readonly Pair[]> => {
  const pairs = await readAllPairs(context, typed);
  if (typed.pattern.length === 0) return pairs;
  const tests = typed.pattern.map(fields.compilePattern);
  const matches = ({ id, name }: CatalogModel) => tests.some((test) => test(toText(id), toText(name)));
  const selected = pairs.map((pair): Pair => {
    const [from, to] = pair.map((side) => ({ ...side, models: side.models.filter(matches) }));
    return from && to ? [from, to] : pair;
  });
  if (selected.every((pair) => pair.every(({ models }) => models.length === 0)))
    context.screen.notice("no model matches");
  return selected;
};

const readAllPairs = async (context: Context, typed: DiffOptions): Promise<readonly Pair[]> => {
  const { saved, catalog, with: other } = typed;
  const older = await readFileSides(context, typed, saved);
  const newer =
    other === undefined ? await readCurrent(context, typed, older) : await readFileSides(context, typed, other);
  const join = (sides: readonly Side[], name: Side["catalog"]): Side | undefined =>
    sides.find((side) => side.catalog === name) ?? sides.find((side) => side.catalog === null);
  const names = catalog ? [catalog] : [...new Set([...older, ...newer].map((side) => side.catalog))];
  const named = names.filter((name) => name !== null || names.length === 1);
  if (named.length < names.length && [named, older, newer].some(({ length }) => length > 1)) throw catalogUnnamed();
  return named.flatMap((name): readonly Pair[] => {
    const [from, to] = [join(older, name), join(newer, name)];
    const side = from ?? to;
    const empty = side && { ...side, file: (from ? newer : older)[0]?.file ?? null, models: [] };
    return empty ? [[from ?? empty, to ?? empty]] : [];
  });
};

const catalogUnnamed = () =>
  requiredOptionMissing("<saved>", "--catalog analysis or router, because a list does not name its catalog");

/** Reads the catalogs that the saved list names, or else the only catalog with a provider. */
const readCurrent = async (context: Context, typed: DiffOptions, older: readonly Side[]): Promise<readonly Side[]> => {
  const settings = await source.readCatalogSettings(context, typed);
  const saved = older.flatMap(({ catalog }) => catalog ?? []);
  const named = typed.catalog ? [typed.catalog] : saved.length > 0 ? saved : undefined;
  const names = source.selectCatalogs(settings, named);
  const isMixed = saved.length > 0 && saved.length < older.length;
  if (!typed.catalog && (isMixed || (!named && names.length > 1))) throw catalogUnnamed();
  const sides: Side[] = [];
  for (const name of names) {
    const { models: list, ...id } = await source.readCatalog(context, settings, name);
    const models = list.entries.map(({ value }) => value);
    sides.push({ ...id, file: null, models, partial: list.partialMark !== undefined });
  }
  return sides;
};

/** Returns a side for each catalog in the file. */
const readFileSides = async (
  { flags, screen, host }: Context,
  { analysisProvider, routerProvider }: DiffOptions,
  file: string,
): Promise<readonly Side[]> => {
  const sourceArgs = [...toOptionArgs({ analysisProvider, routerProvider }), ...listServiceArgs(flags)];
  const { models: list, entries } = await readCatalogFile(file, host, sourceArgs);
  noteDefects(screen, list, file);
  const found = [...new Set(entries.map(({ catalog }) => catalog))];
  return (found.length === 0 ? [null] : found).map((catalog) => {
    const models = entries.filter((one) => one.catalog === catalog).map(({ entry }) => entry);
    return { catalog, provider: null, file, models, partial: list.partialMark !== undefined };
  });
};

const nameSides = (sides: Pair) => sides.map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");

type ChangeRow = DiffDocument["changes"][number];

/** @param withTerms the ids of models whose prices have unknown units */
export const changeColumns = (
  names: readonly string[] | undefined,
  withTerms: ReadonlySet<string | undefined> = new Set(),
): readonly KeyColumn<ChangeRow>[] => {
  const [older, newer] = names ?? [];
  const sides: Partial<Record<string, string>> = { gone: older ?? "", added: newer ?? "" };
  const formatChange = ({ change }: ChangeRow) => (sides[change] ? `only in ${sides[change]}` : change);
  const factColumn = (side: "from" | "to", name = ""): KeyColumn<ChangeRow> => {
    const heading = name === "" ? side : `${side}\n${name}`;
    return { name: side, heading, rank: 0, cell: (row) => formatFact(row, row[side], withTerms.has(row.id)) };
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

const formatFact = ({ field }: ChangeRow, value: unknown, hasTerms: boolean) => {
  if (field?.startsWith("pricing.") && value !== null && !hasTerms && !isTerm(field))
    return formatPrice(field.slice(field.lastIndexOf(".") + 1), value);
  return toWords(value).join(", ");
};

const toWords = (value: unknown) => (value === null ? [] : [value].flat().map(fields.formatPlain));

const formatDifference = ({ change, from, to }: ChangeRow) => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [toWords(from), toWords(to)];
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") {
    const [before, after] = [fields.parseAmount(from), fields.parseAmount(to)];
    if (!before || !after || before.digits <= 0n || after.digits < 0n) return "";
    return `${formatPercentChange(before, after)}%`;
  }
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return "";
  const difference = Number(to) - Number(from);
  return difference < 0 ? String(difference) : `+${difference}`;
};
