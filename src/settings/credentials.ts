/** Finds the credential of a request. */
import { Failure, type FailureLocation } from "../failure.ts";
import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { readUpTo } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { toOptionName } from "../text/sentences.ts";
import { type Credential, type CredentialUse, urlSettingName } from "../wire/contract/endpoint.ts";
import * as failures from "./failures.ts";
import { findUrlSource, type Layers, readValue, resolveSetting, type SettingsSources } from "./layers.ts";
import { maxSecretBytes, readSaved } from "./saved-files.ts";
import { urlSettingNames, useTargets } from "./values.ts";

export const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

export const findSecretVariables = ({ env }: Host, uses = credentialUses) => {
  const variables = new Set<string>(uses.flatMap((use) => useTargets[use].variables));
  return [...variables].flatMap((name) => [name, `${name}_FILE`]).filter((name) => env[name]);
};

type CredentialSource = Readonly<{
  /** `elsewhere` means that the saved credential is for another origin. */
  state: "ready" | "elsewhere" | "missing";
  from?: string;
  profile?: string | undefined;
  username?: string | undefined;
  failure?: Failure;
  secret?: string;
}>;

export type SettingsContext = SettingsSources &
  Readonly<{ layers: Layers; readVariable: ReturnType<typeof openVariables> }>;

type Target = Readonly<{ use: CredentialUse; origin: string }>;

export interface Credentials {
  /** Returns the same credential for the whole run. @throws Failure `auth`, `usage` */
  readonly credential: (use: CredentialUse, origin: string) => Promise<Credential>;
  readonly credentialSource: (use: CredentialUse, origin: string) => Promise<CredentialSource>;
}

export const openCredentials = (context: SettingsContext): Credentials => {
  const resolved = new Map<string, Promise<Credential>>();
  return {
    async credential(use, origin) {
      const id = `${use} ${origin}`;
      const resolving = resolved.get(id) ?? resolveCredential(context, { use, origin });
      resolved.set(id, resolving);
      return await resolving;
    },
    credentialSource: async (use, origin) => await findCredential(context, { use, origin }),
  };
};

const resolveCredential = async (context: SettingsContext, target: Target): Promise<Credential> => {
  const { secret, from = "", profile, username, failure } = await findCredential(context, target);
  if (secret === undefined) throw failure;
  return { secret, from, profile, username };
};

const findCredential = async (context: SettingsContext, target: Target): Promise<CredentialSource> => {
  const { layers } = context;
  const { profile, isProfileNamed } = layers;
  const ofProfile = isProfileNamed ? findInLogin(context, target) : undefined;
  const found = ofProfile ?? (await findInEnvironment(context, target)) ?? findInLogin(context, target);
  if (found) return found;
  const login = adviseLogin(layers, target, true);
  return { state: "missing", failure: failures.credentialMissing({ ...target, profile, login }) };
};

const findInEnvironment = async (context: SettingsContext, { use }: Target): Promise<CredentialSource | undefined> => {
  const username = findUsername(context, use);
  for (const variable of useTargets[use].variables) {
    const found = await context.readVariable(variable);
    if (!found) continue;
    context.screen.hideSecret(found.text);
    checkSecret(found, [use]);
    return { state: "ready", from: found.from, username, secret: found.text };
  }
  return undefined;
};

const findInLogin = (context: SettingsContext, { use, origin }: Target): CredentialSource | undefined => {
  const { layers, host, screen } = context;
  const { profile } = layers;
  const { profiles, where } = readSaved(host, "credentials", screen.warn);
  const saved = profiles.get(profile)?.[use];
  if (saved === undefined) return undefined;
  if (!isObject(saved) || typeof saved.key !== "string" || typeof saved.origin !== "string") {
    const fault = `the entry "${use}" of the profile "${profile}" lacks "key" or "origin"`;
    const hint = `save the key again with \`${failures.loginCommand(profile, use)}\``;
    throw failures.invalidSettingsFile(fault, where(["profiles", profile, use]), hint);
  }
  const { key, origin: boundOrigin } = saved;
  const from = `the login of the profile ${profile}`;
  const username = findUsername(context, use, typeof saved.username === "string" ? saved.username : undefined);
  screen.hideSecret(key);
  checkSecret({ text: key, from, where: { setting: use } }, [use]);
  if (boundOrigin === origin) return { state: "ready", from, profile, username, secret: key };
  const login = adviseLogin(layers, { use, origin }, false);
  const { name } = findUrlSource(layers, urlSettingName(useTargets[use].host));
  const { option, environment } = resolveSetting(layers, name)?.where ?? {};
  const urlFrom = option ?? environment ?? name;
  const failure = failures.credentialWrongOrigin({ use, profile, origin, login }, { boundOrigin, urlFrom });
  return { state: "elsewhere", from, failure };
};

const findUsername = ({ host, layers }: SettingsContext, use: CredentialUse, saved?: string) => {
  if (use !== "calls") return undefined;
  const variable = host.env.ROLLCALL_USERNAME || undefined;
  const [first, second] = layers.isProfileNamed ? [saved, variable] : [variable, saved];
  const name = first ?? second ?? "api";
  return checkUsername(name, name === variable ? { environment: "ROLLCALL_USERNAME" } : {});
};

/** @param isFirst true if no key is saved for the use */
const adviseLogin = (layers: Layers, { use, origin }: Target, isFirst: boolean) => {
  const { profile } = layers;
  const setting = urlSettingName(useTargets[use].host);
  const { name, source } = findUrlSource(layers, setting);
  if (isFirst && source !== "command line") return failures.loginCommand(profile);
  const urls = urlSettingNames.flatMap((each) => resolveSetting(layers, each)?.text ?? []);
  // Without `--for`, the login would save the key for other origins too.
  const only = urls.every((url) => URL.canParse(url) && new URL(url).origin === origin) ? undefined : use;
  if (source === "profile") return failures.loginCommand(profile, only);
  // A login in the same profile would replace the saved key.
  const option = `${toOptionName(name)} ${readValue(layers, setting)}`;
  return failures.loginCommand(isFirst ? profile : "<name>", only, option);
};

/** Refuses colons, which end the name in Basic authentication (interface 5). @throws Failure `setting-invalid` */
export const checkUsername = (name: string, where: FailureLocation) => {
  if (name !== "" && !/[:\p{Cc}]/u.test(name)) return name;
  const wanted = "a name without colons and control characters";
  throw failures.invalidSetting({ setting: "username", value: name, wanted, where });
};

export const findSavedUses = (logins: JsonObject | undefined) =>
  credentialUses.filter((use) => logins?.[use] !== undefined);

type VariableSecret = Readonly<{ text: string; from: string; where: FailureLocation }>;

/** Reads each variable only once, because `…_FILE` may name a pipe. */
export const openVariables = (host: Host) => {
  const secrets = new Map<string, ReturnType<typeof readVariable>>();
  return async (variable: string) => {
    const reading = secrets.get(variable) ?? readVariable(variable, host);
    secrets.set(variable, reading);
    return await reading;
  };
};

const readVariable = async (variable: string, host: Host): Promise<VariableSecret | undefined> => {
  const environment = `${variable}_FILE`;
  const { [variable]: value, [environment]: file } = host.env;
  const both = `${variable} and ${environment} are both set`;
  if (value && file) throw new Failure("usage", "duplicate-credential", both, { hint: "unset one of them" });
  const trim = (text: string) => trimSecret(text, variable === "ROLLCALL_PASSWORD");
  if (value) return { text: trim(value), from: variable, where: { environment: variable } };
  if (!file) return undefined;
  const from = `the file in ${environment}`;
  const where = { environment, file };
  const toFailure = (code: string, cause: unknown) => failures.unreadableCredentialFile(where, code, cause);
  const bytes = await readUpTo(file, maxSecretBytes, host, toFailure);
  if (!bytes) throw failures.invalidCredential(from, "long", where);
  if (/^(?:\xff\xfe|\xfe\xff|(?:[^\0]\0)+$|(?:\0[^\0])+$)/.test(bytes.toString("latin1")))
    throw failures.invalidCredential(`${from} (${file})`, "utf-16", where);
  return { text: trim(bytes.toString("utf8")), from, where };
};

/**
 * Removes a byte order mark, white space and line ends around a key, which no key contains. A password can contain
 * white space, so it loses only the line end that `echo` and editors add.
 */
export const trimSecret = (text: string, isPassword: boolean) =>
  isPassword ? text.replace(/\r?\n$/, "") : text.trim();

/** The message does not contain the secret. @throws Failure `invalid-credential` */
export const checkSecret = ({ text, from, where }: VariableSecret, uses: readonly CredentialUse[]) => {
  const fault = findSecretFault(text, uses);
  if (fault) throw failures.invalidCredential(from, fault, where);
};

/** Matches `<your_api_key>`, `YOUR-TOKEN-HERE`, `sk-...`, a variable that no shell replaced, and so on. */
const placeholder =
  /^(?:<.*>|\{\{.*\}\}|\$\w+|\$\{.*\}|%\w+%|(?:\w{1,8}-)*(?:x{3,}|\.{3})|(?:replace|change)[-_]?me|your[-_]?(?:(?:own|api|secret|access)[-_]?)*(?:key|token)(?:[-_]?here)?)$/i;

/** A key must be visible ASCII. A password can be any text on one line. */
const findSecretFault = (text: string, uses: readonly string[]) => {
  if (text.trim() === "") return "empty";
  if (/[\r\n]/.test(text)) return "line-end";
  if (!uses.includes("log") && !uses.includes("inference")) return undefined;
  if (/^(["'`]).*\1$/.test(text)) return "quoted";
  if (placeholder.test(text)) return "placeholder";
  return /[^\x21-\x7e]/.test(text) ? "characters" : undefined;
};
