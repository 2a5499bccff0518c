/** `rollcall catalog verify`: holds what is served against a lock file, with a policy. */

import type { Command } from "commander";
import type { CatalogName, LockFile, LockPolicy, Verified } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import { parseDecimal } from "../../decimal.ts";
import { Failure, problemFacts } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { printList, printReport } from "../../output/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import { parseAge } from "../lists/moment.ts";
import { type ReportAsked, reportAsked } from "../log/build-reports.ts";
import { usualLockFile } from "./lock.ts";
import { type CatalogSource, readCatalog, sourceOf, sourceOptions, type TypedSource } from "./source.ts";
import { findingColumns } from "./verify-columns.ts";

interface TypedVerify extends TypedSource {
  readonly file: string;
  readonly maxRise: string;
  readonly within: string;
  readonly strict?: boolean;
  readonly allow?: readonly string[];
  readonly report?: string;
}

/** What `catalog verify` was asked for. */
interface VerifyOptions {
  readonly file: string;
  readonly policy: LockPolicy;
  readonly strict: boolean;
  readonly allow: readonly string[];
  readonly report: ReportAsked | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog verify`. */
export const declareCatalogVerify = (group: Command, start: Start): void => {
  const command = group
    .command("verify")
    .description("exit 10 where a locked model is gone, dearer, smaller or about to end")
    .option("--file <file>", "the lock file", usualLockFile)
    .option("--max-rise <percent>", "how much a price may rise", "0%")
    .option("--within <duration>", "how near a deprecation may not be", "30d")
    .option("--strict", "warnings fail too: features, parameters, what is not stated")
    .option("--allow <rule>", "nothing of a rule; more than once for several", (rule, before: string[] = []) => [
      ...before,
      rule,
    ])
    .option("--report <form>", "github or junit, for a build system; =file writes a file");
  sourceOptions(command).action(async (typed: TypedVerify, own: Command) => {
    const context = start(own);
    const { file, strict = false, allow = [], report } = typed;
    await verify(context, {
      file,
      policy: policyOf(typed, context.host.now()),
      strict,
      allow: await rulesNamed(context, allow),
      report: report === undefined ? undefined : reportAsked(report, context),
      source: sourceOf(typed),
    });
  });
  examples(command, [
    "rollcall catalog verify --max-rise 10% --within 60d",
    "rollcall catalog verify --report github --allow country-left",
  ]);
};

const policyOf = ({ maxRise, within }: TypedVerify, now: number): LockPolicy => {
  const percent = parseDecimal(maxRise.replace(/\s*%$/, ""));
  if (percent === undefined || percent.digits < 0n) {
    throw new Failure("option-value-wrong", {
      option: "--max-rise",
      value: maxRise,
      wanted: "a percentage such as 10%",
    });
  }
  return { maxRise: percent, withinMs: parseAge(within, { option: "--within" }), now };
};

const rulesNamed = async (context: Context, allow: readonly string[]): Promise<readonly string[]> => {
  const { lockRuleNames } = await context.catalogs();
  const unknown = allow.find((rule) => !lockRuleNames.includes(rule));
  if (unknown === undefined) return allow;
  const near = nearest(unknown, lockRuleNames);
  throw new Failure("option-value-wrong", {
    option: "--allow",
    value: unknown,
    wanted: `a rule: ${lockRuleNames.join(", ")}`,
    ...(near === undefined ? {} : { suggestion: near }),
  });
};

/** @throws Failure `lock-missing`, `lock-broken`; `lock-differs` once what was found was printed */
const verify = async (context: Context, options: VerifyOptions): Promise<void> => {
  const { screen } = context;
  const { lockDoor } = await context.catalogs();
  const lock = (await lockDoor()).readLock(options.file);
  if (lock === undefined) throw new Failure("lock-missing", { file: options.file }, { where: { file: options.file } });
  const progress = screen.progress("reading catalogs");
  const found = await findingsIn(context, { lock, options }).finally(progress.stop);
  const problems = found.map((one) => one.problem);
  if (options.report !== undefined) {
    await printReport(screen, { ...options.report, title: "rollcall catalog verify", inputs: [lock.file], problems });
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  const isShown = options.report === undefined || options.report.file !== undefined;
  if (isShown) await printFindings(context, { lock, found, differs: errors.length > 0 });
  if (errors.length === 0) return;
  throw new Failure(
    "lock-differs",
    { file: lock.file, count: errors.length },
    isForProgram(context) ? { problems: errors } : {},
  );
};

const findingsIn = async (
  context: Context,
  { lock, options }: { readonly lock: LockFile; readonly options: VerifyOptions },
): Promise<readonly Verified[]> => {
  const { catalogNames, lockDoor } = await context.catalogs();
  const { verifyLock } = await lockDoor();
  const settings = await context.settings();
  const names = catalogNames.filter((name) => lock.models.some(({ catalog }) => catalog === name));
  const catalogs = new Map<CatalogName, Awaited<ReturnType<typeof readCatalog>>["value"]["data"]>();
  for (const catalog of names) {
    catalogs.set(catalog, (await readCatalog(context, { settings, catalog, source: options.source })).value.data);
  }
  const { policy, strict, allow } = options;
  return verifyLock(lock, catalogs, policy)
    .filter(({ problem }) => !allow.includes(problem.rule))
    .map((one) => ({ ...one, problem: strict ? { ...one.problem, severity: "error" } : one.problem }));
};

const printFindings = async (
  context: Context,
  { lock, found, differs }: { readonly lock: LockFile; readonly found: readonly Verified[]; readonly differs: boolean },
): Promise<void> => {
  const { screen } = context;
  const count = lock.models.length === 1 ? "1 model is" : `${lock.models.length} models are`;
  if (found.length === 0) screen.notice(`${count} as they were locked in ${lock.file}`);
  const bytes = Buffer.from(JSON.stringify(documentOf(lock, found, differs)));
  await printList(screen, { columns: findingColumns, rows: found, wire: { bytes, member: "problems" } });
};

/** `{"status","file","models","problems":[…],"replacements":[{"catalog","id","replacement"}]}` */
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
