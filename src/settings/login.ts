/** Asks for missing settings, and reads a key. */

import { isObject } from "../json/json-bytes.ts";
import { conflictingOptions } from "../system/failures.ts";
import { readUpTo } from "../system/files.ts";
import { isInvalid } from "../text/units.ts";
import { type CredentialUse, urlSettingName } from "../wire/contract/endpoint.ts";
import * as credentials from "./credentials.ts";
import { invalidCredential, loginKeyMissing } from "./failures.ts";
import { defaultProfile, localProfile, type SettingFlags, type SettingsSources } from "./layers.ts";
import { readSettings, type Settings, settingMissing } from "./read.ts";
import { changeSaved, createAddition, maxSecretBytes, readSaved } from "./saved-files.ts";
import * as values from "./values.ts";

/** Asks for lines at a terminal: what was pasted together, or undefined at the end of the input. */
type Ask = (label: string, isHidden: boolean) => Promise<readonly string[] | undefined>;

const otherLoginSettings = ["project", "analysis_provider", "router_provider"] as const;

/** Returns undefined if no URL is set. @throws Failure `setting-invalid` */
export const findOrigin = (settings: Settings, use: CredentialUse) => {
  const { host } = values.useTargets[use];
  return settings.get(urlSettingName(host)) && new URL(settings.serviceUrl(host)).origin;
};

/** If `only` is undefined, the key is for all uses with a URL. */
type LoginOptions = Readonly<{
  only: CredentialUse | undefined;
  username?: string | undefined;
  withToken: boolean;
  /** Throws if the key could not be tested for these uses. */
  checkTest?: (settings: Settings, uses: readonly CredentialUse[]) => Promise<void>;
}>;

type WritableFlags = { -readonly [Name in keyof SettingFlags]: SettingFlags[Name] };
type LoginSources = SettingsSources & Readonly<{ ask: Ask; flags: WritableFlags }>;
type LoginTarget = Readonly<{ use: CredentialUse; origin: string }>;

export interface Login {
  /** Their credential is the new key. */
  readonly settings: Settings;
  readonly logins: readonly LoginTarget[];
  /** The origin of a saved key that the new key replaces. */
  readonly replacedOrigin: string | undefined;
  readonly save: () => Promise<string>;
}

/** Asks for missing settings, and then for the key. */
export const startLogin = async (given: SettingsSources, ask: Ask, options: LoginOptions): Promise<Login> => {
  const { only, username, withToken, checkTest } = options;
  if (username !== undefined && only && only !== "calls")
    throw conflictingOptions("--username", `--for ${only}`, "only calls need a user name");
  if (username !== undefined) credentials.checkUsername(username, { option: "--username" });
  // `settings.get` reads `flags` at each call, so an answer in `flags` counts as an option.
  const sources: LoginSources = { ...given, ask, flags: { ...given.flags } };
  const settings = await readSettings({ ...sources, canBeNew: true });
  if (settings.local)
    throw conflictingOptions(`the profile ${localProfile}`, "auth login", "the local service makes its own key");
  for (const name of otherLoginSettings) settings.get(name);
  if (given.host.terminal.stdin) await askForSettings(sources, settings, only);
  const logins = findLogins(settings, only);
  if (logins.length === 0) throw settingMissing([findMissingUrl(only)], settings.profile, false);
  await checkTest?.(
    settings,
    logins.map(({ use }) => use),
  );
  const secret = await readKey(sources, logins, withToken);
  if (Object.values(sources.flags).includes(secret)) throw invalidCredential("this login", "setting");
  return {
    settings: { ...settings, credential: async () => ({ secret, from: "this login", username }) },
    logins,
    replacedOrigin: findReplacedOrigin(sources, settings.profile, logins),
    save: async () => {
      const keys = logins.map(({ use, origin }) => {
        return [use, { key: secret, origin, ...(use === "calls" && username !== undefined && { username }) }];
      });
      await saveSettings(sources, settings.profile);
      return await changeSaved(given.host, "credentials", createAddition(settings.profile, Object.fromEntries(keys)));
    },
  };
};

const listUses = (only: CredentialUse | undefined) => (only ? [only] : credentials.credentialUses);

const findLogins = (settings: Settings, only: CredentialUse | undefined): readonly LoginTarget[] =>
  listUses(only).flatMap((use) => {
    const origin = findOrigin(settings, use);
    return origin ? [{ use, origin }] : [];
  });

const findMissingUrl = (use: CredentialUse | undefined) => (use === "inference" ? "inference_base_url" : "base_url");

const askForSettings = async (sources: LoginSources, settings: Settings, only: CredentialUse | undefined) => {
  const canUse = (use: CredentialUse) => findOrigin(settings, use) !== undefined;
  const lacksUrl = (name: values.SettingName) =>
    listUses(only).some((use) => findMissingUrl(use) === name && !canUse(use));
  const lacks = (name: (typeof otherLoginSettings)[number]) =>
    (!only || (name === "project" && only === "calls")) && canUse("calls") && !settings.get(name);
  for (const name of ["base_url", "inference_base_url"] as const) {
    const isLast = name === "inference_base_url" || only !== undefined;
    const isRequired = isLast && findLogins(settings, only).length === 0;
    if (lacksUrl(name)) sources.flags[name] = await promptForSetting(sources, name, isRequired);
  }
  for (const name of otherLoginSettings)
    if (lacks(name)) sources.flags[name] = await promptForSetting(sources, name, false);
};

/** Returns another origin if the login would replace the key of that origin. */
const findReplacedOrigin = ({ host }: LoginSources, profile: string, logins: readonly LoginTarget[]) => {
  const saved = readSaved(host, "credentials").profiles.get(profile);
  const replaced = logins.map(({ use, origin }) => {
    const login = saved?.[use];
    return isObject(login) && login.origin !== origin ? login.origin : undefined;
  });
  return replaced.find((origin) => typeof origin === "string");
};

/** Saves the settings that were given or answered, and the profile if it is new. */
const saveSettings = async ({ host, flags }: LoginSources, profile: string) => {
  const given = [...values.urlSettingNames, ...otherLoginSettings].filter((name) => flags[name] !== undefined);
  const isKnown = profile === defaultProfile || readSaved(host, "settings").profiles.has(profile);
  const added = Object.fromEntries(given.map((name) => [name, flags[name]]));
  if (!isKnown || given.length > 0) await changeSaved(host, "settings", createAddition(profile, added));
};

/** Messages omit the answer, because the answer may be a key. */
const promptForSetting = async ({ ask }: LoginSources, name: values.SettingName, isRequired: boolean) => {
  const { about, example, parse } = values.settings[name];
  const form = example ? `, such as ${example}` : "";
  for (let notice = ""; ; ) {
    const lines = await ask(`${notice}${name} (${about}${form}${isRequired ? "" : "; Enter skips"}): `, false);
    const answer = lines?.[0]?.trim();
    if (answer === undefined || (answer === "" && !isRequired)) return undefined;
    const parsed = parse(answer);
    if (!isInvalid(parsed)) return answer;
    notice = `expected ${parsed.wanted}\n`;
  }
};

const readKey = async ({ host, screen, ask }: LoginSources, logins: readonly LoginTarget[], withToken: boolean) => {
  // At a terminal, `--with-token` also prompts, because a prompt hides the typed key.
  const isTyped = host.terminal.stdin;
  if (isTyped ? !("setRawMode" in host.stdin) : !withToken) throw loginKeyMissing("no-terminal");
  const from = isTyped ? "the terminal" : "standard input";
  const usesOf = (origin: string) => logins.flatMap((login) => (login.origin === origin ? login.use : [])).join(", ");
  const origins = new Set(logins.map(({ origin }) => origin));
  const label = `key for ${Array.from(origins, (origin) => `${origin} (${usesOf(origin)})`).join(", ")}: `;
  const uses = logins.map(({ use }) => use);
  const isPassword = uses.every((use) => use === "calls");
  // If two lines are pasted, the first line alone would be a wrong key.
  const text = isTyped
    ? ((await ask(label, true))?.join("\n") ?? "")
    : (await readUpTo(host.stdin, maxSecretBytes, host))?.toString("utf8");
  if (text === undefined) throw invalidCredential(from, "long");
  const key = credentials.trimSecret(text, isPassword);
  if (key.trim() === "") throw loginKeyMissing("empty");
  screen.hideSecret(key);
  credentials.checkSecret({ text: key, from, where: {} }, uses);
  return key;
};
