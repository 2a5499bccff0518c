/** The credential of a request: from the environment, saved by a login, or from a command, in this order. */
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { Where } from "../failure.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json/walk.ts";
import { credentialElsewhere, credentialMissing, settingsBroken, settingWrong } from "./failures.ts";
import { findValue, type Layers, resolveSetting, type SettingsSources } from "./layers.ts";
import { type Members, readSaved } from "./saved.ts";
import { checkSecret, readSecret, runCredentialCommand, type Secret, type SecretVariable } from "./secrets.ts";
import { variableOf } from "./values.ts";

/** For each use (interface 5): the host that it goes to, and the variables of its secret, the first that is set. */
export const uses: Readonly<
  Record<CredentialUse, { readonly host: EndpointHost; readonly variables: readonly SecretVariable[] }>
> = {
  log: { host: "log", variables: ["ROLLCALL_TOKEN", "ROLLCALL_API_KEY"] },
  inference: { host: "inference", variables: ["ROLLCALL_API_KEY"] },
  calls: { host: "base", variables: ["ROLLCALL_PASSWORD", "ROLLCALL_API_KEY"] },
};

/** The uses, in the order in which they are shown. */
export const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

/** The user name of call reads by default. */
export const defaultUsername = "api";

const withFiles = (secrets: readonly SecretVariable[]): readonly string[] =>
  secrets.flatMap((variable) => [variable, `${variable}_FILE`]);

/** All variables that can give a credential: secrets, their files, and the command. */
export const credentialVariables = (secrets: readonly SecretVariable[]): readonly string[] => [
  ...withFiles(secrets),
  variableOf("credential_command"),
];

/** The variables that are set and override a saved credential of some uses. */
export const findOverriding = ({ env }: Host, some: readonly CredentialUse[]): readonly string[] =>
  [...new Set(some.flatMap((use) => withFiles(uses[use].variables)))].filter((name) => env[name]);

/** The source of a credential, without its content. */
export interface CredentialSource {
  /** `command`: a command would run. `elsewhere`: the saved one belongs to another origin. */
  readonly state: "ready" | "command" | "elsewhere" | "missing";
  readonly from?: string;
  /** The user name of call reads. */
  readonly username?: string | undefined;
  /** The origin of a saved one. */
  readonly boundTo?: string;
}

/** A source that can be asked for its secret. */
interface Found extends CredentialSource {
  readonly secret: () => Promise<string>;
}

interface Target {
  readonly use: CredentialUse;
  readonly origin: string;
}

/** Opens the credentials of one run. Each is found once. */
export const openCredentials = (sources: SettingsSources, layers: Layers) => {
  const { host, hide } = sources;
  // A file may be a pipe, which can be read only once.
  const secrets = new Map<SecretVariable, Promise<Secret | undefined>>();
  const secretIn = (variable: SecretVariable): Promise<Secret | undefined> => {
    const secret = secrets.get(variable) ?? readSecret(variable, sources);
    secrets.set(variable, secret);
    return secret;
  };
  const usernameOf = (use: CredentialUse, saved?: string): string | undefined => {
    if (use !== "calls") return undefined;
    const inEnv = host.env.ROLLCALL_USERNAME || undefined;
    const name = (layers.isNamed ? (saved ?? inEnv) : (inEnv ?? saved)) ?? defaultUsername;
    return checkUsername(name, name === inEnv ? { environment: "ROLLCALL_USERNAME" } : {});
  };
  const inEnvironment = async ({ use }: Target): Promise<Found | undefined> => {
    const username = usernameOf(use);
    for (const variable of uses[use].variables) {
      const secret = await secretIn(variable);
      if (secret === undefined) continue;
      checkSecret(secret, [use]);
      return { state: "ready", from: secret.from, username, secret: async () => secret.text };
    }
    return undefined;
  };
  const inLogin = ({ use, origin }: Target): Found | undefined => {
    const { profile } = layers;
    const login = readLogin(sources, { profile, use });
    if (login === undefined) return undefined;
    const { key, origin: boundTo } = login;
    const from = `login of the profile ${profile}`;
    const username = usernameOf(use, login.username);
    hide(key);
    checkSecret({ text: key, from, where: { setting: use } }, [use]);
    if (boundTo === origin) return { state: "ready", from, username, secret: async () => key };
    const failure = credentialElsewhere({ use, origin, boundTo, profile });
    return { state: "elsewhere", from, boundTo, secret: async () => await Promise.reject(failure) };
  };
  const inCommand = ({ use, origin }: Target): Found | undefined => {
    const line = findValue(layers, "credential_command");
    if (line === undefined) return undefined;
    const isOwn = resolveSetting(layers, "credential_command")?.source !== "environment";
    return {
      state: "command",
      from: isOwn ? `credential_command of the profile ${layers.profile}` : variableOf("credential_command"),
      username: usernameOf(use),
      secret: async () => await runCredentialCommand(line, { host, hide, use, origin }),
    };
  };
  const find = async (target: Target): Promise<Found> => {
    const { use, origin } = target;
    const { profile, isNamed } = layers;
    const missing = async () => await Promise.reject(credentialMissing({ use, origin, profile }));
    // A profile that the command line names comes first with its own credential or command.
    const hasCommand = () => resolveSetting(layers, "credential_command")?.source === "profile";
    const own = isNamed ? (inLogin(target) ?? (hasCommand() ? inCommand(target) : undefined)) : undefined;
    if (own === undefined) {
      const found = (await inEnvironment(target)) ?? (isNamed ? undefined : inLogin(target)) ?? inCommand(target);
      return found ?? { state: "missing", secret: missing };
    }
    const unused = credentialVariables(uses[use].variables).filter((name) => host.env[name]);
    if (unused.length > 0) {
      sources.notice(`not used: ${unused.join(", ")}; the profile ${profile} has its own credential for ${use}`);
    }
    return own;
  };
  const give = async (target: Target): Promise<Credential> => {
    const { secret, from = "", username } = await find(target);
    return toCredential(target.use, { text: await secret(), from }, username);
  };
  const given = new Map<string, Promise<Credential>>();
  const ranAgain = new Set<string>();
  return {
    async credential(use: CredentialUse, { origin, refused }: { readonly origin: string; readonly refused: boolean }) {
      const target = { use, origin };
      const id = `${use} ${origin}`;
      const before = given.get(id);
      const isAgain = refused && !ranAgain.has(id) && (await find(target)).state === "command";
      if (before !== undefined && !isAgain) return await before;
      if (isAgain) ranAgain.add(id);
      const credential = give(target);
      given.set(id, credential);
      return await credential;
    },
    async credentialSource(use: CredentialUse, origin: string): Promise<CredentialSource> {
      const { secret: _, ...source } = await find({ use, origin });
      return source;
    },
  };
};

/** Makes a secret the credential of a use (interface 5). */
export const toCredential = (
  use: CredentialUse,
  { text, from }: Pick<Secret, "text" | "from">,
  username: string = defaultUsername,
): Credential =>
  use === "calls" ? { scheme: "basic", username, password: text, from } : { scheme: "bearer", token: text, from };

/** Checks a user name: at its first colon, Basic would end it (interface 5). @throws Failure `setting-wrong` */
export const checkUsername = (name: string, where: Where): string => {
  if (name !== "" && !/[:\p{Cc}]/u.test(name)) return name;
  const wanted = "a name without a colon and control characters";
  throw settingWrong({ setting: "username", value: name, wanted, where });
};

/** A saved credential: the origin is that of its use's address at login, and the key goes nowhere else. */
interface Login {
  readonly key: string;
  readonly origin: string;
  readonly username: string | undefined;
}

/** @throws Failure `settings-broken`, `place-unusable` */
const readLogin = (
  { host, warn }: SettingsSources,
  { profile, use }: { readonly profile: string; readonly use: CredentialUse },
): Login | undefined => {
  const { profiles, where } = readSaved(host, "credentials", warn);
  const saved = profiles.get(profile)?.[use];
  if (saved === undefined) return undefined;
  if (isObject(saved) && typeof saved.key === "string" && typeof saved.origin === "string") {
    const { key, origin, username } = saved;
    return { key, origin, username: typeof username === "string" ? username : undefined };
  }
  const wrong = `"${use}" of the profile "${profile}" is no saved credential`;
  throw settingsBroken({ wrong, where: where(["profiles", profile, use]) });
};

/** The uses that a profile has a saved credential for. */
export const usesSaved = (profiles: ReadonlyMap<string, Members>, profile: string): readonly CredentialUse[] =>
  credentialUses.filter((use) => profiles.get(profile)?.[use] !== undefined);
