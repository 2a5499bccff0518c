/** `rollcall catalog verify`: compares what is served with a lock file, by a policy. */

import {
  type CatalogName,
  catalogNames,
  type LockFile,
  type LockPolicy,
  lockRuleNames,
  readLock,
  type Verified,
  verifyLock,
} from "../../catalogs/index.ts";
import { wrongValue } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { Catalog } from "../../contract/catalog.ts";
import { counted } from "../../counted.ts";
import { problemFacts } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type Column, printList, printReport, textColumn } from "../../output/index.ts";
import { lockDiffers, lockMissing } from "../failures.ts";
import { checkReports } from "../inputs/options.ts";
import { factName } from "./columns.ts";
import type { TypedVerify } from "./command.ts";
import { readCatalog, sourceOf } from "./source.ts";

/** Compares the catalogs with the lock. @throws Failure `lock-missing`, `lock-broken`; `lock-differs` once what was found was printed */
export const run = async (context: Context, typed: TypedVerify): Promise<void> => {
  const { screen, host } = context;
  const { file, maxRise, within: withinMs, strict, allow, report: reports } = typed;
  const unknown = allow.find((rule) => !lockRuleNames.includes(rule));
  if (unknown !== undefined)
    throw wrongValue("--allow", unknown, `a rule: ${lockRuleNames.join(", ")}`, nearest(unknown, lockRuleNames));
  checkReports(screen, { report: reports, inputs: [file] });
  const lock = readLock(file);
  if (lock === undefined) throw lockMissing(file);
  const progress = screen.progress("reading catalogs");
  const all = await findingsIn(context, lock, { typed, policy: { maxRise, withinMs, now: host.now() } }).finally(
    progress.stop,
  );
  const found = all
    .filter(({ problem }) => !allow.includes(problem.rule))
    .map((one): Verified => ({ ...one, problem: strict ? { ...one.problem, severity: "error" } : one.problem }));
  const problems = found.map((one) => one.problem);
  for (const report of reports)
    await printReport(screen, { ...report, title: "rollcall catalog verify", inputs: [file], problems });
  const errors = problems.filter(({ severity }) => severity === "error");
  if (reports.every((report) => report.file !== undefined)) {
    const count = counted(lock.models.length, "model is", "models are");
    if (found.length === 0) screen.notice(`${count} as they were locked in ${lock.file}`);
    const bytes = Buffer.from(JSON.stringify(documentOf(lock, found)));
    await printList(screen, { columns: findingColumns, rows: found, wire: { bytes, member: "problems" } });
  }
  if (errors.length === 0) return;
  const about = screen.isForProgram ? { problems: errors } : {};
  throw lockDiffers(file, errors.length, about);
};

const findingsIn = async (
  context: Context,
  lock: LockFile,
  { typed, policy }: { readonly typed: TypedVerify; readonly policy: LockPolicy },
): Promise<readonly Verified[]> => {
  const source = sourceOf(typed);
  const settings = await settingsInForce(context);
  const catalogs = new Map<CatalogName, Catalog["data"]>();
  for (const catalog of catalogNames.filter((name) => lock.models.some((model) => model.catalog === name))) {
    catalogs.set(catalog, (await readCatalog(context, { settings, catalog, source })).value.data);
  }
  return verifyLock(lock, catalogs, policy);
};

const documentOf = (lock: LockFile, found: readonly Verified[]) => {
  const wrong = found.filter(({ problem }) => problem.severity === "error");
  const replacements = wrong.map(({ locked, replacement = null }) => {
    return [locked, { catalog: locked.catalog, id: locked.id, replacement }] as const;
  });
  return {
    status: wrong.length > 0 ? "differs" : "verified",
    file: lock.file,
    models: lock.models.length,
    problems: found.map(({ problem }) => problemFacts(problem)),
    replacements: [...new Map(replacements).values()],
  };
};

const findingColumns: readonly Column<Verified>[] = [
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

/** The names of all columns. */
export const findingColumnNames = findingColumns.map(({ name }) => name);
