/** Opens settings in a new home folder, and records what they print. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { Failure, type Problem } from "../../src/failure.ts";
import { setSetting } from "../../src/settings/changes.ts";
import type { SettingFlags, SettingsSources } from "../../src/settings/layers.ts";
import { startLogin } from "../../src/settings/login.ts";
import { readSettings, type Settings } from "../../src/settings/read.ts";
import type { Credential, CredentialUse } from "../../src/wire/contract/endpoint.ts";
import { testHost } from "../support/host.ts";

export interface HomeOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: SettingFlags;
  /** The content of the settings file. */
  readonly profiles?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The content of the credentials file. */
  readonly logins?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
}

/** A home with unread settings. */
export interface Home {
  readonly folder: string;
  readonly file: (name: string) => string;
  readonly sources: SettingsSources;
  readonly notices: readonly string[];
  readonly warnings: readonly Problem[];
  readonly hidden: ReadonlySet<string>;
  readonly read: () => Promise<Settings>;
}

/** Makes a home with the files that rollcall saves, of mode 0600 in a folder of mode 0700. The clock is real. */
export const openHome = ({ env = {}, flags = {}, profiles, logins, stdin = "", signal }: HomeOptions = {}): Home => {
  const folder = mkdtempSync(join(tmpdir(), "settings-"));
  const file = (name: string): string => join(folder, name);
  const write = (name: string, value: unknown): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file(name), JSON.stringify(value), { mode: 0o600 });
  };
  if (profiles !== undefined) write("settings.json", { profiles });
  if (logins !== undefined) write("credentials.json", { profiles: logins });
  const notices: string[] = [];
  const warnings: Problem[] = [];
  const hidden = new Set<string>();
  const host = {
    ...testHost({ env: { PATH: process.env.PATH, ROLLCALL_CONFIG_DIR: folder, ...env }, stdin }),
    now: Date.now,
    elapsed: () => performance.now(),
    sleep: sleepFor,
    random: Math.random,
    ...(signal && { signal }),
  };
  const sources: SettingsSources = {
    host,
    flags,
    screen: {
      hideSecret: (secret) => void hidden.add(secret),
      notice: (sentence) => void notices.push(sentence),
      warn: (problem) => void warnings.push(problem),
    },
  };
  return { folder, file, sources, notices, warnings, hidden, read: async () => await readSettings(sources) };
};

/** Waits, and fails with the signal's reason if that comes first. */
export const sleepFor = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await setTimeout(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
};

export const failureOf = async (
  work: () => unknown,
): Promise<Pick<Failure, "kind" | "code" | "message"> & { readonly hint: unknown; readonly where: unknown }> => {
  try {
    await work();
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const { kind, code, message, details: about } = thrown;
    return { kind, code, message, hint: about.hint, where: about.where };
  }
  throw new Error("it did not fail");
};

export const set = async (home: Home, name: string, value: string): ReturnType<typeof setSetting> =>
  await setSetting(home.sources, { name, value });

export const readSaved = (home: Home, name = "settings.json"): unknown =>
  JSON.parse(readFileSync(home.file(name), "utf8"));

/** Starts a login for one use, or for all uses that have a URL. */
export const startTestLogin = async (
  home: Home,
  { only, key = "key-1234" }: { readonly only?: CredentialUse; readonly key?: string } = {},
): ReturnType<typeof startLogin> => {
  const host = { ...home.sources.host, stdin: Readable.from([key]) };
  return await startLogin({ ...home.sources, host }, async () => [key], {
    only,
    username: only === "inference" ? undefined : "anna",
    withToken: true,
  });
};

/** Logs in for all uses that have a URL. */
export const logIn = async (home: Home, key: string): Promise<string> =>
  await (await startTestLogin(home, { key })).save();

/** The origin of the URLs in these tests. */
export const origin = "https://a.example";

export const credentialOf = async (use: CredentialUse, options: HomeOptions, at = origin): Promise<Credential> =>
  await (await openHome(options).read()).credential(use, at);
