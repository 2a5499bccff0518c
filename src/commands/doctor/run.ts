/** Runs the checks of `rollcall doctor` at the same time, and prints their findings. */
import { withoutNotices } from "../../connect.ts";
import { type Context, runInContext } from "../../context.ts";
import { defect, Failure } from "../../failure.ts";
import { ignoreErrors } from "../../files.ts";
import { type Line, printPage } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import { readSettings, type SettingFlags } from "../../settings/index.ts";
import { printObjects } from "../lists/object-list.ts";
import * as checks from "./checks.ts";

/** Default of `--timeout`; short, because a person waits. */
const defaultTimeoutMs = 10_000;

/** Prints the findings, then fails with the most serious code. @throws Failure `doctor-found` */
export const runDoctor = async (given: Context, { offline }: { offline: boolean }) => {
  await runInContext(given, async (context) => {
    const progress = context.screen.startProgress("checking");
    const findings = await runChecks(context, offline).finally(progress.stop);
    await printFindings(given, findings);
    const failure = toWorstFailure(findings);
    if (failure !== undefined) throw failure;
  });
};

const runChecks = async (context: Context, isOffline: boolean) => {
  const { host } = context;
  // `checkSettings` reports unreadable settings, and an invalid `max_wait`.
  const read = (flags: SettingFlags) => readSettings({ ...withoutNotices(context), flags }).catch(() => undefined);
  const given = await read(context.flags);
  const isLimited = ignoreErrors(() => given?.require("max_wait")) !== undefined;
  const settings = isLimited ? given : await read({ ...context.flags, max_wait: `${defaultTimeoutMs}ms` });
  const silenceMs = ignoreErrors(() => settings?.get("timeout")) ?? defaultTimeoutMs;
  const maxWaitMs = settings?.require("max_wait") ?? silenceMs;
  const checkContext = { context, settings, isOffline, silenceMs, maxWaitMs };
  const credentials = checks.checkCredentials(checkContext);
  const running = {
    settings: checks.checkSettings(checkContext),
    credentials,
    addresses: checks.checkUrls(checkContext, credentials),
    ledger: checks.checkLedger(checkContext),
    "local store": checks.checkStore(checkContext),
  };
  const results = Object.entries(running).map(async ([check, findings]): Promise<readonly checks.Finding[]> => {
    // A check must end even if a database or a credential_command does not answer. Requests time out a second earlier.
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
  return (await Promise.all(results)).flat();
};

const printFindings = async ({ screen }: Context, findings: readonly checks.Finding[]) => {
  if (screen.format === "table") return await printPage(screen, { sections: [{ lines: findings.map(toLine) }] });
  const worst = (["error", "warning"] as const).find((each) => findings.some(({ status }) => status === each));
  const columns = { check: 0, status: 0, message: 0, fix: 0 };
  await printObjects(screen, { status: worst ?? "ok", findings }, { member: "findings", columns });
};

const marks = {
  ok: ["ok     ", undefined],
  warning: ["WARNING", "warning"],
  error: ["ERROR  ", "bad"],
  skipped: ["skipped", "faint"],
} as const;

const toLine = ({ check, status, message, fix }: checks.Finding): Line => {
  const [mark, tone] = marks[status];
  const text = fix === undefined ? message : `${message}\n  fix: ${fix}`;
  return { label: `${mark} ${check}`, text, tone, kind: "sentence" };
};

const codesFromMostSerious = ["usage", "storage", "auth", "refused", "unavailable"] as const;

const toWorstFailure = (findings: readonly checks.Finding[]) => {
  const errors = findings.filter(({ status }) => status === "error");
  const [first] = errors;
  if (first === undefined) return undefined;
  const code = codesFromMostSerious.find((each) => errors.some((one) => one.code === each));
  if (code === undefined) return defect(first.message);
  const names = [...new Set(errors.map(({ check }) => check))].join(", ");
  const message = `doctor found ${pluralize(errors.length, "error")}: ${names}`;
  return new Failure(code, "doctor-found", message, { hint: "apply the fix of each error" });
};
