/** Compares catalogs with each other, with earlier ones, and with lock files: `catalog diff`, `lock` and `verify`. */
import { basename } from "node:path";
import {
  type CatalogName,
  catalogNames,
  diffCatalogs,
  findSavedCatalog,
  formatPercentChange,
  formatPlain,
  formatPrice,
  type LockedModel,
  lockRules,
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
import { toProblemDocument } from "../../failure.ts";
import { requiredOptionMissing } from "../../failures.ts";
import { findNearest } from "../../nearest.ts";
import { type Column, printDocument, printList, printReport, textColumn } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import { catalogHistoryMissing, catalogsDiffer, lockDiffers, lockMissing, modelsMissing } from "../failures.ts";
import { requireReportFiles } from "../inputs/files.ts";
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

/** One of two compared catalogs. */
interface ComparedCatalog {
  readonly catalog: CatalogName | null;
  readonly provider: string | null;
  readonly file: string | null;
  /** Milliseconds since 1970; undefined for a file. */
  readonly asOf: number | undefined;
  readonly models: Iterable<CatalogModel>;
}

type Pair = readonly [from: ComparedCatalog, to: ComparedCatalog];

/** `catalog diff`. @throws Failure `catalogs-differ` after the result was printed */
export const diff = async (context: Context, typed: TypedDiff): Promise<void> => {
  const { screen } = context;
  const { file: files, catalog, since } = typed;
  if (files.length > 0 && since !== undefined) throw contradiction("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw wrongValue("<file>", files.join(" "), "two files, or one and --catalog <analysis|router>");
  checkSourceOptions(typed);
  const progress = screen.startProgress("reading catalogs");
  const pairs = await readPairs(context, typed).finally(progress.stop);
  const compared = pairs.map(([from, to]) => ({ from, to, ...diffCatalogs(from.models, to.models) }));
  const changes = compared.flatMap(({ from, to, changes: all }) =>
    all.map((one) => ({ catalog: from.catalog === to.catalog ? to.catalog : null, ...one, name: one.name ?? null })),
  );
  for (const { models } of compared) {
    if (models.without_id > 0) {
      screen.notice(`skipped ${pluralize(models.without_id, "entry without an id", "entries without an id")}`);
    }
  }
  if (changes.length === 0) screen.notice("no differences");
  const document = {
    compared: compared.map(({ from, to, models }) => ({ from: sideDocument(from), to: sideDocument(to), models })),
    changes,
  };
  const [only, ...others] = compared;
  const names = only === undefined || others.length > 0 ? undefined : nameSides(only.from, only.to);
  await printList(screen, {
    columns: changeColumns(screen.format === "table" ? names?.map(shortenName) : names, others.length > 0),
    rows: changes,
    wire: { bytes: Buffer.from(JSON.stringify(document)), member: "changes" },
  });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length);
};

const readPairs = async (context: Context, typed: TypedDiff): Promise<readonly Pair[]> => {
  const { screen, host } = context;
  const { catalog, since, until } = typed;
  const readSide = async (file: string): Promise<ComparedCatalog> => {
    const models = await readCatalogFile(file, host);
    noteNulls(screen, models, file);
    return { catalog: null, provider: null, file, asOf: undefined, models };
  };
  const [older, newer] = typed.file;
  if (older !== undefined && newer !== undefined) return [[await readSide(older), await readSide(newer)]];
  const settings = await effectiveSettings(context);
  const readCurrent = async (name: CatalogName): Promise<ComparedCatalog> => {
    return { ...(await readCatalog(context, { settings, catalog: name, typed })), file: null };
  };
  if (older !== undefined && catalog !== undefined) return [[await readSide(older), await readCurrent(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw requiredOptionMissing("--catalog", "--since or <file>");
    return [[await readCurrent("analysis"), await readCurrent("router")]];
  }
  const pairs: Pair[] = [];
  for (const name of selectCatalogs(settings, catalog)) {
    const from = readPast(context, { settings, catalog: name, time: since(host.now()) });
    const to = until && readPast(context, { settings, catalog: name, time: until(host.now()) });
    pairs.push([from, to ?? (await readCurrent(name))]);
  }
  return pairs;
};

/** Reads a catalog as it was at a time. @throws Failure `catalog-history-missing` */
const readPast = (
  { screen }: Context,
  { settings, catalog, time }: { readonly settings: Settings; readonly catalog: CatalogName; readonly time: number },
): ComparedCatalog => {
  const [id, folder] = [catalogIdOf(settings, catalog), settings.dataFolder()];
  const saved = folder === undefined ? undefined : findSavedCatalog(folder, id, time);
  const models = saved && parseCatalog(saved.bytes);
  if (saved === undefined || models === undefined) throw catalogHistoryMissing(id);
  if (saved.fetchedAt > time) {
    screen.notice(`comparing with the oldest saved ${catalog} catalog, of ${formatMinute(saved.fetchedAt)}`);
  }
  return { ...id, file: null, asOf: saved.fetchedAt, models };
};

const sideDocument = ({ catalog, provider, file, asOf }: ComparedCatalog) => ({
  catalog,
  provider,
  file,
  as_of: asOf === undefined ? null : new Date(asOf).toISOString(),
});

/** Names both sides by their catalogs or files, or by their times if they are the same catalog. */
const nameSides = (...sides: Pair): readonly string[] => {
  const names = sides.map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (names[0] !== names[1]) return names;
  return sides.map(({ asOf }, at) => (asOf === undefined ? (names[at] ?? "") : formatMinute(asOf)));
};

/** Characters of a side's name in the heading of a table. */
const maxNameLength = 20;

/** Keeps the end of a long name, because it distinguishes a file from others. */
const shortenName = (name: string): string =>
  name.length <= maxNameLength ? name : `…${name.slice(1 - maxNameLength)}`;

/** A change in the document. */
interface ChangeRow {
  readonly id: string;
  readonly change: string;
  readonly field: string | null;
  readonly from: unknown;
  readonly to: unknown;
  readonly catalog: CatalogName | null;
}

const changeColumns = (names: readonly string[] | undefined, hasCatalogs: boolean): readonly Column<ChangeRow>[] => {
  const [from = "", to = ""] = names ?? [];
  const changeText = ({ change }: ChangeRow): string => {
    if (names === undefined) return change;
    return change === "added" ? `only in ${to}` : change === "gone" ? `only in ${from}` : change;
  };
  const heading = (name: string, side: string) => (names === undefined ? name : `${name}\n${side}`);
  return [
    ...keyColumns<ChangeRow>({
      id: 0,
      change: { rank: 0, text: changeText },
      field: { rank: 0, heading: "of", text: ({ field }) => factName(field ?? "") },
      from: { rank: 0, heading: heading("from", from), text: (row) => formatFact(row.field ?? "", row.from) },
      to: { rank: 0, heading: heading("to", to), text: (row) => formatFact(row.field ?? "", row.to) },
    }),
    textColumn("difference", { rank: 2, text: formatDifference }),
    ...keyColumns<ChangeRow>(hasCatalogs ? { catalog: 3 } : {}),
  ];
};

const formatFact = (field: string, value: unknown): string => {
  if (value === null) return "";
  if (field.startsWith("pricing.")) return formatPrice(field.slice("pricing.".length), value);
  return Array.isArray(value) ? value.map(formatPlain).join(", ") : formatPlain(value);
};

const formatDifference = ({ change, from, to }: ChangeRow): string => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before = [], after = []] = [from, to].map((value) =>
      value === null ? [] : [value].flat().map(formatPlain),
    );
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") {
    const [was, is] = [parseAmount(from), parseAmount(to)];
    if (was === undefined || is === undefined || was.digits <= 0n || is.digits < 0n) return "";
    return `${formatPercentChange(was, is)}%`;
  }
  if (!isInteger(from) || !isInteger(to)) return "";
  return to < from ? String(to - from) : `+${to - from}`;
};

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/** The names of all columns of `catalog diff`. */
export const changeColumnNames = changeColumns(undefined, true).map(({ name }) => name);

/** `catalog lock`. If it throws, nothing was written. @throws Failure `models-missing`, as `writeLock` */
export const lock = async (context: Context, typed: TypedLock): Promise<void> => {
  const { screen } = context;
  const { file } = typed;
  const models = await selectLockedModels(context, typed);
  const changed = writeLock(file, models, screen.safe.json);
  if (screen.isForProgram) {
    return await printDocument(screen, { file, changed, models: models.map(({ catalog, id }) => ({ catalog, id })) });
  }
  const count = pluralize(models.length, "model");
  screen.notice(changed ? `locked ${count} in ${file}` : `${file} is up to date (${count})`);
};

const selectLockedModels = async (context: Context, typed: TypedLock): Promise<readonly LockedModel[]> => {
  const before = typed.model.length > 0 ? undefined : readLock(typed.file)?.models;
  const { names, read, failures } = await readSelectedCatalogs(context, typed);
  throwFirst(failures);
  const isRead = ({ catalog }: LockedModel): boolean => names.includes(catalog);
  const namesBefore = before?.filter(isRead).map(({ id, catalog }) => ({ text: id, catalog }));
  const namesTyped = typed.model.length > 0 ? typed.model.map((text) => ({ text })) : undefined;
  const named = openModelNames(namesBefore ?? namesTyped);
  // Locked models of catalogs that are not read stay as they are.
  const locked = before?.filter((model) => !isRead(model)) ?? [];
  for (const { catalog, models } of read) {
    const previousIds = new Set<string>();
    for (const model of models) {
      const id = typedValue(model.id);
      if (id === undefined) continue;
      if (named.selects(id, catalog) && !previousIds.has(id)) locked.push(toLockedModel(catalog, id, model));
      previousIds.add(id);
    }
  }
  const missing = named.missing();
  if (missing.length > 0) throw modelsMissing(missing, names);
  return locked;
};

/** `catalog verify`. @throws Failure `lock-missing`, `invalid-lock`; `lock-differs` after the result was printed */
export const verify = async (context: Context, typed: TypedVerify): Promise<void> => {
  const { screen, host } = context;
  const { file, maxRise, within: withinMs, strict, allow, report: reports } = typed;
  const ruleNames = Object.keys(lockRules);
  const unknown = allow.find((rule) => !ruleNames.includes(rule));
  if (unknown !== undefined)
    throw wrongValue("--allow", unknown, ruleNames.join(", "), findNearest(unknown, ruleNames));
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
    const count = pluralize(locked.models.length, "model");
    if (found.length === 0) screen.notice(`${count} in ${file} verified`);
    const replacements = new Map(
      errors.map(({ locked: { catalog, id }, locked: model, replacement = null }) => [
        model,
        { catalog, id, replacement },
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
    await printList(screen, { columns: factColumns, rows: found, wire: { bytes, member: "problems" } });
  }
  if (errors.length === 0) return;
  throw lockDiffers(file, errors.length, screen.isForProgram ? { problems: errors.map(({ problem }) => problem) } : {});
};

const factColumns: readonly Column<VerifiedFact>[] = [
  textColumn("id", { rank: 0, text: ({ locked }) => locked.id }),
  textColumn("rule", { heading: "finding", rank: 0, text: ({ problem }) => problem.rule }),
  textColumn("field", {
    heading: "of",
    rank: 3,
    text: ({ regression: { path } }) => factName(path.slice(0, path[0] === "pricing" ? 2 : 1).join(".")),
  }),
  textColumn("locked", { rank: 1, text: ({ regression }) => regression.locked }),
  textColumn("now", { rank: 1, text: ({ regression }) => regression.now }),
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
export const findingColumnNames = factColumns.map(({ name }) => name);
