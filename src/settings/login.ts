/** Asks a person, and plans and saves a login: takes a key, and asks for what else is missing. */
import { addAbortSignal, Writable } from "node:stream";
import type { CredentialUse } from "../contract/endpoint.ts";
import { conflictingOptions, interrupted } from "../failures.ts";
import type { Host } from "../host.ts";
import {
  checkSecret,
  checkUsername,
  credentialUses,
  findSecretVariables,
  maxSecretBytes,
  toCredential,
  useTargets,
  withoutLineEnd,
} from "./credentials.ts";
import { invalidCredential, loginKeyMissing } from "./failures.ts";
import { defaultProfile, localProfile, type SettingFlags, type SettingsSources } from "./layers.ts";
import { readSettings, type Settings, urlSettingName } from "./read.ts";
import { addMembers, changeSaved, type Members, readSaved } from "./saved.ts";
import { type SettingName, settings as table, urlSettingNames } from "./values.ts";

/** Reads all of standard input; undefined for more than `maxBytes`. */
export const readStdin = async ({ stdin, signal }: Host, maxBytes: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stdin)) {
      const piece: unknown = chunk;
      const bytes = piece instanceof Uint8Array ? Buffer.from(piece) : Buffer.from(String(piece));
      length += bytes.length;
      if (length > maxBytes) return undefined;
      chunks.push(bytes);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
  return Buffer.concat(chunks);
};

/** True if a person can be asked. */
export const canAsk = (host: Host): boolean => host.terminal.stdin;

/** Asks for a line, which the terminal shows; undefined if the person ended the input (Ctrl-D). */
export const askLine = async (host: Host, label: string): Promise<string | undefined> => {
  let lines: readonly string[] | undefined;
  try {
    lines = await readLines(host, label, { isHidden: false });
  } finally {
    // The next output starts on its own line.
    if (lines === undefined) host.stderr.write("\n");
  }
  return lines?.[0]?.trim();
};

/** Asks for a secret, and shows nothing of it; undefined if the person ended the input. @throws Failure `interrupted` */
const askHidden = async (host: Host, label: string): Promise<string | undefined> => {
  if (!("setRawMode" in host.stdin)) throw loginKeyMissing("no-terminal");
  try {
    // Pasted lines stay together: a key of two lines is refused, and not its first line taken.
    return (await readLines(host, label, { isHidden: true }))?.join("\n");
  } finally {
    host.stderr.write("\n");
  }
};

/** Reads a line, and the lines that were pasted with it. */
const readLines = async (
  { stdin, stderr, signal }: Host,
  label: string,
  { isHidden }: { readonly isHidden: boolean },
): Promise<readonly string[] | undefined> => {
  signal.throwIfAborted();
  if (stdin.readableEnded) return undefined;
  const { createInterface } = await import("node:readline");
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The terminal is silent before the label appears, so that it does not show the first key of a fast typist.
  const reader = createInterface({ input: stdin, output, terminal: isHidden, historySize: 0, signal });
  stderr.write(label);
  const lines: string[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      reader.on("line", (line) => {
        lines.push(line);
        setImmediate(resolve);
      });
      reader.on("close", resolve);
      reader.on("SIGINT", () => reject(interrupted({ signal: "SIGINT" })));
    });
    signal.throwIfAborted();
  } finally {
    reader.close();
  }
  const [first, ...others] = lines;
  return first === undefined ? undefined : [first, ...[...others, reader.line].filter((line) => line.trim() !== "")];
};

/** A login that is ready to be saved. */
export type LoginPlan = Awaited<ReturnType<typeof planLogin>>;

/** A person waits: a read that tries a key ends after this time. */
export const keyCheckMaxWait = "5s";

/** The settings besides addresses that commands at the main address need. */
const otherLoginSettings = ["project", "analysis_provider", "router_provider"] as const;

/** The origin that requests of a use go to; undefined if its address is not set. @throws Failure `setting-invalid` */
export const findOrigin = (settings: Settings, use: CredentialUse): string | undefined => {
  const { host } = useTargets[use];
  return settings.get(urlSettingName(host)) === undefined ? undefined : new URL(settings.address(host)).origin;
};

/** A use with an address, and the origin that its key is bound to. */
interface LoginTarget {
  readonly use: CredentialUse;
  readonly origin: string;
}

/**
 * Plans a login for one use, or for all of them. It takes the key as soon as an address is known.
 * @throws Failure `setting-missing` if no use has an address, `setting-invalid`, `conflicting-options`, `login-key-missing`,
 * `invalid-credential`, `interrupted`
 */
export const planLogin = async (
  sources: SettingsSources,
  {
    only,
    username,
    withToken,
  }: { readonly only: CredentialUse | undefined; readonly username?: string | undefined; readonly withToken: boolean },
) => {
  const { host } = sources;
  if (username !== undefined && only !== undefined && only !== "calls") {
    throw conflictingOptions({ first: "--username", second: `--for ${only}`, why: "only call read takes a user name" });
  }
  if (username !== undefined) checkUsername(username, { option: "--username" });
  // Settings are resolved when they are used: an answer counts as an option from then on.
  const flags: { -readonly [Name in keyof SettingFlags]: SettingFlags[Name] } = { ...sources.flags };
  const settings = await readSettings({ ...sources, flags, defaults: { max_wait: keyCheckMaxWait }, canBeNew: true });
  if (settings.local) {
    const why = "the local service makes its own key";
    throw conflictingOptions({ first: `the profile ${localProfile}`, second: "auth login", why });
  }
  const some = only === undefined ? credentialUses : [only];
  const usesWithoutUrl = (): readonly CredentialUse[] => some.filter((use) => findOrigin(settings, use) === undefined);
  const targets = (): readonly LoginTarget[] =>
    some.flatMap((use) => {
      const origin = findOrigin(settings, use);
      return origin === undefined ? [] : [{ use, origin }];
    });
  const missing = (): readonly SettingName[] =>
    usesWithoutUrl().map((use) => (use === "inference" ? "inference_base_url" : "base_url"));
  const unsetSettings = (): readonly SettingName[] => {
    if (findOrigin(settings, "calls") === undefined) return [];
    const isNeeded = (name: SettingName) => (name === "project" ? some.includes("calls") : only === undefined);
    return otherLoginSettings.filter((name) => settings.get(name) === undefined && isNeeded(name));
  };
  const asked = new Set<SettingName>();
  const ask = async (names: readonly SettingName[], key?: string): Promise<void> => {
    for (const name of names) {
      if (asked.has(name) || !canAsk(host) || (key === undefined && targets().length > 0)) continue;
      asked.add(name);
      flags[name] = await promptForSetting(host, name, key);
    }
  };
  await ask(missing());
  for (const name of otherLoginSettings) settings.get(name);
  const known = targets();
  // Fails with the name of the missing setting.
  if (known.length === 0) settings.address(useTargets[only ?? "log"].host);
  const key = await readKey(sources, known, withToken);
  await ask(missing(), key);
  await ask(unsetSettings(), key);
  const credential: Settings["credential"] = async (use) =>
    toCredential(use, { text: key, from: "this login", username });
  const given = [...urlSettingNames, ...otherLoginSettings].filter((name) => flags[name] !== undefined);
  return {
    /** The settings of the run with all answers; each credential is the new key. */
    settings: { ...settings, credential },
    key,
    username,
    targets: targets(),
    /** The uses without an address. */
    without: usesWithoutUrl(),
    /** Addresses, project and providers that were given or asked for, and are saved with the key. */
    given: Object.fromEntries(given.map((name) => [name, flags[name]])),
    /** Settings that commands at these addresses need, and that are not set. */
    lacking: unsetSettings(),
    overriding: findSecretVariables(
      host,
      targets().map(({ use }) => use),
    ),
  };
};

/** Asks until the answer is valid, or empty. It does not repeat the answer, which may be a key. */
const promptForSetting = async (
  host: Host,
  name: SettingName,
  key: string | undefined,
): Promise<string | undefined> => {
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
const readKey = async (
  { host, hide }: SettingsSources,
  targets: readonly LoginTarget[],
  withToken: boolean,
): Promise<string> => {
  // A terminal shows what is typed on standard input, so that even then the key is asked for.
  const isTyped = canAsk(host);
  if (!withToken && !isTyped) throw loginKeyMissing("no-terminal");
  const from = isTyped ? "the terminal" : "standard input";
  const label = `key for ${targets.map(({ use, origin }) => `${use} at ${origin}`).join(", ")}: `;
  const text = isTyped ? await askHidden(host, label) : (await readStdin(host, maxSecretBytes))?.toString("utf8");
  if (text === undefined && !isTyped) throw invalidCredential(from, "long");
  const key = withoutLineEnd(text ?? "");
  if (key.trim() === "") throw loginKeyMissing("empty");
  hide(key);
  const some = targets.map(({ use }) => use);
  checkSecret({ text: key, from, where: {} }, some);
  return key;
};

/** Saves a login, settings first, and returns the path of the credentials. @throws as `changeSaved` */
export const saveLogin = async (host: Host, plan: LoginPlan): Promise<string> => {
  const { given, key, username, targets } = plan;
  const { profile } = plan.settings;
  const isKnown = profile === defaultProfile || readSaved(host, "settings").profiles.has(profile);
  if (!isKnown || Object.keys(given).length > 0) await changeSaved(host, "settings", addMembers(profile, given));
  const logins = targets.map(({ use, origin }): [string, Members] => {
    const named = use === "calls" && username !== undefined ? { username } : {};
    return [use, { key, origin, ...named }];
  });
  return await changeSaved(host, "credentials", addMembers(profile, Object.fromEntries(logins)));
};
