/** Runs the checks of `rollcall doctor` at the same time, and prints their findings. */
import { withoutNotices } from "../../connect.ts";
import { type Context, runInContext } from "../../context.ts";
import { defect, Failure } from "../../failure.ts";
import { ignoreErrors } from "../../files.ts";
import { type Line, printPage } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import { readSettings } from "../../settings/index.ts";
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
  // `checkSettings` reports unreadable and invalid settings.
  const settings = await readSettings(withoutNotices(context)).catch(() => undefined);
  const silenceMs = ignoreErrors(() => settings?.get("timeout")) ?? defaultTimeoutMs;
  const maxWaitMs = ignoreErrors(() => settings?.require("max_wait")) ?? silenceMs;
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
    const timeOut = async () => {
      await host.sleep(silenceMs + 1000, host.signal);
      throw new Failure("unavailable", "doctor-timeout", `no answer within ${Math.round(silenceMs / 100) / 10} s`, {
        hint: "increase --timeout, or skip requests with --offline",
      });
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

const tones = { ok: undefined, warning: "warning", error: "bad", skipped: "faint" } as const;

const toLine = ({ check, status, message, fix }: checks.Finding): Line => {
  const mark = status === "ok" || status === "skipped" ? status : status.toUpperCase();
  const text = fix === undefined ? message : `${message}\n  fix: ${fix}`;
  return { label: `${mark.padEnd(7)} ${check}`, text, tone: tones[status], kind: "sentence" };
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
