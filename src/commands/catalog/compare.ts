/** Compares catalogs with each other, with earlier ones, and with lock files: `catalog diff`, `lock` and `verify`. */
import { basename } from "node:path";
import {
  type CatalogName,
  catalogNames,
  diffCatalogs,
  findSavedCatalog,
  formatPlain,
  formatPrice,
  type LockedModel,
  lockRuleNames,
  parseAmount,
  parseCatalog,
  readCatalogFile,
  readLock,
  toLockedModel,
  type VerifiedFact,
  verifyLock,
  writeLock,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { effectiveSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { typedValue } from "../../contract/replies.ts";
import { compareDecimals, type Decimal, formatDecimal, shiftDigits } from "../../decimal.ts";
import { toProblemDocument } from "../../failure.ts";
import { requiredOptionMissing } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { type Column, printDocument, printList, printReport, textColumn } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import { catalogHistoryMissing, catalogsDiffer, lockDiffers, lockMissing, modelsMissing } from "../failures.ts";
import { requireReportFiles } from "../inputs/options.ts";
import { keyColumns } from "../lists/object-list.ts";
import { noteNulls } from "../lists/selection.ts";
import { factName } from "./columns.ts";
import type { TypedDiff, TypedLock, TypedVerify } from "./command.ts";
import {
  catalogIdOf,
  checkSourceOptions,
  formatMinute,
  openModelNames,
  readCatalog,
  readSelectedCatalogs,
  selectCatalogs,
  throwFirst,
} from "./source.ts";

/** One of two catalogs that are compared. */
interface ComparedCatalog {
  readonly catalog: CatalogName | null;
  readonly provider: string | null;
  readonly file: string | null;
  /** When it was like this: milliseconds since 1970. */
  readonly asOf: number | undefined;
  readonly models: Iterable<CatalogModel>;
}

/** `catalog diff`. @throws Failure `catalogs-differ` after the result was printed */
export const diff = async (context: Context, typed: TypedDiff): Promise<void> => {
  const { screen } = context;
  const { file: files, catalog, since } = typed;
  if (files.length > 0 && since !== undefined) throw contradiction("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw wrongValue("<file>", files.join(" "), "two files, or one and --catalog <analysis|router>");
  checkSourceOptions(typed);
  const progress = screen.startProgress("reading catalogs");
  const compared = await readSides(context, typed)
    .then((pairs) => pairs.map(([from, to]) => ({ from, to, ...diffCatalogs(from.models, to.models) })))
    .finally(progress.stop);
  const changes = compared.flatMap(({ from, to, changes: all }) =>
    all.map((one) => ({
      catalog: from.catalog === to.catalog ? to.catalog : null,
      ...one,
      name: one.name ?? null,
    })),
  );
  for (const { without_id: count } of compared.map(({ models }) => models)) {
    const text = pluralize(count, "entry has no id, and was not compared", "entries have no id, and were not compared");
    if (count > 0) screen.notice(text);
  }
  if (changes.length === 0) screen.notice("nothing is different");
  const document = {
    compared: compared.map(({ from, to, models }) => ({ from: sideDocument(from), to: sideDocument(to), models })),
    changes,
  };
  const [only, ...others] = compared;
  const sides = only === undefined || others.length > 0 ? undefined : nameSides(only.from, only.to);
  await printList(screen, {
    columns: changeColumns(screen.format === "table" ? sides?.map(shortenName) : sides, others.length > 0),
    rows: changes,
    wire: { bytes: Buffer.from(JSON.stringify(document)), member: "changes" },
  });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length);
};

const readSides = async (
  context: Context,
  typed: TypedDiff,
): Promise<readonly (readonly [ComparedCatalog, ComparedCatalog])[]> => {
  const { screen, host } = context;
  const { catalog, since, until } = typed;
  const fileSide = async (file: string): Promise<ComparedCatalog> => {
    const models = await readCatalogFile(file, host);
    noteNulls(screen, models, file);
    return { catalog: null, provider: null, file, asOf: undefined, models };
  };
  const [older, newer] = typed.file;
  if (older !== undefined && newer !== undefined) return [[await fileSide(older), await fileSide(newer)]];
  const settings = await effectiveSettings(context);
  const current = async (name: CatalogName): Promise<ComparedCatalog> => {
    return { ...(await readCatalog(context, { settings, catalog: name, typed })), file: null };
  };
  if (older !== undefined && catalog !== undefined) return [[await fileSide(older), await current(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw requiredOptionMissing("--catalog", "--since or <file>");
    return [[await current("analysis"), await current("router")]];
  }
  const pairs: (readonly [ComparedCatalog, ComparedCatalog])[] = [];
  for (const name of selectCatalogs(settings, catalog)) {
    const from = readPastSide(context, { settings, catalog: name, time: since(host.now()) });
    const to = until && readPastSide(context, { settings, catalog: name, time: until(host.now()) });
    pairs.push([from, to ?? (await current(name))]);
  }
  return pairs;
};

/** A catalog as it was. @throws Failure `catalog-history-missing` */
const readPastSide = (
  { screen }: Context,
  { settings, catalog, time }: { readonly settings: Settings; readonly catalog: CatalogName; readonly time: number },
): ComparedCatalog => {
  const [place, folder] = [catalogIdOf(settings, catalog), settings.dataFolder()];
  const saved = folder === undefined ? undefined : findSavedCatalog(folder, place, time);
  const models = saved && parseCatalog(saved.bytes);
  if (saved === undefined || models === undefined) throw catalogHistoryMissing(place);
  const begin = `the history of the ${catalog} catalog begins ${formatMinute(saved.fetchedAt)}`;
  if (saved.fetchedAt > time) screen.notice(`${begin}: that is what is compared`);
  return { ...place, file: null, asOf: saved.fetchedAt, models };
};

const sideDocument = ({ catalog, provider, file, asOf }: ComparedCatalog) => ({
  catalog,
  provider,
  file,
  as_of: asOf === undefined ? null : new Date(asOf).toISOString(),
});

/** The names of both sides: their catalogs or files; the two times of one catalog. */
const nameSides = (from: ComparedCatalog, to: ComparedCatalog): readonly string[] => {
  const names = [from, to].map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (names[0] !== names[1]) return names;
  return [from, to].map(({ asOf }, at) => (asOf === undefined ? (names[at] ?? "") : formatMinute(asOf)));
};

/** Characters of a side's name in the heading of a table. */
const maxSideLength = 20;

/** The end of a long name: it distinguishes a file from others. */
const shortenName = (name: string): string =>
  name.length <= maxSideLength ? name : `…${name.slice(1 - maxSideLength)}`;

/** A difference, as the document has it. */
interface ChangeRow {
  readonly id: string;
  readonly change: string;
  readonly field: string | null;
  readonly from: unknown;
  readonly to: unknown;
  readonly catalog: CatalogName | null;
}

const changeColumns = (sides: readonly string[] | undefined, several: boolean): readonly Column<ChangeRow>[] => {
  const [from = "", to = ""] = sides ?? [];
  const wholes = sides === undefined ? {} : { added: `only in ${to}`, gone: `only in ${from}` };
  const heading = (name: string, side: string) => (sides === undefined ? name : `${name}\n${side}`);
  return [
    ...keyColumns<ChangeRow>({
      id: 0,
      change: { rank: 0, text: ({ change }) => new Map(Object.entries(wholes)).get(change) ?? change },
      field: { rank: 0, heading: "of", text: ({ field }) => factName(field ?? "") },
      from: { rank: 0, heading: heading("from", from), text: (row) => valueText(row.field ?? "", row.from) },
      to: { rank: 0, heading: heading("to", to), text: (row) => valueText(row.field ?? "", row.to) },
    }),
    textColumn("difference", { rank: 2, text: differenceText }),
    ...keyColumns<ChangeRow>(several ? { catalog: 3 } : {}),
  ];
};

/** A value of a fact for a person: prices with their unit, lists with commas. */
const valueText = (field: string, value: unknown): string => {
  if (value === null) return "";
  if (field.startsWith("pricing.")) return formatPrice(field.slice("pricing.".length), value);
  return Array.isArray(value) ? value.map(formatPlain).join(", ") : formatPlain(value);
};

const differenceText = ({ change, from, to }: ChangeRow): string => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [from, to].map((value) => (value === null ? [] : [value].flat().map(formatPlain)));
    const added = (after ?? []).filter((one) => before?.includes(one) !== true).map((one) => `+${one}`);
    return [...added, ...(before ?? []).filter((one) => after?.includes(one) !== true).map((one) => `-${one}`)].join(
      " ",
    );
  }
  if (change === "price") return percentText(parseAmount(from), parseAmount(to));
  if (!isInteger(from) || !isInteger(to)) return "";
  return to < from ? String(to - from) : `+${to - from}`;
};

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/** By how many percent a price rose or fell, to a tenth; nothing if it was free or is not known. */
const percentText = (from: Decimal | undefined, to: Decimal | undefined): string => {
  if (from === undefined || to === undefined || from.digits <= 0n || to.digits < 0n) return "";
  const places = Math.max(from.places, to.places);
  const [was, is] = [shiftDigits(from, places).digits, shiftDigits(to, places).digits];
  const change = is > was ? is - was : was - is;
  const tenths = (change * 2000n + was) / (2n * was);
  return `${compareDecimals(to, from) < 0 ? "-" : "+"}${formatDecimal({ digits: tenths, places: 1 })}%`;
};

/** The names of all columns of `catalog diff`. */
export const changeColumnNames = changeColumns(undefined, true).map(({ name }) => name);

/** `catalog lock`. @throws Failure `models-missing`, `lock-not-overwritten`, `invalid-lock`, `lock-unwritable`; nothing is then written */
export const lock = async (context: Context, typed: TypedLock): Promise<void> => {
  const { screen } = context;
  const { file } = typed;
  const models = await modelsToLock(context, typed);
  const changed = writeLock(file, models, screen.safe.json);
  if (screen.isForProgram) {
    return await printDocument(screen, { file, changed, models: models.map(({ catalog, id }) => ({ catalog, id })) });
  }
  const count = pluralize(models.length, "model");
  screen.notice(changed ? `locked ${count} in ${file}` : `${file} holds ${count} as they are already`);
};

const modelsToLock = async (context: Context, typed: TypedLock): Promise<readonly LockedModel[]> => {
  const before = typed.model.length > 0 ? undefined : readLock(typed.file)?.models;
  const { names, read, failures } = await readSelectedCatalogs(context, typed);
  throwFirst(failures);
  const isRead = ({ catalog }: LockedModel): boolean => names.includes(catalog);
  const namesBefore = before?.filter(isRead).map(({ id, catalog }) => ({ text: id, catalog }));
  const namesTyped = typed.model.length > 0 ? typed.model.map((text) => ({ text })) : undefined;
  const named = openModelNames(namesBefore ?? namesTyped);
  // What is locked of a catalog that is not read stays as it is.
  const locked = before?.filter((model) => !isRead(model)) ?? [];
  for (const { catalog, models } of read) {
    const seen = new Set<string>();
    for (const model of models) {
      const id = typedValue(model.id);
      if (id === undefined) continue;
      if (named.means(id, catalog) && !seen.has(id)) locked.push(toLockedModel(catalog, id, model));
      seen.add(id);
    }
  }
  const missing = named.missing();
  if (missing.length > 0) throw modelsMissing(missing, names);
  return locked;
};

/** `catalog verify`. @throws Failure `lock-missing`, `invalid-lock`; `lock-differs` after the findings were printed */
export const verify = async (context: Context, typed: TypedVerify): Promise<void> => {
  const { screen, host } = context;
  const { file, maxRise, within: withinMs, strict, allow, report: reports } = typed;
  const unknown = allow.find((rule) => !lockRuleNames.includes(rule));
  if (unknown !== undefined)
    throw wrongValue("--allow", unknown, `a rule: ${lockRuleNames.join(", ")}`, findNearest(unknown, lockRuleNames));
  requireReportFiles(screen, { report: reports, inputs: [file] });
  const locked = readLock(file);
  if (locked === undefined) throw lockMissing(file);
  const names = catalogNames.filter((name) => locked.models.some(({ catalog }) => catalog === name));
  const { read, failures } = await readSelectedCatalogs(context, typed, { names });
  throwFirst(failures);
  const catalogs = new Map(read.map(({ catalog, models }) => [catalog, models]));
  const found = verifyLock(locked, catalogs, { maxRise, withinMs, now: host.now() })
    .filter(({ problem }) => !allow.includes(problem.rule))
    .map((one): VerifiedFact => (strict ? { ...one, problem: { ...one.problem, severity: "error" } } : one));
  const problems = found.map(({ problem }) => problem);
  for (const report of reports)
    await printReport(screen, { ...report, title: "rollcall catalog verify", inputs: [file], problems });
  const errors = found.filter(({ problem }) => problem.severity === "error");
  if (reports.every((report) => report.file !== undefined)) {
    const count = pluralize(locked.models.length, "model is", "models are");
    if (found.length === 0) screen.notice(`${count} as they were locked in ${file}`);
    const replacements = new Map(
      errors.map((one) => [
        one.locked,
        { catalog: one.locked.catalog, id: one.locked.id, replacement: one.replacement ?? null },
      ]),
    );
    const document = {
      status: errors.length > 0 ? "differs" : "verified",
      file,
      models: locked.models.length,
      problems: problems.map(toProblemDocument),
      replacements: [...replacements.values()],
    };
    const bytes = Buffer.from(JSON.stringify(document));
    await printList(screen, { columns: findingColumns, rows: found, wire: { bytes, member: "problems" } });
  }
  if (errors.length === 0) return;
  throw lockDiffers(file, errors.length, screen.isForProgram ? { problems: errors.map(({ problem }) => problem) } : {});
};

const findingColumns: readonly Column<VerifiedFact>[] = [
  textColumn("id", { rank: 0, text: ({ locked }) => locked.id }),
  textColumn("rule", { heading: "finding", rank: 0, text: ({ problem }) => problem.rule }),
  textColumn("field", {
    heading: "of",
    rank: 3,
    text: ({ finding: { path } }) => factName(path.slice(0, path[0] === "pricing" ? 2 : 1).join(".")),
  }),
  textColumn("locked", { rank: 1, text: ({ finding }) => finding.locked }),
  textColumn("now", { rank: 1, text: ({ finding }) => finding.now }),
  textColumn("severity", { rank: 2, text: ({ problem }) => problem.severity }),
  textColumn("replacement", { rank: 0, text: ({ replacement }) => replacement?.id }),
  textColumn("replacement_price", {
    heading: "its prices\n$/M",
    rank: 4,
    text: ({ replacement }) => (replacement === undefined ? "" : `${replacement.prompt} / ${replacement.completion}`),
  }),
  textColumn("line", {
    heading: "line of\nthe lock",
    rank: 0,
    align: "right",
    text: ({ problem }) => String(problem.line ?? ""),
  }),
  textColumn("catalog", { rank: 5, text: ({ locked }) => locked.catalog }),
];

/** The names of all columns of `catalog verify`. */
export const findingColumnNames = findingColumns.map(({ name }) => name);
