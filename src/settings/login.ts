/** Logging in: which uses a key is saved for, and where it may go. */

import type { CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import { isFailure } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import type { Host } from "../host.ts";
import { askHidden, askLine, canAsk, readStdin } from "./ask.ts";
import { checkUsername, credentialOf, credentialUses, defaultUsername, savedLogin, secretsSet } from "./credentials.ts";
import { credentialUnusable, loginKeyMissing } from "./failures.ts";
import { type Members, readSaved } from "./files.ts";
import { defaultProfile, localProfile } from "./profile.ts";
import { readSettings, toldOnce } from "./read.ts";
import { checkSecret, type Hide, withoutLastLineEnd } from "./secrets.ts";
import type { SettingFlags, Settings, SettingsSources } from "./settings.ts";
import { addressNames, describeSetting, exampleOf, type SettingName, settings as table } from "./values.ts";

const hostOfUse: Readonly<Record<CredentialUse, EndpointHost>> = {
  log: "log",
  inference: "inference",
  calls: "base",
};

/** What a login will save, but for the key. */
export interface LoginPlan {
  /** The settings in force, with what was given or asked for. */
  readonly settings: Settings;
  /** The uses with an address, and the origin that each one's key will be bound to. */
  readonly targets: readonly { readonly use: CredentialUse; readonly origin: string }[];
  /** The uses that have no address: nothing is saved for them. */
  readonly without: readonly CredentialUse[];
  /** What was given or asked for beside the key, and is saved with it: addresses, the project, the providers. */
  readonly given: Members;
  /** Settings that commands at these addresses need, and nobody has set. */
  readonly lacking: readonly SettingName[];
  /** Variables of the environment that go before what is saved. */
  readonly overriding: readonly string[];
}

/** A login's key, and the user name that call reads take with it. */
export interface LoginKey {
  readonly key: string;
  /** Undefined for the usual one. */
  readonly username: string | undefined;
}

/** How a login takes its key, for the uses that have an address by then. */
type TakeKey = (targets: LoginPlan["targets"]) => Promise<string>;

/**
 * Plans a login for one use, or for all of them, and takes its key as soon as an address is known; what else is missing is
 * asked for on a terminal.
 * @throws Failure `setting-missing` where no use has an address, `setting-wrong`, `options-contradict` for the local service
 */
export const planLogin = async (
  sources: SettingsSources,
  { only, takeKey }: { readonly only: CredentialUse | undefined; readonly takeKey: TakeKey },
): Promise<{ readonly plan: LoginPlan; readonly key: string }> => {
  const uses = only === undefined ? credentialUses : [only];
  const once = toldOnce(sources);
  const { ask, asked } = openQuestions(sources.host);
  let settings = await settingsFor(once, asked);
  for (const name of ["base_url", "inference_base_url"] as const) {
    if (targetsOf(settings, uses).length > 0 || !missingAddresses(settings, uses).includes(name)) continue;
    if (await ask(name)) settings = await settingsFor(once, asked);
  }
  for (const name of besideAddresses) settings.get(name);
  const known = targetsOf(settings, uses);
  // Says which setting is missing, and how to give it.
  if (known.length === 0) settings.address(hostOfUse[uses[0] ?? "log"]);
  const key = await takeKey(known);
  for (const name of missingAddresses(settings, uses)) await ask(name, key);
  settings = await settingsFor(once, asked);
  const hasMain = originOf(settings, "calls") !== undefined;
  for (const name of hasMain ? lackingIn(settings, uses) : []) await ask(name, key);
  settings = await settingsFor(once, asked);
  return { key, plan: planOf(settings, { uses, sources, asked, hasMain }) };
};

const planOf = (
  settings: Settings,
  {
    uses,
    sources: { flags, host },
    asked,
    hasMain,
  }: {
    readonly uses: readonly CredentialUse[];
    readonly sources: SettingsSources;
    readonly asked: SettingFlags;
    readonly hasMain: boolean;
  },
): LoginPlan => {
  const targets = targetsOf(settings, uses);
  const targeted = targets.map(({ use }) => use);
  const toSave = [...addressNames, ...besideAddresses].flatMap((name): [string, unknown][] => {
    const text = asked[name] ?? flags[name];
    return text === undefined ? [] : [[name, text]];
  });
  return {
    settings,
    targets,
    without: uses.filter((use) => !targeted.includes(use)),
    given: Object.fromEntries(toSave),
    lacking: hasMain ? lackingIn(settings, uses) : [],
    overriding: secretsSet(host, targeted),
  };
};

const targetsOf = (settings: Settings, uses: readonly CredentialUse[]): LoginPlan["targets"] =>
  uses.flatMap((use) => {
    const origin = originOf(settings, use);
    return origin === undefined ? [] : [{ use, origin }];
  });

/** The addresses that would give uses without one theirs. */
const missingAddresses = (settings: Settings, uses: readonly CredentialUse[]): readonly SettingName[] => {
  const missing = uses.filter((use) => originOf(settings, use) === undefined);
  return [
    ...(missing.some((use) => use !== "inference") ? (["base_url"] as const) : []),
    ...(missing.includes("inference") ? (["inference_base_url"] as const) : []),
  ];
};

/** How long a login, or a look at the credentials, tries to reach the service: a person waits. */
export const triedFor = "5s";

const settingsFor = async (sources: SettingsSources, asked: SettingFlags): Promise<Settings> => {
  const flags = { ...sources.flags, ...asked };
  const settings = await readSettings({ ...sources, flags, defaults: { max_wait: triedFor }, newProfile: true });
  if (settings.local) {
    const why = "the local service makes its own key";
    throw optionsContradict({ first: `the profile ${localProfile}`, second: "auth login", why });
  }
  return settings;
};

/** The origin that requests of a use go to; undefined where no address is set. */
export const originOf = (settings: Settings, use: CredentialUse): string | undefined => {
  try {
    return new URL(settings.address(hostOfUse[use])).origin;
  } catch (thrown) {
    if (isFailure(thrown, "setting-missing")) return undefined;
    throw thrown;
  }
};

/** What commands at the main address need beside it: call reads a project, the catalogs a provider each. */
const besideAddresses = ["project", "analysis_provider", "router_provider"] as const;

const lackingIn = (settings: Settings, uses: readonly CredentialUse[]): readonly SettingName[] =>
  besideAddresses.filter(
    (name) =>
      settings.get(name) === undefined && (name === "project" ? uses.includes("calls") : uses === credentialUses),
  );

/** Asks the person at the terminal for settings, each once; nobody is asked where there is no terminal. */
const openQuestions = (host: Host) => {
  const asked: Partial<Record<SettingName, string>> = {};
  const told = new Set<SettingName>();
  /** Whether there was an answer. What is the key, in the wrong place, is none. */
  const ask = async (name: SettingName, key?: string): Promise<boolean> => {
    if (told.has(name) || !canAsk(host)) return false;
    told.add(name);
    const answer = await askSetting(host, name, key);
    if (answer !== undefined) asked[name] = answer;
    return answer !== undefined;
  };
  return { ask, asked };
};

/** Asks until the answer can be used, or is nothing. What was typed is not repeated: it may be a key. */
const askSetting = async (host: Host, name: SettingName, key: string | undefined): Promise<string | undefined> => {
  for (;;) {
    const example = exampleOf(name);
    const form = example === undefined ? "" : `, such as ${example}`;
    const answer = await askLine(host, `${name} (${describeSetting(name)}${form}; Enter skips): `);
    if (answer === undefined || answer === "") return undefined;
    const parsed = table[name].parse(answer, { windows: host.platform === "win32" });
    if (parsed.ok && answer !== key) return answer;
    const why = parsed.ok ? "that is the key, which was taken already" : `it takes ${parsed.wanted}`;
    host.stderr.write(`${why}${key === undefined ? "; the key is asked for after it" : ""}\n`);
  }
};

/** More than any key has. */
const longestKeyBytes = 64 * 1024;

/**
 * Reads the key: unseen from the terminal, or from standard input.
 * @throws Failure `login-key-missing`, `credential-unusable`, `interrupted`
 */
export const readKey = async (
  { host, hide }: { readonly host: Host; readonly hide: Hide },
  {
    withToken,
    label,
    uses,
  }: {
    readonly withToken: boolean;
    readonly label: string;
    readonly uses: readonly CredentialUse[];
  },
): Promise<string> => {
  if (!withToken && !canAsk(host)) throw loginKeyMissing("no-terminal");
  const from = canAsk(host) ? "the terminal" : "standard input";
  // A terminal shows what is typed on standard input: a key is asked for unseen there, whichever way it was to come.
  const text = canAsk(host) ? await askHidden(host, label) : await readPiped(host);
  if (text === undefined || text.trim() === "") throw loginKeyMissing("empty");
  hide(text);
  return checkSecret({ text, from, where: {} }, uses).text;
};

const readPiped = async (host: Host): Promise<string> => {
  const bytes = await readStdin(host, longestKeyBytes);
  if (bytes === undefined) throw credentialUnusable({ from: "standard input", wrong: "long" });
  return withoutLastLineEnd(bytes.toString("utf8"));
};

/** A user name as `--username` gives it. @throws Failure `setting-wrong`, `options-contradict` where nothing takes one */
export const usernameGiven = (name: string, { only }: { readonly only: CredentialUse | undefined }): string => {
  if (only === undefined || only === "calls") return checkUsername(name, { option: "--username" });
  throw optionsContradict({
    first: "--username",
    second: `--for ${only}`,
    why: "only call read takes a user name",
  });
};

/** The same settings, with a key that is not saved yet in the place of every credential. */
export const withKey = (settings: Settings, { key, username = defaultUsername }: LoginKey): Settings => {
  const secret = { text: key, from: "this login" };
  return { ...settings, credential: async (use) => credentialOf(use, secret, username) };
};

/** Saves a login, settings first, and gives the path of the credentials. @throws as `changeProfile` */
export const saveLogin = async (host: Host, plan: LoginPlan, { key, username }: LoginKey): Promise<string> => {
  const { changeProfile } = await import("./write.ts");
  const { profile } = plan.settings;
  const known = profile === defaultProfile || readSaved(host, "settings").profiles.has(profile);
  if (!known || Object.keys(plan.given).length > 0) {
    await changeProfile(host, { kind: "settings", profile, change: (before) => ({ ...before, ...plan.given }) });
  }
  const logins = plan.targets.map(({ use, origin }): [string, Members] => [
    use,
    savedLogin({ key, origin, username: use === "calls" ? username : undefined }),
  ]);
  const change = (before: Members) => ({ ...before, ...Object.fromEntries(logins) });
  return await changeProfile(host, { kind: "credentials", profile, change });
};
