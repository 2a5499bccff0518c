/** Finds a setting on the command line, in the environment, a profile or the defaults, in this order. */
import type { Failure, FailureLocation, Problem } from "../failure.ts";
import type { JsonObject } from "../json/json-bytes.ts";
import { conflictingOptions } from "../system/failures.ts";
import type { Host } from "../system/host.ts";
import { toOptionName } from "../text/sentences.ts";
import { isInvalid } from "../text/units.ts";
import { invalidSetting, unknownProfile } from "./failures.ts";
import { readSaved, type SavedFile } from "./saved-files.ts";
import * as values from "./values.ts";

export type SettingFlags = { local?: boolean | undefined } & {
  readonly [Name in "profile" | "data_dir" | "store"]?: string | undefined;
} & { readonly [Name in values.SettingName]?: string | boolean | undefined };

export type SettingSource = "command line" | "environment" | "profile" | "default";

export type SettingsSources = Readonly<{
  host: Host;
  flags: SettingFlags;
  screen: {
    hideSecret: (secret: string) => void;
    notice: (sentence: string) => void;
    warn: (problem: Problem) => void;
  };
  canBeNew?: boolean;
}>;

export const localProfile = "local";
export const defaultProfile = "default";
const builtInProfiles = [defaultProfile, localProfile];

const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

export const checkProfileName = (name: string, where: FailureLocation) => {
  if (namePattern.test(name)) return name;
  const wanted = "a letter or digit, then up to 63 letters, digits, -, _ or .";
  throw invalidSetting({ setting: "profile", value: name, wanted, where });
};

export const listKnownProfiles = (...files: readonly Pick<SavedFile, "profiles">[]) => {
  const names = files.flatMap(({ profiles }) => [...profiles.keys()]);
  return [...new Set([...builtInProfiles, ...names.filter((name) => namePattern.test(name))])];
};

/** Returns a name even if no profile has it. @throws Failure `conflicting-options`, `setting-invalid` */
export const findProfileName = ({ local, profile }: SettingFlags, env: Host["env"]) => {
  if (local && profile !== undefined && profile !== localProfile)
    throw conflictingOptions("--local", `--profile ${profile}`, `--local selects the profile ${localProfile}`);
  const toProfile = (name: string, where: FailureLocation) => ({ profile: checkProfileName(name, where), where });
  if (local) return toProfile(localProfile, { option: "--local" });
  if (profile !== undefined) return toProfile(profile, { option: "--profile" });
  if (env.ROLLCALL_PROFILE) return toProfile(env.ROLLCALL_PROFILE, { environment: "ROLLCALL_PROFILE" });
  return toProfile(defaultProfile, {});
};

export interface Layers extends Pick<SettingsSources, "flags"> {
  readonly env: Host["env"];
  readonly saved: JsonObject;
  readonly profile: string;
  /** True if an option names the profile. What is saved in the profile then overrides the environment. */
  readonly isProfileNamed: boolean;
  readonly local: boolean;
  readonly isNew: boolean;
  readonly toUnknownFailure: () => Failure;
  /** Returns the location of a saved setting. */
  readonly where: (name: string) => ReturnType<SavedFile["where"]>;
}

export const findLayers = (sources: SettingsSources): Layers => {
  const { host, flags, screen, canBeNew = false } = sources;
  const file = readSaved(host, "settings", screen.warn);
  const { profile, where } = findProfileName(flags, host.env);
  const local = profile === localProfile;
  const urlName = local && values.urlSettingNames.find((name) => flags[name] !== undefined);
  if (urlName) {
    const first = flags.local ? "--local" : `the profile ${localProfile}`;
    throw conflictingOptions(first, toOptionName(urlName), "the local service has its own URL");
  }
  const saved = file.profiles.get(profile);
  // A profile can have credentials but no settings.
  const isSaved = saved !== undefined || builtInProfiles.includes(profile);
  const known = isSaved ? [profile] : listKnownProfiles(file, readSaved(host, "credentials", screen.warn));
  const isNew = !known.includes(profile);
  if (isNew && !canBeNew) throw unknownProfile(profile, { known, where });
  return {
    flags,
    env: host.env,
    saved: saved ?? {},
    profile,
    isProfileNamed: where.option !== undefined,
    local,
    isNew,
    toUnknownFailure: () => unknownProfile(profile, { known, where, hint: "create it with --create" }),
    where: (name) => file.where(["profiles", profile, name]),
  };
};

type ResolvedSetting = Readonly<{ text: string; source: SettingSource; where: FailureLocation }>;

const isSet = (value: unknown) => value !== undefined && value !== null && value !== "";

/** True if the profile decides the setting, whatever the environment says. */
const overridesEnvironment = ({ local, isProfileNamed, saved }: Layers, name: values.SettingName) => {
  const { isOfService, derivedFrom } = values.settings[name];
  // The base URL of a named profile overrides the environment's log URL.
  const isSaved = isSet(saved[name]) || (derivedFrom !== undefined && isSet(saved[derivedFrom]));
  return (isProfileNamed && isSaved) || (local && isOfService === true);
};

export const resolveSetting = (layers: Layers, name: values.SettingName): ResolvedSetting | undefined => {
  const { flags, env, saved, local, profile } = layers;
  const { isOfService, derivedFrom, fallback, localFallback } = values.settings[name];
  const resolve = (value: unknown, source: SettingSource, where: FailureLocation = {}) => {
    if (!isSet(value) && !(value === "" && source === "command line")) return undefined;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return { text, source, where: { setting: name, ...where } };
  };
  const typed = resolve(flags[name], "command line", { option: toOptionName(name) });
  if (typed) return typed;
  const environment = values.toVariableName(name);
  const given = overridesEnvironment(layers, name) ? undefined : env[environment];
  const effective =
    resolve(given, "environment", { environment }) ?? resolve(saved[name], "profile", layers.where(name));
  if (effective && !(isOfService && local)) return effective;
  const { text = "" } = (derivedFrom && resolveSetting(layers, derivedFrom)) ?? {};
  const ownDefault = typeof fallback === "function" ? fallback({ profile, text }) : fallback;
  return resolve((local ? localFallback : undefined) ?? ownDefault, "default");
};

/** Returns the setting with the URL, such as `base_url` for an unset log URL, and its source. */
export const findUrlSource = (layers: Layers, name: values.SettingName) => {
  const { source } = resolveSetting(layers, name) ?? {};
  const { derivedFrom } = values.settings[name];
  if (source !== "default" || !derivedFrom) return { name, source };
  return { name: derivedFrom, source: resolveSetting(layers, derivedFrom)?.source };
};

/** @throws Failure `setting-invalid` */
export const readValue = <Name extends values.SettingName>(layers: Layers, name: Name) => {
  const resolved = resolveSetting(layers, name);
  if (!resolved) return undefined;
  const { text, source, where } = resolved;
  const { derivedFrom, parse } = values.settings[name];
  // If the setting in `derivedFrom` is invalid, the failure must name that setting.
  if (source === "default" && derivedFrom) readValue(layers, derivedFrom);
  const parsed = parse(text);
  if (!isInvalid(parsed)) return parsed;
  const profile = source === "profile" ? layers.profile : undefined;
  throw invalidSetting({ ...parsed, setting: name, value: values.redactSetting(name, text), where, profile });
};
