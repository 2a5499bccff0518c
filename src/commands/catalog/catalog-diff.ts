import { basename } from "node:path";
import * as catalogs from "../../catalogs/index.ts";
import { readEffectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { ReplyList } from "../../contract/replies.ts";
import { conflictingOptions, invalidOptionValue, requiredOptionMissing } from "../../failures.ts";
import { noteDefects } from "../../lists/sort-rows.ts";
import { type KeyColumn, printObjects } from "../../output/index.ts";
import { formatMinute } from "../../units.ts";
import { catalogHistoryMissing, catalogsDiffer } from "../failures.ts";
import { formatFactName } from "./catalog-columns.ts";
import type { DiffOptions } from "./command.ts";
import type { DiffDocument } from "./output.ts";
import * as source from "./read-catalogs.ts";

type Side = Readonly<{
  catalog: catalogs.CatalogName | null;
  provider: string | null;
  file: string | null;
  /** Milliseconds since 1970; undefined for a file. */
  asOf: number | undefined;
  models: ReplyList;
}>;

type Pair = readonly [from: Side, to: Side];

export const diff = async (context: Context, typed: DiffOptions) => {
  const { screen } = context;
  const progress = screen.startProgress("reading catalogs");
  const pairs = await readPairs(context, typed).finally(progress.stop);
  const compared = pairs.map(([from, to]) => ({
    from,
    to,
    ...catalogs.diffCatalogs(listModels(from), listModels(to), { from: isPartial(from), to: isPartial(to) }),
  }));
  const changes = compared.flatMap(({ from, to, changes: all }) =>
    all.map((one) => ({ catalog: from.catalog === to.catalog ? to.catalog : null, ...one })),
  );
  if (changes.length === 0) screen.notice("no differences");
  const [first, ...others] = pairs;
  const columns = changeColumns(first && others.length === 0 ? nameSides(first) : undefined);
  const sides = compared.map(({ from, to, models }) => ({ from: toDocument(from), to: toDocument(to), models }));
  const document: DiffDocument = { compared: sides, changes };
  await printObjects(screen, document, { member: "changes", columns });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length);
};

const listModels = ({ models }: Side) => models.entries.map(({ value }) => value);
const isPartial = ({ models }: Side) => models.partialMark !== undefined;

const toDocument = (side: Side) => {
  const { catalog, provider, file, asOf } = side;
  return {
    catalog,
    provider,
    file,
    partial: isPartial(side),
    as_of: asOf === undefined ? null : new Date(asOf).toISOString(),
  };
};

const readPairs = async (context: Context, typed: DiffOptions): Promise<readonly Pair[]> => {
  const { screen, host } = context;
  const { file: files, catalog, since, until } = typed;
  const [older, newer] = files;
  if (older !== undefined && since) throw conflictingOptions("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw invalidOptionValue("<file>", files.join(", "), "two files, or one file and --catalog <analysis|router>");
  const now = host.now();
  if (since && until && until(now) < since(now))
    throw conflictingOptions("--since", "--until", "--until is before --since");
  const readFile = async (file: string): Promise<Side> => {
    const models = await catalogs.readCatalogFile(file, host);
    noteDefects(screen, models, file);
    return { catalog: null, provider: null, file, asOf: undefined, models };
  };
  if (older !== undefined && newer !== undefined) return [[await readFile(older), await readFile(newer)]];
  const settings = await readEffectiveSettings(context);
  const readCurrent = async (name: catalogs.CatalogName) => {
    return { ...(await source.readCatalog(context, { settings, catalog: name, typed })), file: null };
  };
  if (older !== undefined && catalog !== undefined) return [[await readFile(older), await readCurrent(catalog)]];
  if (!since) {
    if (catalog !== undefined) throw requiredOptionMissing("--catalog", "--since or <file>");
    return [[await readCurrent("analysis"), await readCurrent("router")]];
  }
  const readPast = (name: catalogs.CatalogName, option: string, time: number) => {
    const id = source.identifyCatalog(settings, name);
    const folder = settings.dataFolder();
    const saved = folder === undefined ? undefined : catalogs.findSavedCatalog(folder, id, time);
    if (!saved) throw catalogHistoryMissing(id);
    const { models, fetchedAt: asOf } = saved;
    noteDefects(screen, models, `the saved ${name} catalog`);
    if (asOf > time)
      screen.notice(
        `no saved ${name} catalog is as old as ${option}, so rollcall uses the oldest one, from ${formatMinute(asOf)}`,
      );
    return { ...id, file: null, asOf, models };
  };
  const pairs: Pair[] = [];
  for (const name of source.selectCatalogs(settings, catalog)) {
    const from = readPast(name, "--since", since(now));
    pairs.push([from, until ? readPast(name, "--until", until(now)) : await readCurrent(name)]);
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
    return catalogs.formatPrice(field.slice("pricing.".length), value);
  return toWords(value).join(", ");
};

const toWords = (value: unknown) => (value === null ? [] : [value].flat().map(catalogs.formatPlain));

const formatDifference = ({ change, from, to }: ChangeRow) => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [toWords(from), toWords(to)];
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") {
    const [before, after] = [catalogs.parseAmount(from), catalogs.parseAmount(to)];
    if (!before || !after || before.digits <= 0n || after.digits < 0n) return "";
    return `${catalogs.formatPercentChange(before, after)}%`;
  }
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return "";
  const difference = Number(to) - Number(from);
  return difference < 0 ? String(difference) : `+${difference}`;
};
