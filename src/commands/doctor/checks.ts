/** The checks of `rollcall doctor`: settings, credentials, addresses, ledger and store. */
import { downloadDoor } from "../../client/index.ts";
import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CredentialUse, EndpointHost } from "../../contract/endpoint.ts";
import { counted } from "../../counted.ts";
import { Failure, type FailureCode, isFailure } from "../../failure.ts";
import { codeOf, isDatabaseAddress, looseMode } from "../../files.ts";
import { type EntryCounts, examineLedger, ledgerStates, openExistingLedger } from "../../ledger/index.ts";
import { credentialElsewhere, credentialMissing } from "../../settings/failures.ts";
import {
  credentialUses,
  dataFolder,
  isCreatable,
  ledgerFile,
  listSettings,
  originOf,
  type Settings,
  savedProblems,
} from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import { tryRead } from "../auth.ts";

/** What one check found. */
export interface Finding {
  /** Name of the check: a promise to scripts. */
  readonly check: string;
  readonly status: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
  /** The code of the run's failure, for an error. */
  readonly code?: FailureCode;
  /** The details, for programs. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

/** What the checks know. */
interface Asked {
  readonly context: Context;
  /** Undefined if the settings cannot be read. */
  readonly settings: Settings | undefined;
  readonly isOffline: boolean;
  /** Longest silence of a service. */
  readonly silenceMs: number;
}

type Check = (asked: Asked, credentials: Promise<readonly Finding[]>) => Promise<readonly Finding[]>;

/** Settings are read several times: the checks say what is wrong with them. */
export const quiet = { notice: () => undefined, warn: () => undefined };

const unread = "the settings can't be read";
const report = "please report it, with the command that was run";

/** What to do about failures without a hint. */
const fixes: Partial<Record<FailureCode, string>> = {
  usage: "give another value, or leave it out",
  storage: "look at the disk under it, or name another place",
  auth: "`rollcall auth login` saves a key",
  unavailable: "try again when it can be reached",
};

/** The failure of a check as a finding. */
export const failed = (check: string, thrown: unknown, facts?: Finding["facts"]): Finding => {
  const found = { check, status: "error", facts } as const;
  if (thrown instanceof Failure) {
    const { message, code, about } = thrown;
    return { ...found, message, code, fix: about.hint ?? fixes[code] ?? report };
  }
  const code = codeOf(thrown);
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND" || code === "ERR_DLOPEN_FAILED") {
    const fix = "install rollcall again on this machine: npm install -g rollcall";
    return { ...found, message: `libsql, which keeps files, can't be loaded here (${code})`, code: "storage", fix };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return { ...found, message: `a defect of rollcall: ${text}`, code: "internal", fix: report };
};

/** The settings, the invalid ones, and the files that they are saved in. */
const checkSettings: Check = async ({ context }) => {
  const check = "settings";
  const { profile, rows, unknown } = listSettings({ ...settingsSources(context), ...quiet });
  const set = rows.filter(({ source }) => source !== null && source !== "default");
  const names = set.map(({ name, source }) => `${name} (${source})`);
  const facts = set.map(({ name, value, source, from }) => {
    // A command line may have secrets: only the program is named.
    const shown = name === "credential_command" ? `${value?.split(/\s/, 1)[0]} …` : value;
    return [name, { value: shown, source, from }];
  });
  const message = `profile ${profile}: ${names.length === 0 ? "nothing is set" : names.join(", ")}`;
  return [
    { check, status: "ok", message, facts: { profile, settings: Object.fromEntries(facts) } },
    // A default is wrong only if the setting that it is made of is wrong.
    ...rows.flatMap(({ problem, source, from }): readonly Finding[] => {
      if (problem === null || source === "default") return [];
      const { message, advice: fix } = problem;
      return [{ check, status: "error", message: `${message} (${from})`, fix, code: "usage" }];
    }),
    ...unknown.map((name): Finding => {
      const fix = "take it out of the file, unless a newer rollcall wrote it";
      return { check, status: "warning", message: `${name} in the profile ${profile} is no setting`, fix };
    }),
    ...(["settings", "credentials"] as const).flatMap((kind) => checkFile(context, kind)),
  ];
};

const checkFile = ({ host }: Context, kind: "settings" | "credentials"): readonly Finding[] => {
  const check = `${kind} file`;
  try {
    return savedProblems(host, kind).map(({ message, advice: fix }) => ({ check, status: "warning", message, fix }));
  } catch (thrown) {
    return [failed(check, thrown)];
  }
};

/** The credential of each use, and if the service accepts it. */
const checkCredentials = async (asked: Asked): Promise<readonly Finding[]> => {
  const { settings } = asked;
  const check = "credentials";
  if (settings === undefined) return [{ check, status: "skipped", message: unread }];
  if (settings.local) return [{ check, status: "ok", message: "the local service has a key of its own" }];
  const found = await Promise.all(credentialUses.map(async (use) => await checkCredential(asked, settings, use)));
  const usable = found.filter(({ status }) => status !== "skipped");
  // Many people work without a credential for one use, but nothing works without any.
  const none = usable.length > 0 && usable.every(({ facts }) => facts?.state === "missing");
  return found.map((one) => (none && one.facts?.state === "missing" ? { ...one, status: "error", code: "auth" } : one));
};

const checkCredential = async (asked: Asked, settings: Settings, use: CredentialUse): Promise<Finding> => {
  const check = `credential ${use}`;
  const skipped = (message: string, facts?: Finding["facts"]): Finding => ({
    check,
    status: "skipped",
    message,
    facts,
  });
  try {
    const origin = originOf(settings, use);
    if (origin === undefined) return skipped("its address is not set", { state: "no address" });
    const { state, from = null, username, boundTo = "" } = await settings.credentialSource(use, origin);
    const facts = { state, origin, from, username };
    const { profile } = settings;
    if (state === "missing") {
      const { message, about } = credentialMissing({ use, origin, profile });
      return { check, status: "warning", message, facts, fix: about.hint };
    }
    if (state === "elsewhere") return failed(check, credentialElsewhere({ use, origin, boundTo, profile }), facts);
    const found = (message: string, accepted: boolean | null): Finding => {
      return { check, status: "ok", message: `from ${from}; ${message}`, facts: { ...facts, accepted } };
    };
    if (asked.isOffline) return found("not tried: --offline", null);
    const tried = await tryRead(asked.context, settings, [use]);
    if (tried.state === "taken") return found("the service takes it", true);
    if (tried.state === "untried") {
      const why = use === "calls" ? "no project is set" : "no operation that only reads takes it";
      return found(`not tried: ${why}`, null);
    }
    const { failure } = tried;
    if (tried.state === "refused") return failed(check, failure, { ...facts, accepted: false });
    if (failure.code === "unavailable") return found("not tried: the service can't be reached now", null);
    const refused = failed(check, failure, { ...facts, accepted: null });
    // A web page is not the answer of a service.
    if (isFailure(failure, "reply-unreadable") && failure.about.isPage === true)
      return { ...refused, code: "unavailable" };
    return { ...refused, status: "warning", message: `from ${from}; not tried: ${refused.message}` };
  } catch (thrown) {
    // The check of the settings reports an invalid one.
    if (isFailure(thrown, "setting-wrong")) return skipped(`${thrown.about.where?.setting} can't be used`);
    return failed(check, thrown);
  }
};

/** If something answers at each address. A credential that is accepted tells a service from a web site. */
const checkAddresses: Check = async (asked, credentials) => {
  const { settings, isOffline } = asked;
  const check = "addresses";
  if (settings === undefined) return [{ check, status: "skipped", message: unread }];
  if (settings.local) {
    return [{ check, status: "skipped", message: "the local service is inside this program" }];
  }
  const addresses = new Map<string, EndpointHost>();
  for (const of of ["base", "inference", "log"] as const) {
    try {
      const address = settings.address(of);
      if (!addresses.has(address)) addresses.set(address, of);
    } catch (thrown) {
      // The check of the settings reports an invalid one.
      if (!isFailure(thrown, "setting-missing") && !isFailure(thrown, "setting-wrong")) throw thrown;
    }
  }
  if (addresses.size === 0) {
    const fix = "rollcall auth login --base-url https://…, or ROLLCALL_BASE_URL=…";
    return [{ check, status: "warning", message: "no address of a service is set: only --local works", fix }];
  }
  if (isOffline) return [{ check, status: "skipped", message: "--offline" }];
  return await Promise.all(
    [...addresses].map(async ([address, of]) => checkAddress(asked, { address, of }, credentials)),
  );
};

const checkAddress = async (
  { context: { host }, silenceMs }: Asked,
  { address, of }: { readonly address: string; readonly of: EndpointHost },
  credentials: Promise<readonly Finding[]>,
): Promise<Finding> => {
  const check = `address ${of}`;
  try {
    const { probe } = await downloadDoor();
    const { status, proxy, isPage } = await probe({ host, address, of, silenceMs });
    const facts = { address, status, proxy: proxy ?? null };
    const { origin } = new URL(address);
    const isService = async () =>
      (await credentials).some((one) => one.facts?.origin === origin && one.facts?.accepted === true);
    if (isPage && status < 400 && !(await isService())) {
      const setting = of === "base" ? "base_url" : `${of}_base_url`;
      const fix = `give the address of the service's interface: \`rollcall config set ${setting} https://…\``;
      const message = `${address} answers with a web page, not as the service does`;
      return { check, status: "error", message, facts, fix, code: "unavailable" };
    }
    const message = `${address} answers${proxy === undefined ? "" : ` through ${proxy}`} (${status})`;
    if (status < 500) return { check, status: "ok", message, facts };
    const fix = "it is down, or something before it is: try again, or ask who runs it";
    return { check, status: "warning", message, facts, fix };
  } catch (thrown) {
    return failed(check, thrown, { address });
  }
};

/** If the ledger is undamaged, what is in it, and who writes it. */
const checkLedger: Check = async ({ context: { host }, settings }) => {
  const check = "ledger";
  const file = ledgerFile(host);
  const place = settings?.ledgerPlace() ?? (file === undefined ? undefined : { path: file });
  if (place === undefined) {
    const fix = "ROLLCALL_DATA_DIR=<folder>, or ROLLCALL_LEDGER=<file>";
    return [{ check, status: "warning", message: "there is no place for one", fix }];
  }
  const { path } = place;
  if (isDatabaseAddress(path)) {
    const ledger = await openExistingLedger(place, { host, maxWaitMs: 0, onAway: () => undefined, toRead: true });
    const used = await ledger?.counted().finally(ledger.close);
    return [used === undefined ? noLedger(path) : usedLedger(path, "answers", used)];
  }
  const found = await examineLedger(path);
  if (found === undefined) return [noLedger(path)];
  const folder = dataFolder(host);
  const loose = folder === undefined || host.platform === "win32" ? undefined : looseMode(folder, "700");
  const open: readonly Finding[] =
    loose === undefined ? [] : [{ check, status: "warning", message: loose.message, fix: loose.advice }];
  const { bytes, version, damages, counts, writers } = found;
  const facts = { path, bytes, version, writers, counts: Object.fromEntries(counts) };
  if (damages !== undefined && damages.length > 0) return [damaged(check, path, { damages, facts }), ...open];
  if (bytes === 0) {
    return [{ check, status: "ok", message: `${path} is empty; the next log makes it a ledger`, facts }, ...open];
  }
  const state = `is ${damages === undefined ? "too large to be looked through" : "whole"}`;
  return [{ ...usedLedger(path, state, found), facts }, ...open];
};

const noLedger = (path: string): Finding => {
  const found = { check: "ledger", facts: { path } };
  if (isDatabaseAddress(path) || isCreatable(path))
    return { ...found, status: "ok", message: `none yet; the first log makes ${path}` };
  const fix = "make its folder writable, or ROLLCALL_DATA_DIR=<folder> names another";
  return { ...found, status: "error", message: `none yet, and ${path} can't be made`, fix, code: "storage" };
};

/** States of a request whose groups another request may have too: the requests are counted. */
const wereTried: ReadonlySet<string> = new Set(["refused", "not_sent"]);

const usedLedger = (
  path: string,
  state: string,
  { counts, writers }: { readonly counts: EntryCounts; readonly writers: number },
): Finding => {
  const parts = ledgerStates.flatMap((one) => {
    const count = counts.get(one);
    if (count === undefined) return [];
    const number = wereTried.has(one) ? counted(count.requests, "request") : counted(count.groups, "group");
    return [`${number} ${one.replace("_", " ")}`];
  });
  const use = writers === 0 ? "" : `; ${writers === 1 ? "a run writes" : `${writers} runs write`} it now`;
  const message = `${path} ${state}: ${parts.join(", ") || "empty"}${use}`;
  const found = { check: "ledger", message, facts: { path, writers, counts: Object.fromEntries(counts) } };
  if (!counts.has("unknown") && !(counts.has("trying") && writers === 0)) return { ...found, status: "ok" };
  const fix =
    "`rollcall ledger status` names what is unknown; --on-unknown resend, or `rollcall ledger resolve`, settles it";
  return { ...found, status: "warning", fix };
};

const damaged = (
  check: string,
  path: string,
  { damages, facts }: { readonly damages: readonly string[]; readonly facts: Finding["facts"] },
): Finding => ({
  check,
  status: "error",
  message: `${path} is damaged: ${damages.join("; ")}`,
  facts,
  fix: `put a copy back, or move it away: ${commandLine(["mv", path, "damaged.db"])}`,
  code: "storage",
});

/** The store of the local service. */
const checkStore: Check = async ({ context, settings }) => {
  const check = "local store";
  const dataDir = dataFolder(context.host);
  if (dataDir === undefined) return [{ check, status: "skipped", message: "there is no folder for it" }];
  // The store may lack the module that is missing here, and is loaded when that can be reported.
  const { examineStore } = await import("../../service/index.ts");
  const found = await examineStore({ dataDir, store: settings?.storePlace() }, context);
  if (found === undefined) {
    return [{ check, status: "ok", message: "none yet; the first use of --local makes it" }];
  }
  const { path } = found;
  if ("isRemote" in found) return [{ check, status: "ok", message: `${path} answers`, facts: { path } }];
  const { bytes, damages, calls, version } = found;
  const facts = { path, bytes, version, calls: calls ?? null };
  if (damages !== undefined && damages.length > 0) return [damaged(check, path, { damages, facts })];
  const content = calls === undefined ? "empty" : counted(calls, "call");
  return [{ check, status: "ok", message: `${path}: ${content}`, facts }];
};

/** The checks, in the order of their findings. */
export const checks = {
  settings: checkSettings,
  credentials: checkCredentials,
  addresses: checkAddresses,
  ledger: checkLedger,
  "local store": checkStore,
};
