/** Examines the installation, the settings, the service and the ledger. */
import { version } from "../../../package.json" with { type: "json" };
import { defect, Failure, type FailureCode, isFailure, toFailure } from "../../failure.ts";
import { type EntryCounts, formatState, ledgerStates } from "../../logging/ledger/entries.ts";
import { examineLedger, openExistingLedger } from "../../logging/ledger/ledger.ts";
import { printObjects } from "../../output/list.ts";
import { printPage } from "../../output/page.ts";
import type { Line } from "../../output/views.ts";
import { withoutNotices } from "../../session/connect.ts";
import { type Context, runInContext } from "../../session/context.ts";
import { listSettings } from "../../settings/changes.ts";
import { credentialUses } from "../../settings/credentials.ts";
import { findOrigin } from "../../settings/login.ts";
import { findLedgerFile, readSettings, type Settings } from "../../settings/read.ts";
import { findDataFolder, readSaved } from "../../settings/saved-files.ts";
import { checkFileMode, ignoreErrors, requireCreatable } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { findInstallation } from "../../system/installation.ts";
import { nameProgram } from "../../system/program.ts";
import { isDatabaseUrl } from "../../text/locations.ts";
import { inProfile, pluralize } from "../../text/sentences.ts";
import { type CredentialUse, type EndpointHost, urlSettingName } from "../../wire/contract/endpoint.ts";
import { testCredential } from "../auth/command.ts";
import type { DoctorDocument, DoctorFinding } from "./output.ts";

/** The default of `check` is the key in `runChecks`. */
type Finding = Omit<DoctorFinding, "check"> & Readonly<Partial<Pick<DoctorFinding, "check">>>;

type Facts = Readonly<Record<string, unknown>> | undefined;

type CheckContext = Readonly<{
  context: Context;
  settings: Settings | undefined;
  isOffline: boolean;
  silenceMs: number;
  maxWaitMs: number;
}>;

/** `doctor` has a short default of `--timeout`, because a person waits. */
const defaultTimeoutMs = 10_000;

/** @throws Failure `doctor-found` with the most serious code */
export const runDoctor = async (given: Context, { offline }: { offline: boolean }) => {
  await runInContext(given, async (context) => {
    const progress = context.screen.startProgress("checking");
    const findings = await runChecks(context, offline).finally(progress.stop);
    await printFindings(given, findings);
    const errors = findings.filter(({ status }) => status === "error");
    if (errors.length === 0) return;
    const code = codesFromMostSerious.find((each) => errors.some((one) => one.code === each));
    if (code === undefined) throw defect(errors[0]?.message ?? "");
    const names = [...new Set(errors.map(({ check }) => check))].join(", ");
    const message = `doctor found ${pluralize(errors.length, "error")} in ${names}`;
    throw new Failure(code, "doctor-found", message, { hint: "apply the fix of each error" });
  });
};

const codesFromMostSerious = ["usage", "storage", "auth", "refused", "unavailable"] as const;

const runChecks = async (context: Context, isOffline: boolean) => {
  const { host } = context;
  // `checkSettings` reports unreadable and invalid settings.
  const settings = await readSettings(withoutNotices(context)).catch(() => undefined);
  const silenceMs = ignoreErrors(() => settings?.get("timeout")) ?? defaultTimeoutMs;
  const maxWaitMs = ignoreErrors(() => settings?.require("max_wait")) ?? silenceMs;
  const checkContext = { context, settings, isOffline, silenceMs, maxWaitMs };
  const credentials = checkCredentials(checkContext);
  const running = {
    installation: checkInstallation(host),
    settings: checkSettings(checkContext),
    credentials,
    addresses: checkUrls(checkContext, credentials),
    ledger: checkLedger(checkContext),
    "local store": checkStore(checkContext),
  };
  const results = Object.entries(running).map(async ([check, findings]) => {
    // A database may never answer. Requests time out earlier.
    const timeOut = async () => {
      await host.sleep(silenceMs + 1000, host.signal);
      throw new Failure("unavailable", "doctor-timeout", `no answer within ${Math.round(silenceMs / 100) / 10} s`, {
        hint: "increase --timeout, or skip requests with --offline",
      });
    };
    try {
      const found = await Promise.race([findings, timeOut()]);
      return found.map((one) => ({ check, ...one }));
    } catch (thrown) {
      host.signal.throwIfAborted();
      return [{ check, ...toFinding(thrown) }];
    }
  });
  return (await Promise.all(results)).flat().map((one) => ({ ...one, fix: one.fix && nameProgram(one.fix) }));
};

const printFindings = async ({ screen }: Context, findings: readonly DoctorFinding[]) => {
  if (screen.format === "table") return await printPage(screen, { sections: [{ lines: findings.map(toLine) }] });
  const worst = (["error", "warning"] as const).find((each) => findings.some(({ status }) => status === each));
  const document: DoctorDocument = { status: worst ?? "ok", findings };
  const names = ["check", "status", "message", "fix"] as const;
  const columns = names.map((name) => ({ name, rank: 0 }));
  await printObjects(screen, document, { member: "findings", columns });
};

const tones = { ok: undefined, warning: "warning", error: "bad", skipped: "faint" } as const;

const toLine = ({ check, status, message, fix }: Finding): Line => {
  const mark = status === "ok" || status === "skipped" ? status : status.toUpperCase();
  const text = fix === undefined ? message : `${message}\n  fix: ${fix}`;
  return { label: `${mark.padEnd(7)} ${check}`, text, tone: tones[status], kind: "sentence" };
};

const ok = (message: string, facts?: Facts): Finding => ({ status: "ok", message, facts });
const skipped: typeof ok = (...finding) => ({ ...ok(...finding), status: "skipped" });
const warning = (message: string, fix?: string, facts?: Facts): Finding => ({ status: "warning", message, fix, facts });
const error = (code: FailureCode, message: string, fix: string, facts?: Facts): Finding => {
  return { status: "error", message, fix, code, facts };
};

const settingsUnreadable = "the settings have an error";

const toFinding = (thrown: unknown, facts?: Facts) => {
  const { message, code, details } = toFailure(thrown);
  const fix = details.hint ?? "remove the cause, and run `rollcall doctor` again";
  return error(code, message, fix, facts);
};

const installations: Readonly<Record<string, string>> = {
  "npm global": "a global npm package",
  "npm local": "an npm package in a folder",
  wheel: "a Python package",
  clone: "a checkout",
  image: "a container image",
};

const checkInstallation = async ({ nodeVersion, nodePath }: Host) => {
  const { kind, folder } = findInstallation();
  const facts = { installed_as: kind, folder, node_version: nodeVersion, node_path: nodePath };
  return [ok(`rollcall ${version} from ${installations[kind] ?? kind}, with Node ${nodeVersion} (${nodePath})`, facts)];
};

const checkSettings = async ({ context }: CheckContext) => {
  const { profile, rows, unknown } = listSettings(withoutNotices(context));
  const set = rows.filter(({ source }) => source !== null && source !== "default");
  const settings = set.map(({ name, value, source, from }) => [name, { value, source, from }]);
  const names = set.map(({ name, source }) => `${name} (${source})`).join(", ") || "no settings";
  const facts = { profile, settings: Object.fromEntries(settings) };
  const found = [ok(`profile ${profile}: ${names}`, facts)];
  // The loop skips defaults, because an invalid default derives from another invalid setting.
  for (const { problem, from } of set)
    if (problem !== null) found.push(error("usage", `${problem.message} (${from})`, problem.advice ?? ""));
  const fix = `delete it with \`${inProfile("rollcall config unset <name>", profile)}\`, unless a newer rollcall wrote it`;
  for (const name of unknown) found.push(warning(`unknown setting ${name} in the profile ${profile}`, fix));
  for (const kind of ["settings", "credentials"] as const) {
    const check = `${kind} file`;
    try {
      readSaved(context.host, kind, ({ message, advice }) => found.push({ check, ...warning(message, advice) }));
    } catch (thrown) {
      found.push({ check, ...toFinding(thrown) });
    }
  }
  return found;
};

const checkCredentials = async (checkContext: CheckContext): Promise<readonly Finding[]> => {
  const { settings } = checkContext;
  if (!settings) return [skipped(settingsUnreadable)];
  if (settings.local) return [ok("the local service has its own key")];
  const checking = credentialUses.map(async (use) => {
    return { check: `credential ${use}`, ...(await checkCredential(checkContext, settings, use)) };
  });
  const found = await Promise.all(checking);
  if (found.some(({ status, facts }) => status !== "skipped" && facts?.state !== "missing")) return found;
  return found.map((one) => (one.status === "skipped" ? one : { ...one, status: "error", code: "auth" }));
};

const checkCredential = async (
  { context, isOffline }: CheckContext,
  settings: Settings,
  use: CredentialUse,
): Promise<Finding> => {
  try {
    const origin = findOrigin(settings, use);
    if (origin === undefined) return skipped(`no URL is set for ${use}`, { state: "no URL" });
    const { state, from = null, username, failure: unusable } = await settings.credentialSource(use, origin);
    const facts = { state, origin, from, username };
    if (unusable) {
      const { message, details } = unusable;
      return state === "missing" ? warning(message, details.hint, facts) : toFinding(unusable, facts);
    }
    const untried = (why: string) => ok(`the key from ${from} was not tested: ${why}`, { ...facts, accepted: null });
    if (isOffline) return untried("--offline");
    const { state: answer, failure } = await testCredential(context, settings, [use], false);
    if (answer === "untried") return untried(use === "calls" ? "no project is set" : "only `rollcall log` can test it");
    if (!failure) return ok(`the service accepted the key from ${from}`, { ...facts, accepted: true });
    if (failure.code === "unavailable") return untried("the service is unavailable");
    const found = toFinding(failure, { ...facts, accepted: answer === "refused" ? false : null });
    if (answer === "refused" || isFailure(failure, "html-reply")) return found;
    return { ...found, status: "warning", message: `the key from ${from} could not be tested: ${found.message}` };
  } catch (thrown) {
    if (isFailure(thrown, "setting-invalid")) return toInvalidFinding(thrown);
    return toFinding(thrown);
  }
};

const toInvalidFinding = ({ details }: Failure) => skipped(`${details.where?.setting} is invalid`);

const checkUrls = async (checkContext: CheckContext, credentials: Promise<readonly Finding[]>) => {
  const { settings, isOffline } = checkContext;
  if (!settings) return [skipped(settingsUnreadable)];
  if (settings.local) return [skipped("the local service is built in")];
  const addresses = new Map<string, EndpointHost>();
  const invalid: Finding[] = [];
  for (const kind of ["base", "inference", "log"] as const) {
    try {
      const address = settings.serviceUrl(kind);
      if (!addresses.has(address)) addresses.set(address, kind);
    } catch (thrown) {
      if (isFailure(thrown, "setting-invalid")) invalid.push(toInvalidFinding(thrown));
    }
  }
  if (addresses.size === 0) {
    if (invalid.length > 0) return invalid.slice(0, 1);
    const login = inProfile("rollcall auth login --base-url https://…", settings.profile);
    const fix = `run \`${login}\`, or set ROLLCALL_BASE_URL`;
    return [warning("no service URL is set, so only --local works", fix)];
  }
  if (isOffline) return [skipped("--offline")];
  const checking = Array.from(addresses, async ([address, kind]) => {
    return { check: `address ${kind}`, ...(await checkUrl(checkContext, { address, kind, credentials })) };
  });
  return await Promise.all(checking);
};

const checkUrl = async (
  { context: { host }, settings, silenceMs: timeoutMs, maxWaitMs }: CheckContext,
  { address, kind, credentials }: { address: string; kind: EndpointHost; credentials: Promise<readonly Finding[]> },
) => {
  const setting = urlSettingName(kind);
  try {
    const { probeUrl } = await import("../../wire/client/download.ts");
    const { status, proxy = null, isPage } = await probeUrl(address, { host, setting, timeoutMs, maxWaitMs });
    const facts = { address, status, proxy };
    const { origin } = new URL(address);
    const isAccepted = (one: Finding) => one.facts?.origin === origin && one.facts?.accepted === true;
    if (isPage && status < 400 && !(await credentials).some(isAccepted)) {
      const fix = `set the URL of the service: \`${inProfile(`rollcall config set ${setting} https://…`, settings?.profile ?? "default")}\``;
      return error("refused", `${address} answers with a web page, not with JSON`, fix, facts);
    }
    const through = proxy === null ? "" : ` through the proxy ${proxy}`;
    // A proxy answers 407 without asking the service.
    if (status < 500 && status !== 407) return ok(`${address} is reachable${through} (status ${status})`, facts);
    const fix = "run `rollcall doctor` again later, or ask the operator of the service";
    return warning(`${address} answers${through} with status ${status}`, fix, facts);
  } catch (thrown) {
    return toFinding(thrown, { address });
  }
};

const checkLedger = async ({ context: { host }, settings }: CheckContext) => {
  const file = findLedgerFile(host);
  const location = (await settings?.ledgerLocation()) ?? (file && { path: file });
  if (!location) {
    const fix = "set ROLLCALL_DATA_DIR or ROLLCALL_LEDGER";
    return [warning("cannot locate the ledger, because the home folder is unknown", fix)];
  }
  const { path } = location;
  const none = ok(`none yet (the first \`rollcall log\` creates ${path})`, { path });
  if (isDatabaseUrl(path)) {
    const options = { host, maxWaitMs: 0, onUnavailable: () => undefined, isForReading: true };
    const ledger = await openExistingLedger(location, options);
    const counts = await ledger?.countRequests().finally(ledger.close);
    return [counts ? toLedgerFinding(`${path} answers`, counts, { path }) : none];
  }
  const examined = await examineLedger(path, host);
  if (!examined) {
    const fix = "make the folder writable, or choose another location with ROLLCALL_LEDGER";
    const message = `none yet, and rollcall cannot create ${path}`;
    return [ignoreErrors(() => [requireCreatable(path)]) ? none : error("storage", message, fix, { path })];
  }
  const folder = findDataFolder(host);
  const loose = folder && checkFileMode(folder, "700");
  const modes = loose ? [warning(loose.message, loose.advice)] : [];
  const { bytes, version, damages } = examined;
  const facts = { path, bytes, version };
  if (damages?.length) return [toDamageFinding("ledger", damages, facts), ...modes];
  if (bytes === 0) return [ok(`${path} is empty, and the next \`rollcall log\` uses it`, facts), ...modes];
  const state = damages ? "is undamaged" : "is too large to check for damage";
  return [toLedgerFinding(`${path} ${state}`, examined, facts), ...modes];
};

const toLedgerFinding = (
  location: string,
  { counts, writers }: { counts: EntryCounts; writers: number },
  ledgerFacts: Facts,
) => {
  const parts = ledgerStates.flatMap((state) => {
    const count = counts.get(state);
    return count ? `${count.requests} ${formatState(state)}` : [];
  });
  const use = writers === 0 ? "" : `. ${pluralize(writers, "run is", "runs are")} writing`;
  const message = `${location}. Requests: ${parts.join(", ") || "none"}${use}`;
  const facts = { ...ledgerFacts, writers, counts: Object.fromEntries(counts) };
  if (!counts.has("unknown") && !(counts.has("trying") && writers === 0)) return ok(message, facts);
  const fix =
    "list the requests with `rollcall ledger status --all-destinations`. Then resolve the unknown requests with `rollcall ledger resolve`, or rerun the same `rollcall log` with --on-unknown resend";
  return warning(message, fix, facts);
};

const toDamageFinding = (check: string, damages: readonly string[], facts: { path: string }) => {
  const fix = `restore a backup, or move the file away to start with an empty ${check}`;
  return error("storage", `${facts.path} is damaged: ${damages.join("; ")}`, fix, facts);
};

const checkStore = async ({ context, settings }: CheckContext) => {
  const dataDir = findDataFolder(context.host);
  if (dataDir === undefined) return [skipped("cannot locate the store, because the home folder is unknown")];
  const { examineStore } = await import("../../service/store/store.ts");
  const found = await examineStore({ dataDir, store: settings?.storeFile() }, context);
  if (!found) return [ok("none yet (the first use of --local creates it)")];
  const { path } = found;
  const { bytes, damages = [], calls, version } = found;
  const facts = { path, bytes, version, calls: calls ?? null };
  if (damages.length > 0) return [toDamageFinding("local store", damages, facts)];
  return [ok(`${path}: ${calls === undefined ? "empty" : pluralize(calls, "call")}`, facts)];
};
