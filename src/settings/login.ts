/** Plans and saves a login: takes a key, and asks for what else is missing. */
import type { CredentialUse } from "../contract/endpoint.ts";
import { optionsContradict } from "../failures.ts";
import type { Host } from "../host.ts";
import { askHidden, askLine, canAsk, readStdin } from "./ask.ts";
import { checkUsername, credentialUses, findOverriding, toCredential, uses } from "./credentials.ts";
import { credentialUnusable, loginKeyMissing } from "./failures.ts";
import { defaultProfile, localProfile, type SettingFlags, type SettingsSources } from "./layers.ts";
import { addressOf, readSettings, type Settings } from "./read.ts";
import { addTo, changeSaved, type Members, readSaved } from "./saved.ts";
import { checkSecret, maxSecretBytes, withoutLineEnd } from "./secrets.ts";
import { addressNames, type SettingName, settings as table } from "./values.ts";

/** A login that is ready to be saved. */
export interface LoginPlan {
  /** The settings of the run with all answers; each credential is the new key. */
  readonly settings: Settings;
  readonly key: string;
  /** The user name of call reads; undefined for the usual one. */
  readonly username: string | undefined;
  /** The uses with an address, and the origin that each one's key is bound to. */
  readonly targets: readonly { readonly use: CredentialUse; readonly origin: string }[];
  /** The uses without an address. */
  readonly without: readonly CredentialUse[];
  /** Addresses, project and providers that were given or asked for, and are saved with the key. */
  readonly given: Members;
  /** Settings that commands at these addresses need, and that are not set. */
  readonly lacking: readonly SettingName[];
  /** Variables of the environment that override the saved key. */
  readonly overriding: readonly string[];
}

/** A person waits: a read that tries a key ends after this time. */
export const triedFor = "5s";

/** The settings besides addresses that commands at the main address need. */
const besideAddresses = ["project", "analysis_provider", "router_provider"] as const;

/** The origin that requests of a use go to; undefined if its address is not set. @throws Failure `setting-wrong` */
export const originOf = (settings: Settings, use: CredentialUse): string | undefined => {
  const { host } = uses[use];
  return settings.get(addressOf(host)) === undefined ? undefined : new URL(settings.address(host)).origin;
};

/**
 * Plans a login for one use, or for all of them. It takes the key as soon as an address is known.
 * @throws Failure `setting-missing` if no use has an address, `setting-wrong`, `options-contradict`, `login-key-missing`,
 * `credential-unusable`, `interrupted`
 */
export const planLogin = async (
  sources: SettingsSources,
  {
    only,
    username,
    withToken,
  }: { readonly only: CredentialUse | undefined; readonly username?: string | undefined; readonly withToken: boolean },
): Promise<LoginPlan> => {
  const { host, hide } = sources;
  if (username !== undefined) checkUsernameFor(username, only);
  const some = only === undefined ? credentialUses : [only];
  // Settings are resolved when they are used: an answer counts as an option from then on.
  const flags: { -readonly [Name in keyof SettingFlags]: SettingFlags[Name] } = { ...sources.flags };
  const settings = await readSettings({ ...sources, flags, defaults: { max_wait: triedFor }, mayBeNew: true });
  if (settings.local) {
    const why = "the local service makes its own key";
    throw optionsContradict({ first: `the profile ${localProfile}`, second: "auth login", why });
  }
  const targets = (): LoginPlan["targets"] =>
    some.flatMap((use) => {
      const origin = originOf(settings, use);
      return origin === undefined ? [] : [{ use, origin }];
    });
  const without = (): readonly CredentialUse[] => some.filter((use) => originOf(settings, use) === undefined);
  const missing = (): readonly SettingName[] => [
    ...new Set(without().map((use) => (use === "inference" ? "inference_base_url" : "base_url"))),
  ];
  const isNeeded = (name: SettingName): boolean => (name === "project" ? some.includes("calls") : only === undefined);
  const lacking = (): readonly SettingName[] =>
    originOf(settings, "calls") === undefined
      ? []
      : besideAddresses.filter((name) => settings.get(name) === undefined && isNeeded(name));
  const asked = new Set<SettingName>();
  const ask = async (names: readonly SettingName[], key?: string): Promise<void> => {
    for (const name of names) {
      if (asked.has(name) || !canAsk(host) || (key === undefined && targets().length > 0)) continue;
      asked.add(name);
      flags[name] = await askSetting(host, name, key);
    }
  };
  await ask(missing());
  for (const name of besideAddresses) settings.get(name);
  const known = targets();
  // Fails with the name of the missing setting.
  if (known.length === 0) settings.address(uses[only ?? "log"].host);
  const label = `key for ${known.map(({ use, origin }) => `${use} at ${origin}`).join(", ")}: `;
  const key = await readKey({ host, hide, label, withToken, some: known.map(({ use }) => use) });
  await ask(missing(), key);
  await ask(lacking(), key);
  const given = [...addressNames, ...besideAddresses].filter((name) => flags[name] !== undefined);
  return {
    settings: {
      ...settings,
      credential: async (use) => toCredential(use, { text: key, from: "this login" }, username),
    },
    ...{ key, username, targets: targets(), without: without(), lacking: lacking() },
    given: Object.fromEntries(given.map((name) => [name, flags[name]])),
    overriding: findOverriding(
      host,
      targets().map(({ use }) => use),
    ),
  };
};

/** @throws Failure `setting-wrong`, `options-contradict` */
const checkUsernameFor = (username: string, only: CredentialUse | undefined): void => {
  if (only === undefined || only === "calls") checkUsername(username, { option: "--username" });
  else {
    const why = "only call read takes a user name";
    throw optionsContradict({ first: "--username", second: `--for ${only}`, why });
  }
};

/** Asks until the answer is valid, or empty. It does not repeat the answer, which may be a key. */
const askSetting = async (host: Host, name: SettingName, key: string | undefined): Promise<string | undefined> => {
  const { about, example, parse } = table[name];
  const form = example === undefined ? "" : `, such as ${example}`;
  for (;;) {
    const answer = await askLine(host, `${name} (${about}${form}; Enter skips): `);
    if (answer === undefined || answer === "") return undefined;
    const parsed = parse(answer, { windows: host.platform === "win32" });
    if (parsed.ok && answer !== key) return answer;
    const why = parsed.ok ? "that is the key, which was taken already" : `it takes ${parsed.wanted}`;
    host.stderr.write(`${why}${key === undefined ? "; the key is asked for after it" : ""}\n`);
  }
};

/** Reads the key from the terminal, hidden, or from standard input. */
const readKey = async ({
  host,
  hide,
  label,
  withToken,
  some,
}: Pick<SettingsSources, "host" | "hide"> & {
  readonly label: string;
  readonly withToken: boolean;
  readonly some: readonly CredentialUse[];
}): Promise<string> => {
  // A terminal shows what is typed on standard input, so that even then the key is asked for.
  const isTyped = canAsk(host);
  if (!withToken && !isTyped) throw loginKeyMissing("no-terminal");
  const from = isTyped ? "the terminal" : "standard input";
  const text = isTyped ? await askHidden(host, label) : (await readStdin(host, maxSecretBytes))?.toString("utf8");
  if (text === undefined && !isTyped) throw credentialUnusable({ from, wrong: "long" });
  const key = withoutLineEnd(text ?? "");
  if (key.trim() === "") throw loginKeyMissing("empty");
  hide(key);
  checkSecret({ text: key, from, where: {} }, some);
  return key;
};

/** Saves a login, settings first, and returns the path of the credentials. @throws as `changeSaved` */
export const saveLogin = async (host: Host, plan: LoginPlan): Promise<string> => {
  const { given, key, username, targets } = plan;
  const { profile } = plan.settings;
  const isKnown = profile === defaultProfile || readSaved(host, "settings").profiles.has(profile);
  if (!isKnown || Object.keys(given).length > 0) await changeSaved(host, "settings", addTo(profile, given));
  const logins = targets.map(({ use, origin }): [string, Members] => {
    const named = use === "calls" && username !== undefined ? { username } : {};
    return [use, { key, origin, ...named }];
  });
  return await changeSaved(host, "credentials", addTo(profile, Object.fromEntries(logins)));
};
