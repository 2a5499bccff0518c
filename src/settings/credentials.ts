/** Which credential goes with a request: from the environment, saved at login, or from a command, in this order. */

import type { Credential, CredentialUse } from "../contract/endpoint.ts";
import type { Problem, Where } from "../failure.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json/walk.ts";
import { credentialElsewhere, credentialMissing, settingsBroken, settingWrong } from "./failures.ts";
import { type Machine, type Members, readSaved } from "./files.ts";
import { findText, findValue, type Layers } from "./resolve.ts";
import { checkSecret, type Hide, readSecret, type Secret, type SecretVariable } from "./secrets.ts";
import type { CredentialSource, Settings } from "./settings.ts";
import { variableOf } from "./values.ts";

/** The user name of call reads where nobody said one. */
export const defaultUsername = "api";

interface Sources {
  readonly host: Host;
  readonly layers: Layers;
  readonly hide: Hide;
  readonly notice: (sentence: string) => void;
  readonly warn: (problem: Problem) => void;
  /** The secret in a variable or its file. A file is read once: it may be a pipe. */
  readonly secretIn: (variable: SecretVariable) => Promise<Secret | undefined>;
}

/** Where the credential of a use is, before any command is run. */
type Finding =
  | { readonly kind: "ready"; readonly secret: Secret; readonly username: string }
  | { readonly kind: "command"; readonly line: string; readonly from: string; readonly username: string }
  | { readonly kind: "elsewhere"; readonly login: Login; readonly from: string }
  | { readonly kind: "missing" };

/** Opens the credentials of one run. Each is found once; a command runs once for a use and an origin, and once more when refused. */
export const openCredentials = (
  given: Omit<Sources, "secretIn">,
): Pick<Settings, "credential" | "credentialSource"> => {
  const sources = { ...given, secretIn: secretsOf(given) };
  const credentials = new Map<string, Promise<Credential>>();
  const rerun = new Set<string>();
  return {
    async credential(use, { origin, refused }) {
      const name = `${use} ${origin}`;
      const before = credentials.get(name);
      const again = refused && !rerun.has(name) && (await find(sources, { use, origin })).kind === "command";
      if (before !== undefined && !again) return await before;
      if (again) rerun.add(name);
      const credential = give(sources, { use, origin });
      credentials.set(name, credential);
      return await credential;
    },
    async credentialSource(use, origin) {
      return sourceOf(await find(sources, { use, origin }), use);
    },
  };
};

const secretsOf = ({ host, hide }: Omit<Sources, "secretIn">): Sources["secretIn"] => {
  const secrets = new Map<SecretVariable, Promise<Secret | undefined>>();
  return (variable) => {
    const secret = secrets.get(variable) ?? readSecret(variable, { host, hide });
    secrets.set(variable, secret);
    return secret;
  };
};

interface Target {
  readonly use: CredentialUse;
  readonly origin: string;
}

const give = async (sources: Sources, { use, origin }: Target): Promise<Credential> => {
  const { host, hide, layers } = sources;
  const found = await find(sources, { use, origin });
  if (found.kind === "missing") throw credentialMissing({ use, origin, profile: layers.profile });
  if (found.kind === "elsewhere") {
    throw credentialElsewhere({ use, origin, boundTo: found.login.origin, profile: layers.profile });
  }
  if (found.kind === "ready") return credentialOf(use, found.secret, found.username);
  const { username } = found;
  const { runCredentialCommand } = await import("./credential-command.ts");
  const text = await runCredentialCommand(found.line, {
    host,
    use,
    origin,
    hide,
  });
  return credentialOf(use, { text, from: found.from }, username);
};

/** Makes a secret the credential of a use (interface 5). */
export const credentialOf = (
  use: CredentialUse,
  { text, from }: Pick<Secret, "text" | "from">,
  username: string,
): Credential =>
  use === "calls" ? { scheme: "basic", username, password: text, from } : { scheme: "bearer", token: text, from };

const sourceOf = (found: Finding, use: CredentialUse): CredentialSource => {
  const username = found.kind === "ready" || found.kind === "command" ? found.username : undefined;
  return {
    state: found.kind,
    from: found.kind === "ready" ? found.secret.from : found.kind === "missing" ? undefined : found.from,
    username: use === "calls" ? username : undefined,
    boundTo: found.kind === "elsewhere" ? found.login.origin : undefined,
  };
};

const find = async (sources: Sources, target: Target): Promise<Finding> => {
  const { layers } = sources;
  const saved = (): Finding | undefined => fromLogin(sources, target);
  const environment = (): Promise<Finding | undefined> => fromEnvironment(sources, target.use);
  const command = (): Finding | undefined => fromCommand(layers, target.use);
  if (!layers.named) return (await environment()) ?? saved() ?? command() ?? { kind: "missing" };
  // A profile named on the command line brings its own credentials: saved ones, or its own command.
  const own = saved() ?? (findText(layers, "credential_command")?.source === "profile" ? command() : undefined);
  if (own === undefined) return (await environment()) ?? command() ?? { kind: "missing" };
  noticeUnused(sources, target.use);
  return own;
};

const fromLogin = ({ host, layers, hide, warn }: Sources, { use, origin }: Target): Finding | undefined => {
  const login = readLogin(host, { profile: layers.profile, use, warn });
  if (login === undefined) return undefined;
  const from = `login of the profile ${layers.profile}`;
  const username = usernameOf(layers, use, login.username);
  hide(login.key);
  const secret = checkSecret({ text: login.key, from, where: { setting: use } }, [use]);
  if (login.origin !== origin) return { kind: "elsewhere", login, from };
  return { kind: "ready", secret, username };
};

/** The variables of a use's own secret; where there is none, the API key serves. */
const variables: Readonly<Record<CredentialUse, readonly SecretVariable[]>> = {
  log: ["ROLLCALL_TOKEN", "ROLLCALL_API_KEY"],
  inference: ["ROLLCALL_API_KEY"],
  calls: ["ROLLCALL_PASSWORD", "ROLLCALL_API_KEY"],
};

const fromEnvironment = async (
  { secretIn, layers, hide }: Sources,
  use: CredentialUse,
): Promise<Finding | undefined> => {
  const username = usernameOf(layers, use, undefined);
  for (const variable of variables[use]) {
    const secret = await secretIn(variable);
    if (secret === undefined) continue;
    hide(secret.text);
    return { kind: "ready", secret: checkSecret(secret, [use]), username };
  }
  return undefined;
};

const fromCommand = (layers: Layers, use: CredentialUse): Finding | undefined => {
  const line = findValue(layers, "credential_command");
  if (line === undefined) return undefined;
  const from =
    findText(layers, "credential_command")?.source === "environment"
      ? variableOf("credential_command")
      : `credential_command of the profile ${layers.profile}`;
  return { kind: "command", line, from, username: usernameOf(layers, use, undefined) };
};

/** The environment's user name goes before a saved one, but for a profile that was named on the command line. */
const usernameOf = ({ env, named }: Layers, use: CredentialUse, saved: string | undefined): string => {
  if (use !== "calls") return defaultUsername;
  const fromEnv = env.ROLLCALL_USERNAME || undefined;
  const name = (named ? (saved ?? fromEnv) : (fromEnv ?? saved)) ?? defaultUsername;
  return checkUsername(name, name === fromEnv ? { environment: "ROLLCALL_USERNAME" } : {});
};

/** A user name that Basic can carry (interface 5): its first colon would end it. @throws Failure `setting-wrong` */
export const checkUsername = (name: string, where: Where): string => {
  if (name !== "" && !/[:\p{Cc}]/u.test(name)) return name;
  const wanted = "a name without a colon and control characters";
  throw settingWrong({ setting: "username", value: name, wanted, where });
};

const variablesSet = (env: Layers["env"], use: CredentialUse): readonly string[] =>
  [...variables[use].flatMap((name) => [name, `${name}_FILE`]), variableOf("credential_command")].filter(
    (name) => env[name],
  );

const noticeUnused = ({ layers, notice }: Sources, use: CredentialUse): void => {
  const unused = variablesSet(layers.env, use);
  if (unused.length === 0) return;
  notice(`not used: ${unused.join(", ")}; the profile ${layers.profile} has its own credential for ${use}`);
};

interface Login {
  readonly key: string;
  /** Scheme, host and port of the address that its use had at login: it goes nowhere else. */
  readonly origin: string;
  /** The user name of call reads; undefined for the usual one. */
  readonly username: string | undefined;
}

/** What credentials are for (interface 5), in the order that they are shown in. */
export const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

/** The saved credential of a use; undefined where there is none. @throws Failure `settings-broken`, `place-unusable` */
const readLogin = (
  host: Machine,
  about: { readonly profile: string; readonly use: CredentialUse; readonly warn?: (problem: Problem) => void },
): Login | undefined => {
  const { profiles, where } = readSaved(host, "credentials", about.warn);
  const saved = profiles.get(about.profile)?.[about.use];
  if (saved === undefined) return undefined;
  const login = loginOf(saved);
  if (login !== undefined) return login;
  throw settingsBroken({
    wrong: `"${about.use}" of the profile "${about.profile}" is no saved credential`,
    where: where(["profiles", about.profile, about.use]),
  });
};

const loginOf = (saved: unknown): Login | undefined => {
  if (!isObject(saved) || typeof saved.key !== "string" || typeof saved.origin !== "string") return undefined;
  return {
    key: saved.key,
    origin: saved.origin,
    username: typeof saved.username === "string" ? saved.username : undefined,
  };
};

/** The uses that something is saved for in a profile. */
export const usesSaved = (profiles: ReadonlyMap<string, Members>, profile: string): readonly CredentialUse[] =>
  credentialUses.filter((use) => profiles.get(profile)?.[use] !== undefined);

/** A saved credential as the file has it. */
export const savedLogin = ({ key, origin, username }: Login): Members => ({
  key,
  origin,
  ...(username === undefined ? {} : { username }),
});

/** The variables that give any of the uses its credential before a saved one is looked at. */
export const secretsSet = ({ env }: Host, uses: readonly CredentialUse[]): readonly string[] =>
  [...new Set(uses.flatMap((use) => variablesSet(env, use)))].filter(
    (name) => name !== variableOf("credential_command"),
  );
