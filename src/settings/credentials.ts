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

const commandVariable = variableOf("credential_command");

/** The variables that are set and give a secret to any of some uses, or name its file. */
export const findSecretVariables = ({ env }: Host, some: readonly CredentialUse[]): readonly string[] => {
  const names = some.flatMap((use) => uses[use].variables).flatMap((variable) => [variable, `${variable}_FILE`]);
  return [...new Set(names)].filter((name) => env[name]);
};

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

/** A source that returns its secret, or fails without one. */
interface Found extends CredentialSource {
  readonly secret: () => string | Promise<string>;
}

/** Opens the credentials of one run. Each is found once. */
export const openCredentials = (sources: SettingsSources, layers: Layers) => {
  const { host, hide, warn } = sources;
  const { profile, isNamed } = layers;
  // A file may be a pipe, which can be read only once.
  const secrets = new Map<SecretVariable, Promise<Secret | undefined>>();
  const usernameOf = (use: CredentialUse, saved?: string): string | undefined => {
    if (use !== "calls") return undefined;
    const typed = host.env.ROLLCALL_USERNAME || undefined;
    const name = (isNamed ? (saved ?? typed) : (typed ?? saved)) ?? "api";
    return checkUsername(name, name === typed ? { environment: "ROLLCALL_USERNAME" } : {});
  };
  const inEnvironment = async (use: CredentialUse): Promise<Found | undefined> => {
    const username = usernameOf(use);
    for (const variable of uses[use].variables) {
      const reading = secrets.get(variable) ?? readSecret(variable, sources);
      const secret = await secrets.set(variable, reading).get(variable);
      if (secret === undefined) continue;
      checkSecret(secret, [use]);
      return { state: "ready", from: secret.from, username, secret: () => secret.text };
    }
    return undefined;
  };
  const inLogin = (use: CredentialUse, origin: string): Found | undefined => {
    const { profiles, where } = readSaved(host, "credentials", warn);
    const login = profiles.get(profile)?.[use];
    if (login === undefined) return undefined;
    if (!isObject(login) || typeof login.key !== "string" || typeof login.origin !== "string") {
      const wrong = `"${use}" of the profile "${profile}" is no saved credential`;
      throw settingsBroken(wrong, where(["profiles", profile, use]));
    }
    const { key, origin: boundTo } = login;
    const from = `login of the profile ${profile}`;
    const username = usernameOf(use, typeof login.username === "string" ? login.username : undefined);
    hide(key);
    checkSecret({ text: key, from, where: { setting: use } }, [use]);
    if (boundTo === origin) return { state: "ready", from, username, secret: () => key };
    const failure = credentialElsewhere({ use, origin, profile }, boundTo);
    return { state: "elsewhere", from, boundTo, secret: () => Promise.reject(failure) };
  };
  const inCommand = (use: CredentialUse, origin: string): Found | undefined => {
    const line = findValue(layers, "credential_command");
    if (line === undefined) return undefined;
    const isOwn = resolveSetting(layers, "credential_command")?.source !== "environment";
    return {
      state: "command",
      from: isOwn ? `credential_command of the profile ${profile}` : commandVariable,
      username: usernameOf(use),
      secret: () => runCredentialCommand(line, { host, hide, use, origin }),
    };
  };
  const find = async (use: CredentialUse, origin: string): Promise<Found> => {
    if (isNamed) {
      // A profile that the command line names comes first with its own credential or command.
      const hasCommand = resolveSetting(layers, "credential_command")?.source === "profile";
      const own = inLogin(use, origin) ?? (hasCommand ? inCommand(use, origin) : undefined);
      const variables = [...findSecretVariables(host, [use]), ...(host.env[commandVariable] ? [commandVariable] : [])];
      if (own !== undefined && variables.length > 0) {
        sources.notice(`not used: ${variables.join(", ")}; the profile ${profile} has its own credential for ${use}`);
      }
      if (own !== undefined) return own;
    }
    const found = (await inEnvironment(use)) ?? inLogin(use, origin) ?? inCommand(use, origin);
    const missing = () => Promise.reject(credentialMissing({ use, origin, profile }));
    return found ?? { state: "missing", secret: missing };
  };
  const give = async (use: CredentialUse, origin: string): Promise<Credential> => {
    const { secret, from = "", username } = await find(use, origin);
    return toCredential(use, { text: await secret(), from, username });
  };
  const given = new Map<string, Promise<Credential>>();
  const ranAgain = new Set<string>();
  return {
    /**
     * The credential for a use at an origin; `refused` runs a `credential_command` once more.
     * @throws Failure `auth` if there is none, or if the saved one belongs to another origin; `usage` if it is unusable
     */
    async credential(
      use: CredentialUse,
      { origin, refused }: { readonly origin: string; readonly refused: boolean },
    ): Promise<Credential> {
      const id = `${use} ${origin}`;
      const isAgain = refused && !ranAgain.has(id) && (await find(use, origin)).state === "command";
      const credential = (isAgain ? undefined : given.get(id)) ?? give(use, origin);
      if (isAgain) ranAgain.add(id);
      given.set(id, credential);
      return await credential;
    },
    /** The source of what `credential` would return. Runs no command. @throws Failure `usage` */
    async credentialSource(use: CredentialUse, origin: string): Promise<CredentialSource> {
      const { secret: _, ...source } = await find(use, origin);
      return source;
    },
  };
};

/** Makes a secret the credential of a use (interface 5). */
export const toCredential = (
  use: CredentialUse,
  { text, from, username = "api" }: Pick<Secret, "text" | "from"> & { readonly username?: string | undefined },
): Credential =>
  use === "calls" ? { scheme: "basic", username, password: text, from } : { scheme: "bearer", token: text, from };

/** Checks a user name: at its first colon, Basic would end it (interface 5). @throws Failure `setting-wrong` */
export const checkUsername = (name: string, where: Where): string => {
  if (name !== "" && !/[:\p{Cc}]/u.test(name)) return name;
  const wanted = "a name without a colon and control characters";
  throw settingWrong({ setting: "username", value: name, wanted, where });
};

/** The uses that a profile has a saved credential for. */
export const usesSaved = (profiles: ReadonlyMap<string, Members>, profile: string): readonly CredentialUse[] =>
  credentialUses.filter((use) => profiles.get(profile)?.[use] !== undefined);
