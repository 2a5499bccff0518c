/** Runs the checks of `rollcall doctor` at the same time, and prints their findings. */
import { toSettingsSources } from "../../connect.ts";
import { type Context, openContext } from "../../context.ts";
import { defect, type Failure } from "../../failure.ts";
import { withSignal } from "../../host.ts";
import { type Line, printDocument, printList, printPage } from "../../output/index.ts";
import { readSettings, type Settings } from "../../settings/index.ts";
import { doctorFound } from "../failures.ts";
import { keyColumns } from "../lists/object-list.ts";
import * as checks from "./checks.ts";

/** Maximum silence without `--timeout`; short, because a person waits. */
const defaultTimeoutMs = 10_000;

/** Prints the findings, then fails with the most serious code. @throws Failure `doctor-…` */
export const runDoctor = async (given: Context, { offline }: { readonly offline: boolean }): Promise<void> => {
  const { screen, flags } = given;
  const ended = new AbortController();
  const context = openContext({ host: withSignal(given.host, ended.signal), screen, flags });
  const progress = screen.startProgress("checking");
  try {
    const findings = await runChecks(context, offline).finally(progress.stop);
    await print(given, findings);
    const failure = toWorstFailure(findings);
    if (failure !== undefined) throw failure;
  } finally {
    ended.abort();
    await context.close();
  }
};

const runChecks = async (context: Context, isOffline: boolean): Promise<readonly checks.Finding[]> => {
  const { host } = context;
  const sources = { ...toSettingsSources(context), ...checks.silentSources };
  // Requests are not retried. Unreadable settings are a finding.
  const flags = { ...context.flags, max_wait: "0s" };
  const settings = await readSettings({ ...sources, flags }).catch(() => undefined);
  const silenceMs = readTimeout(settings) ?? defaultTimeoutMs;
  const asked = { context, settings, isOffline, silenceMs };
  const credentials = checks.checkCredentials(asked);
  const running = {
    settings: checks.checkSettings(asked),
    credentials,
    addresses: checks.checkUrls(asked, credentials),
    ledger: checks.checkLedger(asked),
    "local store": checks.checkStore(asked),
  };
  const all = Object.entries(running).map(async ([check, findings]): Promise<readonly checks.Finding[]> => {
    // A check must end even if a database or a credential_command does not answer.
    const timeOut = async (): Promise<readonly checks.Finding[]> => {
      await host.sleep(silenceMs + 1000, host.signal);
      const message = `no answer within ${Math.round(silenceMs / 100) / 10} s`;
      const fix = "increase --timeout, or skip requests with --offline";
      return [{ check, status: "error", message, fix, code: "unavailable" }];
    };
    try {
      return await Promise.race([findings, timeOut()]);
    } catch (thrown) {
      host.signal.throwIfAborted();
      return [checks.toFinding(check, thrown)];
    }
  });
  return (await Promise.all(all)).flat();
};

const readTimeout = (settings: Settings | undefined): number | undefined => {
  try {
    return settings?.get("timeout");
  } catch {
    return undefined;
  }
};

const print = async ({ screen }: Context, findings: readonly checks.Finding[]): Promise<void> => {
  if (screen.isForProgram) {
    const worst = (["error", "warning"] as const).find((status) => findings.some((one) => one.status === status));
    return await printDocument(screen, { status: worst ?? "ok", findings }, "findings");
  }
  if (screen.format === "table") {
    return await printPage(screen, { sections: [{ lines: findings.map(toLine) }] });
  }
  const columns = keyColumns<checks.Finding>({ check: 0, status: 0, message: 0, fix: 0 });
  await printList(screen, { columns, rows: findings });
};

const statusStyles = {
  ok: { mark: "ok     ", tone: undefined },
  warning: { mark: "WARNING", tone: "warning" },
  error: { mark: "ERROR  ", tone: "bad" },
  skipped: { mark: "skipped", tone: "faint" },
} as const;

const toLine = ({ check, status, message, fix }: checks.Finding): Line => {
  const { mark, tone } = statusStyles[status];
  const text = fix === undefined ? message : `${message}\n  fix: ${fix}`;
  return { label: `${mark} ${check}`, text, tone };
};

/** The codes of findings, the most serious first. */
const codesBySeverity = ["usage", "storage", "auth", "refused", "unavailable"] as const;

const toWorstFailure = (findings: readonly checks.Finding[]): Failure | undefined => {
  const errors = findings.filter(({ status }) => status === "error");
  const [first] = errors;
  if (first === undefined) return undefined;
  const code = codesBySeverity.find((each) => errors.some((one) => one.code === each));
  const names = errors.map(({ check }) => check);
  return code === undefined ? defect(first.message) : doctorFound(code, names);
};
