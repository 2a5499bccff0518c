/** Reads a key, and asks for missing settings. */

import { isObject } from "../json/json-bytes.ts";
import { conflictingOptions } from "../system/failures.ts";
import { readUpTo } from "../system/files.ts";
import { isInvalid } from "../text/units.ts";
import { type CredentialUse, urlSettingName } from "../wire/contract/endpoint.ts";
import * as credentials from "./credentials.ts";
import { invalidCredential, loginKeyMissing, secretFaults } from "./failures.ts";
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

export const startLogin = async (sources: SettingsSources, ask: Ask, options: LoginOptions) => {
  const { only, username } = options;
  if (username !== undefined && only && only !== "calls")
    throw conflictingOptions("--username", `--for ${only}`, "only calls need a user name");
  if (username !== undefined) credentials.checkUsername(username, { option: "--username" });
  // `settings.get` reads `flags` at each call, so an answer in `flags` counts as an option.
  const flags: WritableFlags = { ...sources.flags };
  const settings = await readSettings({ ...sources, flags, canBeNew: true });
  if (settings.local)
    throw conflictingOptions(`the profile ${localProfile}`, "auth login", "the local service makes its own key");
  const login = new Login(settings, { ...sources, ask, flags }, options);
  await login.readKey();
  return login;
};

export class Login {
  settings: Settings;
  readonly #sources: LoginSources;
  readonly #options: LoginOptions;
  readonly #uses: readonly CredentialUse[];
  readonly #asked = new Set<values.SettingName>();
  #key: string | undefined;

  constructor(settings: Settings, sources: LoginSources, options: LoginOptions) {
    this.settings = settings;
    this.#sources = sources;
    this.#options = options;
    this.#uses = options.only ? [options.only] : credentials.credentialUses;
  }

  async readKey() {
    const { username, withToken, checkTest } = this.#options;
    if (this.findLogins().length === 0) await this.askNextSetting();
    for (const name of otherLoginSettings) this.settings.get(name);
    const known = this.findLogins();
    if (known.length === 0) throw settingMissing([this.#findMissing()[0] ?? "base_url"], this.settings.profile, false);
    const uses = known.map(({ use }) => use);
    await checkTest?.(this.settings, uses);
    const secret = await readKey(this.#sources, known, withToken);
    this.#key = secret;
    this.settings = { ...this.settings, credential: async () => ({ secret, from: "this login", username }) };
  }

  findLogins() {
    return this.#uses.flatMap((use) => {
      const origin = findOrigin(this.settings, use);
      return origin ? [{ use, origin }] : [];
    });
  }

  #findMissing() {
    const { only } = this.#options;
    const unset = this.#uses.filter((use) => !findOrigin(this.settings, use));
    return [
      ...unset.map((use) => (use === "inference" ? "inference_base_url" : "base_url")),
      ...otherLoginSettings.filter((name) => {
        const isNeeded = name === "project" ? this.#uses.includes("calls") : !only;
        return isNeeded && findOrigin(this.settings, "calls") && !this.settings.get(name);
      }),
    ];
  }

  /** Returns false if no setting is missing, or none can be asked for. */
  async askNextSetting(): Promise<boolean> {
    const { host, flags } = this.#sources;
    const names = this.#findMissing();
    const name = host.terminal.stdin ? names.find((each) => !this.#asked.has(each)) : undefined;
    if (!name) return false;
    this.#asked.add(name);
    const isRequired = this.#key === undefined && names.every((each) => this.#asked.has(each));
    flags[name] = await promptForSetting(this.#sources, name, isRequired, this.#key);
    return flags[name] !== undefined || (await this.askNextSetting());
  }

  /** Returns another origin if the login would replace the key of that origin. */
  findReplacedOrigin() {
    const saved = readSaved(this.#sources.host, "credentials").profiles.get(this.settings.profile);
    const replaced = this.findLogins().map(({ use, origin }) => {
      const login = saved?.[use];
      return isObject(login) && login.origin !== origin ? login.origin : undefined;
    });
    return replaced.find((origin) => typeof origin === "string");
  }

  async save() {
    const { host, flags } = this.#sources;
    const { profile } = this.settings;
    const given = [...values.urlSettingNames, ...otherLoginSettings].filter((name) => flags[name] !== undefined);
    const isKnown = profile === defaultProfile || readSaved(host, "settings").profiles.has(profile);
    const added = Object.fromEntries(given.map((name) => [name, flags[name]]));
    if (!isKnown || given.length > 0) await changeSaved(host, "settings", createAddition(profile, added));
    const { username } = this.#options;
    const logins = this.findLogins().map(({ use, origin }) => {
      return [use, { key: this.#key, origin, ...(use === "calls" && username !== undefined && { username }) }];
    });
    return await changeSaved(host, "credentials", createAddition(profile, Object.fromEntries(logins)));
  }
}

/** Messages omit the answer, because the answer may be a key. */
const promptForSetting = async (
  { host, ask }: LoginSources,
  name: values.SettingName,
  isRequired: boolean,
  key: string | undefined,
) => {
  const { about, example, parse } = values.settings[name];
  const form = example ? `, such as ${example}` : "";
  for (let notice = ""; ; ) {
    const lines = await ask(`${notice}${name} (${about}${form}${isRequired ? "" : "; Enter skips"}): `, false);
    const answer = lines?.[0]?.trim();
    if (answer === undefined || (answer === "" && !isRequired)) return undefined;
    const parsed = parse(answer, { windows: host.platform === "win32" });
    if (!isInvalid(parsed) && answer !== key) return answer;
    const why = isInvalid(parsed) ? `expected ${parsed.wanted}` : "this is the key, which was already entered";
    notice = `${why}\n`;
  }
};

const findMistake = (text: string) => {
  if (/^[a-z][a-z+.-]*:\/\//i.test(text)) return "url";
  return /^\s*(?:[$>] |rollcall |export |set |curl |[A-Z][A-Z\d_]*=[^=])/.test(text) ? "command" : undefined;
};

const readKey = async (
  { host, screen, ask }: LoginSources,
  logins: readonly Readonly<{ use: CredentialUse; origin: string }>[],
  withToken: boolean,
) => {
  // At a terminal, `--with-token` also prompts, because a prompt hides the typed key.
  const isTyped = host.terminal.stdin;
  if (isTyped ? !("setRawMode" in host.stdin) : !withToken) throw loginKeyMissing("no-terminal");
  const from = isTyped ? "the terminal" : "standard input";
  const usesOf = (origin: string) => logins.flatMap((login) => (login.origin === origin ? login.use : [])).join(", ");
  const origins = new Set(logins.map(({ origin }) => origin));
  const label = `key for ${Array.from(origins, (origin) => `${origin} (${usesOf(origin)})`).join(", ")}: `;
  const uses = logins.map(({ use }) => use);
  const isPassword = uses.every((use) => use === "calls");
  for (let notice = ""; ; ) {
    // If two lines are pasted, the first line alone would be a wrong key.
    const text = isTyped
      ? ((await ask(`${notice}${label}`, true))?.join("\n") ?? "")
      : (await readUpTo(host.stdin, maxSecretBytes, host))?.toString("utf8");
    if (text === undefined) throw invalidCredential(from, "long");
    const key = credentials.trimSecret(text, isPassword);
    if (key.trim() === "") throw loginKeyMissing("empty");
    const mistake = findMistake(key);
    if (!mistake) {
      screen.hideSecret(key);
      credentials.checkSecret({ text: key, from, where: {} }, uses);
      return key;
    }
    if (!isTyped) throw invalidCredential(from, mistake);
    // The next prompt contains the notice, because text that people type between prompts is visible.
    notice = `this is not a key: ${secretFaults[mistake]}\n`;
  }
};
