/** Runs `rollcall catalog lock` and `rollcall catalog verify`. */

import * as catalogs from "../../catalogs/index.ts";
import { listServiceArgs } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { toProblemDocument } from "../../failure.ts";
import { invalidOptionValue } from "../../failures.ts";
import { toRawJson } from "../../json/raw-json.ts";
import { findNearest } from "../../nearest.ts";
import { type KeyColumn, printDocument, printList, printReport } from "../../output/index.ts";
import { checkReportFiles } from "../../reading/output-files.ts";
import { pluralize } from "../../sentences.ts";
import { lockDiffers, lockMissing, modelsMissing } from "../failures.ts";
import { formatFactName } from "./catalog-columns.ts";
import type { LockOptions, VerifyOptions } from "./command.ts";
import type { LockDocument, VerifyDocument } from "./output.ts";
import * as source from "./read-catalogs.ts";

/** @throws Failure `models-missing` before writing the file */
export const lock = async (context: Context, typed: LockOptions) => {
  const { screen } = context;
  const { file } = typed;
  const models = await selectLockedModels(context, typed);
  const changed = catalogs.writeLock(file, models, screen.cleaner.json);
  if (screen.isForProgram) {
    const notes = screen.resultNotes.length > 0 ? screen.resultNotes : undefined;
    const ids = models.map(({ catalog, id }) => ({ catalog, id }));
    return await printDocument<LockDocument>(screen, { file, changed, models: ids, notes });
  }
  const count = pluralize(models.length, "model");
  screen.notice(changed ? `locked ${count} in ${file}` : `${file} is up to date (${count})`);
};

const selectLockedModels = async (context: Context, typed: LockOptions) => {
  const old = typed.model.length > 0 ? undefined : catalogs.readLock(typed.file)?.models;
  const { names, listed, partial } = await source.readCatalogs(context, typed);
  const isRead = ({ catalog }: catalogs.LockedModel) => names.includes(catalog);
  const locked = old?.filter(isRead);
  // `selectNamed` selects all entries if no model is named.
  const candidates = locked?.length === 0 ? [] : listed;
  const { selected, missing: unlisted } = source.selectNamed(candidates, locked ?? typed.model.map((id) => ({ id })));
  // A part of a catalog does not prove that a locked model is missing, so its facts stay in the file.
  const isKept = (model: { catalog?: catalogs.CatalogName | undefined }) =>
    model.catalog !== undefined && partial.has(model.catalog);
  const missing = unlisted.filter((one) => !isKept(one));
  if (missing.length > 0) throw modelsMissing(missing, names);
  const kept = new Set(unlisted.filter(isKept).map(({ catalog, id }) => `${catalog} ${id}`));
  // If entries share an id, rollcall locks the first entry.
  const entriesById = catalogs.groupById(selected, ({ catalog, entry }) => `${catalog} ${entry.id}`);
  const current = [...entriesById.values()].flatMap(([first]) => (first && catalogs.toLockedModel(first)) ?? []);
  return [...(old ?? []).filter((model) => !isRead(model) || kept.has(`${model.catalog} ${model.id}`)), ...current];
};

/** @throws Failure `lock-missing`, `invalid-lock`; `lock-differs` after printing the result */
export const verify = async (context: Context, typed: VerifyOptions) => {
  const { screen, host } = context;
  const { file, maxRise, within: withinMs, strict, allow, report: reports } = typed;
  const ruleNames = Object.keys(catalogs.lockRules);
  const unknown = allow.find((rule) => !ruleNames.includes(rule));
  if (unknown !== undefined)
    throw invalidOptionValue("--allow", unknown, ruleNames.join(", "), findNearest(unknown, ruleNames));
  checkReportFiles(screen, { report: reports, inputs: [file] });
  const locked = catalogs.readLock(file);
  const serviceArgs = listServiceArgs(context.flags);
  if (!locked) throw lockMissing(file, serviceArgs);
  const names = catalogs.catalogNames.filter((name) => locked.models.some(({ catalog }) => catalog === name));
  const { listed, partial } = await source.readCatalogs(context, typed, { names });
  const differences = catalogs
    .verifyLock(locked, listed, { partial, maxRise, withinMs, now: host.now(), serviceArgs })
    .filter(({ problem }) => !allow.includes(problem.rule))
    .map((one): catalogs.LockDifference => (strict ? { ...one, problem: { ...one.problem, severity: "error" } } : one));
  const problems = differences.map(({ problem }) => problem);
  for (const report of reports)
    await printReport(screen, { ...report, title: "rollcall catalog verify", inputs: [file], problems });
  const errors = differences.filter(({ problem }) => problem.severity === "error");
  const replacements = [...new Map(errors.map((one) => [one.locked, one])).values()].map(
    ({ locked: { catalog, id }, replacement = null }) => ({ catalog, id, replacement }),
  );
  // A report without a file replaces the result on stdout.
  if (reports.every((report) => report.file !== undefined)) {
    const models = locked.models.length;
    if (differences.length === 0) screen.notice(`${pluralize(models, "model")} in ${file} verified`);
    const status = errors.length > 0 ? "differs" : "verified";
    const documents = problems.map(toProblemDocument);
    const document: VerifyDocument = { status, file, models, problems: documents, replacements };
    const wire = { document: toRawJson(document), member: "problems" };
    await printList(screen, { columns: differenceColumns, rows: differences, wire });
  }
  if (errors.length === 0) return;
  const details = screen.isForProgram ? { problems: errors.map(({ problem }) => problem) } : {};
  const isAcceptable = errors.some(({ regression }) => catalogs.isAcceptable(regression.rule));
  const rules = errors.map(({ problem }) => problem.rule);
  throw lockDiffers({ file, serviceArgs, rules, isAcceptable, replacements }, details);
};

const differenceColumns: readonly KeyColumn<catalogs.LockDifference>[] = [
  { name: "id", rank: 0, value: ({ locked }) => locked.id },
  { name: "rule", rank: 0, value: ({ problem }) => problem.rule },
  { name: "field", rank: 0, value: ({ regression: { path } }) => formatFactName(path.join(".")) },
  { name: "locked", rank: 0, value: ({ regression }) => regression.locked },
  { name: "now", rank: 0, value: ({ regression }) => regression.current },
  { name: "severity", rank: 3, value: ({ problem }) => problem.severity },
  { name: "replacement", rank: 1, value: ({ replacement }) => replacement?.id },
  {
    name: "replacement_price",
    heading: "its prices\n$/M",
    rank: 4,
    value: ({ replacement }) => replacement && `${replacement.prompt} / ${replacement.completion}`,
  },
  { name: "line", heading: "line of\nthe lock", rank: 2, align: "right", value: ({ problem }) => problem.line },
  { name: "catalog", rank: 5, value: ({ locked }) => locked.catalog },
];
