/** `rollcall catalog verify`: holds what is served against a lock file, with a policy. */

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
import { Failure, problemFacts } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { printList, printReport } from "../../output/index.ts";
import { reportsAsked } from "../inputs/reports.ts";
import { findingColumns } from "./columns.ts";
import type { TypedVerify } from "./command.ts";
import { type CatalogSource, readCatalog, sourceOf } from "./source.ts";

/** Holds the catalogs against the lock. @throws Failure `lock-missing`, `lock-broken`; `lock-differs` once what was found was printed */
export const run = async (context: Context, typed: TypedVerify): Promise<void> => {
  const { screen, host } = context;
  const { file, maxRise, within: withinMs } = typed;
  const [policy, source] = [{ maxRise, withinMs, now: host.now() }, sourceOf(typed)];
  requireRules(typed.allow);
  const reports = reportsAsked(typed.report, { screen, inputs: [file] });
  const lock = readLock(file);
  if (lock === undefined) throw new Failure("lock-missing", { file }, { where: { file } });
  const progress = screen.progress("reading catalogs");
  const found = await findingsIn(context, { lock, policy, source, typed }).finally(progress.stop);
  const problems = found.map((one) => one.problem);
  for (const report of reports) {
    await printReport(screen, { ...report, title: "rollcall catalog verify", inputs: [file], problems });
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  const isShown = reports.every((report) => report.file !== undefined);
  if (isShown) await printFindings(context, { lock, found, differs: errors.length > 0 });
  if (errors.length === 0) return;
  const about = context.screen.isForProgram ? { problems: errors } : {};
  throw new Failure("lock-differs", { file, count: errors.length }, about);
};

/** @throws Failure `option-value-wrong` where there is no such rule */
const requireRules = (allow: readonly string[]): void => {
  const unknown = allow.find((rule) => !lockRuleNames.includes(rule));
  if (unknown === undefined) return;
  throw wrongValue("--allow", unknown, `a rule: ${lockRuleNames.join(", ")}`, nearest(unknown, lockRuleNames));
};

const findingsIn = async (
  context: Context,
  {
    lock,
    policy,
    source,
    typed: { strict, allow },
  }: {
    readonly lock: LockFile;
    readonly policy: LockPolicy;
    readonly source: CatalogSource;
    readonly typed: TypedVerify;
  },
): Promise<readonly Verified[]> => {
  const settings = await settingsInForce(context);
  const catalogs = new Map<CatalogName, Catalog["data"]>();
  for (const catalog of catalogNames.filter((name) => lock.models.some((model) => model.catalog === name))) {
    catalogs.set(catalog, (await readCatalog(context, { settings, catalog, source })).value.data);
  }
  return verifyLock(lock, catalogs, policy)
    .filter(({ problem }) => !allow.includes(problem.rule))
    .map((one) => ({ ...one, problem: strict ? { ...one.problem, severity: "error" } : one.problem }));
};

const printFindings = async (
  context: Context,
  { lock, found, differs }: { readonly lock: LockFile; readonly found: readonly Verified[]; readonly differs: boolean },
): Promise<void> => {
  const { screen } = context;
  const count = counted(lock.models.length, "model is", "models are");
  if (found.length === 0) screen.notice(`${count} as they were locked in ${lock.file}`);
  const bytes = Buffer.from(JSON.stringify(documentOf(lock, found, differs)));
  await printList(screen, { columns: findingColumns, rows: found, wire: { bytes, member: "problems" } });
};

const documentOf = (lock: LockFile, found: readonly Verified[], differs: boolean) => {
  const replacements = new Map(
    found.flatMap(({ locked, problem, replacement }) =>
      problem.severity === "error"
        ? [[locked, { catalog: locked.catalog, id: locked.id, replacement: replacement ?? null }]]
        : [],
    ),
  );
  return {
    status: differs ? "differs" : "verified",
    file: lock.file,
    models: lock.models.length,
    problems: found.map(({ problem }) => problemFacts(problem)),
    replacements: [...replacements.values()],
  };
};
