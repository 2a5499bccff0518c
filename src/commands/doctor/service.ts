/** The checks of `doctor` that are about a service: settings, credentials, addresses. */

import { downloadDoor, type Probed } from "../../client/index.ts";
import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CredentialUse, EndpointHost } from "../../contract/endpoint.ts";
import { type Failure, isFailure } from "../../failure.ts";
import { credentialElsewhere, credentialMissing } from "../../settings/failures.ts";
import {
  credentialUses,
  examineDoor,
  listSettings,
  originOf,
  readSettings,
  type SettingRow,
  type Settings,
  type SettingsSources,
} from "../../settings/index.ts";
import { tryRead } from "../auth.ts";
import { error, type Finding, failed, ok, skipped, warning } from "./finding.ts";

/** What the checks need to know. */
interface Asked {
  readonly context: Context;
  /** Undefined where the settings can't be read: then nothing that needs them is looked at. */
  readonly settings: Settings | undefined;
  /** Whether nothing may be asked of the network. */
  readonly offline: boolean;
  /** Longest silence of a service. */
  readonly silenceMs: number;
}

const unread = "the settings can't be read";

/** The settings in force, what is wrong with them, and the files they are saved in. */
export const settingsFindings = async (context: Context): Promise<readonly Finding[]> => {
  const quiet = { ...settingsSources(context), notice: () => undefined, warn: () => undefined };
  const { profile, rows, unknown } = listSettings(quiet);
  const set = rows.filter(({ source, value }) => value !== undefined && source !== "default");
  const names = set.map(({ name, source }) => `${name} (${source})`);
  return [
    ok("settings", `profile ${profile}: ${names.length === 0 ? "nothing is set" : names.join(", ")}`, {
      facts: { profile, settings: Object.fromEntries(set.map((row) => [row.name, factsOf(row)])) },
    }),
    ...rows.flatMap(wrongSetting),
    ...unknown.map((name) =>
      warning("settings", `${name} in the profile ${profile} is no setting`, {
        fix: "take it out of the file, unless a newer rollcall wrote it",
      }),
    ),
    ...(await savedFindings(context)),
  ];
};

/** A command line may hold what is secret: only the program is named. */
const factsOf = ({ name, value = "", source, from }: SettingRow) => ({
  value: name === "credential_command" ? `${value.split(/\s/, 1)[0]} …` : value,
  source,
  from,
});

/** A default is wrong only where the setting that it is made of is: that one is named. */
const wrongSetting = ({ problem, source, from = "" }: SettingRow): readonly Finding[] =>
  problem === undefined || source === "default"
    ? []
    : [
        error("settings", `${problem.message} (${from})`, {
          fix: problem.advice,
          code: "usage",
        }),
      ];

/** The saved files, whose modes are looked at. */
const savedFindings = async (context: Context): Promise<readonly Finding[]> => {
  const { problemsOfSaved } = await examineDoor();
  const findings = await Promise.all(
    (["settings", "credentials"] as const).map(async (kind) => {
      try {
        return problemsOfSaved(context.host, kind).map(({ message, advice }) =>
          warning(`${kind} file`, message, { fix: advice }),
        );
      } catch (thrown) {
        return [await failed(`${kind} file`, thrown)];
      }
    }),
  );
  return findings.flat();
};

/** Settings for looking: a service that is down is asked once. Undefined where they can't be read. */
export const settingsFor = async (context: Context): Promise<Settings | undefined> => {
  const sources: SettingsSources = { ...settingsSources(context), notice: () => undefined, warn: () => undefined };
  try {
    return await readSettings({ ...sources, flags: { ...sources.flags, max_wait: "0s" } });
  } catch {
    return undefined;
  }
};

/** Which credential goes with which use, and whether the service takes it. */
export const credentialFindings = async (asked: Asked): Promise<readonly Finding[]> => {
  const { settings } = asked;
  if (settings === undefined) return [skipped("credentials", unread)];
  if (settings.local) return [ok("credentials", "the local service has a key of its own")];
  const found = await Promise.all(credentialUses.map(async (use) => await credentialFinding(asked, settings, use)));
  const usable = found.filter(({ status }) => status !== "skipped");
  // One use without a credential is how many people work; none at all is how nothing works.
  const none = usable.length > 0 && usable.every(({ facts }) => facts?.state === "missing");
  return found.map((one) => (none && one.facts?.state === "missing" ? { ...one, status: "error", code: "auth" } : one));
};

const credentialFinding = async (asked: Asked, settings: Settings, use: CredentialUse): Promise<Finding> => {
  const check = `credential ${use}`;
  try {
    const origin = originOf(settings, use);
    if (origin === undefined) return skipped(check, "its address is not set", { facts: { state: "no address" } });
    const { state, from, username, boundTo } = await settings.credentialSource(use, origin);
    const facts = { state, origin, from: from ?? null, username };
    const { profile } = settings;
    if (state === "missing") {
      const { message, fix } = await failed(check, credentialMissing({ use, origin, profile }));
      return warning(check, message, { facts, fix });
    }
    if (state === "elsewhere") {
      const elsewhere = credentialElsewhere({ use, origin, boundTo: boundTo ?? "", profile });
      return await failed(check, elsewhere, facts);
    }
    return await accepted(asked, settings, { use, check, from: from ?? "", facts });
  } catch (thrown) {
    // What is wrong with a setting is said where the settings are looked at.
    if (isFailure(thrown, "setting-wrong")) return skipped(check, `${thrown.about.where?.setting} can't be used`);
    return await failed(check, thrown);
  }
};

/** Asks the service whether it takes a credential, by a read that needs it. */
const accepted = async (
  { context, offline }: Asked,
  settings: Settings,
  {
    use,
    check,
    from,
    facts,
  }: { readonly use: CredentialUse; readonly check: string; readonly from: string; readonly facts: Finding["facts"] },
): Promise<Finding> => {
  const untried = (why: string) =>
    ok(check, `from ${from}; not tried: ${why}`, { facts: { ...facts, accepted: null } });
  if (offline) return untried("--offline");
  const tried = await tryRead(context, settings, [use]);
  if (tried.kind === "taken")
    return ok(check, `from ${from}; the service takes it`, { facts: { ...facts, accepted: true } });
  if (tried.kind === "no-read") {
    return untried(use === "calls" ? "no project is set" : "no operation that only reads takes it");
  }
  const found = await failed(check, tried.failure, { ...facts, accepted: tried.kind === "refused" ? false : null });
  if (tried.kind === "refused") return found;
  if (tried.failure.code === "unavailable") return untried("the service can't be reached now");
  if (isPage(tried.failure)) return { ...found, code: "unavailable" };
  return { ...found, status: "warning", message: `from ${from}; not tried: ${found.message}` };
};

/** Whether a read was answered with a web page: whatever stands there is not the service. */
const isPage = (failure: Failure): boolean => isFailure(failure, "reply-unreadable") && failure.about.isPage === true;

/** Whether something answers at each base address; what was found of the credentials tells a service from a web site. */
export const addressFindings = async (
  asked: Asked,
  credentials: Promise<readonly Finding[]>,
): Promise<readonly Finding[]> => {
  const { settings, offline } = asked;
  if (settings === undefined) return [skipped("addresses", unread)];
  if (settings.local) return [skipped("addresses", "the local service is inside this program")];
  const targets = addressesOf(settings);
  if (targets.length === 0) {
    return [
      warning("addresses", "no address of a service is set: only --local works", {
        fix: "rollcall auth login --base-url https://…, or ROLLCALL_BASE_URL=…",
      }),
    ];
  }
  if (offline) return [skipped("addresses", "--offline")];
  return await Promise.all(targets.map(async (target) => await addressFinding(asked, target, credentials)));
};

/** A base address, and what it is for. */
interface Target {
  readonly of: EndpointHost;
  readonly address: string;
}

/** The addresses that are set and can be used, each once. */
const addressesOf = (settings: Settings): readonly Target[] => {
  const all = (["base", "inference", "log"] as const).flatMap((of): readonly Target[] => {
    try {
      return [{ of, address: settings.address(of) }];
    } catch (thrown) {
      // What is wrong with a setting is said where the settings are looked at.
      if (isFailure(thrown, "setting-missing") || isFailure(thrown, "setting-wrong")) return [];
      throw thrown;
    }
  });
  return all.filter(({ address }, at) => all.findIndex((other) => other.address === address) === at);
};

const addressFinding = async (
  { context, silenceMs }: Asked,
  { of, address }: Target,
  credentials: Promise<readonly Finding[]>,
): Promise<Finding> => {
  const check = `address ${of}`;
  try {
    const { probe } = await downloadDoor();
    const probed = await probe({ host: context.host, address, of, silenceMs });
    const finding = answered(check, address, probed);
    const { origin } = new URL(address);
    const isService = async () =>
      (await credentials).some(({ facts = {} }) => facts.origin === origin && facts.accepted === true);
    return probed.isPage && probed.status < 400 && !(await isService()) ? webPage(finding, of) : finding;
  } catch (thrown) {
    return await failed(check, thrown, { address });
  }
};

/** A service may have a page at its root; where no read was taken either, nothing says that there is one. */
const webPage = ({ check, facts }: Finding, of: EndpointHost): Finding =>
  error(check, `${String(facts?.address)} answers with a web page, not as the service does`, {
    facts,
    fix: `give the address of the service's interface: \`rollcall config set ${of === "base" ? "" : `${of}_`}base_url https://…\``,
    code: "unavailable",
  });

const answered = (check: string, address: string, { status, proxy }: Probed): Finding => {
  const message = `${address} answers${proxy === undefined ? "" : ` through ${proxy}`} (${status})`;
  const facts = { address, status, proxy: proxy ?? null };
  if (status < 500) return ok(check, message, { facts });
  return warning(check, message, {
    facts,
    fix: "it is down, or something before it is: try again, or ask who runs it",
  });
};
