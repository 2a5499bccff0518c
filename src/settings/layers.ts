/** Finds the profile of a run, and each setting in it with its source: command line > environment > profile > default. */
import type { FailureLocation, Problem } from "../failure.ts";
import { conflictingOptions } from "../failures.ts";
import type { Host } from "../host.ts";
import { invalidSetting, unknownProfile } from "./failures.ts";
import { type FolderHost, type Members, readSaved, type SavedFile } from "./saved.ts";
import {
  redactSetting,
  type SettingName,
  type SettingValues,
  settings,
  toOptionName,
  toVariableName,
  urlSettingNames,
} from "./values.ts";

/** Options of the command line that are settings or choose them, as typed. */
export type SettingFlags = {
  readonly profile?: string | undefined;
  readonly local?: boolean | undefined;
  /** The data folder and the location of the local service's store, which are not settings. */
  readonly data_dir?: string | undefined;
  readonly store?: string | undefined;
} & { readonly [Name in SettingName]?: string | boolean | undefined };

/** Where a value comes from. */
export type SettingSource = "command line" | "environment" | "profile" | "default";

/** What settings are read from, and who is told about them. */
export interface SettingsSources {
  readonly host: Host;
  readonly flags: SettingFlags;
  /** Told each secret as soon as it is known, so that none is ever printed. */
  readonly hide: (secret: string) => void;
  /** Told in a sentence how settings were chosen. */
  readonly notice: (sentence: string) => void;
  /** Told about files that other users can read. */
  readonly warn: (problem: Problem) => void;
  /** Replace the settings' own defaults. */
  readonly defaults?: { readonly [Name in SettingName]?: string } | undefined;
  /** True if the profile need not exist yet, as for a login. */
  readonly canBeNew?: boolean;
}

/** The profile of the service inside this process, and the one that is used if none is named. */
export const localProfile = "local";
export const defaultProfile = "default";

const builtInProfiles: readonly string[] = [defaultProfile, localProfile];

/** Names are keys of a JSON object and words of a command line. */
const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** @throws Failure `setting-invalid` */
export const checkProfileName = (name: string, where: FailureLocation): string => {
  if (namePattern.test(name)) return name;
  throw invalidSetting({ setting: "profile", value: name, wanted: "a name of letters, digits, -, _ and .", where });
};

/** The built-in profiles, and the saved ones with a valid name. */
export const knownProfiles = (...saved: readonly SavedFile[]): readonly string[] => {
  const names = saved.flatMap(({ profiles }) => [...profiles.keys()]);
  return [...new Set([...builtInProfiles, ...names.filter((name) => namePattern.test(name))])];
};

const emptyFile: SavedFile = { members: {}, profiles: new Map(), where: () => ({}) };

/** The settings file for completion, which never fails: a broken file is empty. */
const readSettingsFile = (host: FolderHost): SavedFile => {
  try {
    return readSaved(host, "settings");
  } catch {
    return emptyFile;
  }
};

/** The profiles that can be named. */
export const readProfileNames = (host: FolderHost): readonly string[] => knownProfiles(readSettingsFile(host));

/** The texts of a setting that are saved in any profile. */
export const readSavedTexts = (host: FolderHost, name: SettingName): readonly string[] => {
  const texts = [...readSettingsFile(host).profiles.values()].map((members) => members[name]);
  return [...new Set(texts.filter((text) => typeof text === "string"))];
};

/**
 * The name of the run's profile, which may not exist: typed, in the environment, saved by `profile use`, or the default.
 * @throws Failure `conflicting-options`, `setting-invalid`
 */
export const findProfileName = ({ local, profile }: SettingFlags, env: Host["env"], saved: SavedFile) => {
  if (local === true && profile !== undefined && profile !== localProfile) {
    const why = `--local is the profile ${localProfile}`;
    throw conflictingOptions({ first: "--local", second: `--profile ${profile}`, why });
  }
  const toProfile = (name: string, where: FailureLocation, isNamed = false) => ({
    profile: checkProfileName(name, where),
    where,
    isNamed,
  });
  if (local === true) return toProfile(localProfile, { option: "--local" }, true);
  if (profile !== undefined) return toProfile(profile, { option: "--profile" }, true);
  if (env.ROLLCALL_PROFILE) return toProfile(env.ROLLCALL_PROFILE, { environment: "ROLLCALL_PROFILE" });
  const used = saved.members.profile;
  return typeof used === "string" ? toProfile(used, saved.where(["profile"])) : toProfile(defaultProfile, {});
};

/** What the settings of a run are resolved from. */
export type Layers = ReturnType<typeof findLayers>;

/** Finds the layers of a run. @throws Failure `conflicting-options`, `unknown-profile`, `setting-invalid` */
export const findLayers = ({
  host,
  flags,
  warn,
  defaults,
  canBeNew: mayBeNew = false,
}: Pick<SettingsSources, "host" | "flags"> & Partial<SettingsSources>) => {
  const file = readSaved(host, "settings", warn);
  const { profile, where, isNamed } = findProfileName(flags, host.env, file);
  const local = profile === localProfile;
  const typed = urlSettingNames.find((name) => flags[name] !== undefined);
  if (local && typed !== undefined) {
    const first = flags.local === true ? "--local" : `the profile ${localProfile}`;
    throw conflictingOptions({ first, second: toOptionName(typed), why: "the local service has its own address" });
  }
  const saved: Members | undefined = file.profiles.get(profile);
  const isNew = saved === undefined && !builtInProfiles.includes(profile);
  if (isNew && !mayBeNew) throw unknownProfile(profile, { known: knownProfiles(file), where });
  return {
    flags,
    env: host.env,
    saved: saved ?? {},
    defaults,
    profile,
    /** True if the command line named the profile: its addresses and credentials then override those of the environment. */
    isNamed,
    local,
    isNew,
    windows: host.platform === "win32",
    where: (name: string): FailureLocation => file.where(["profiles", profile, name]),
  };
};

/** The text of a setting, and where it comes from. */
interface ResolvedSetting {
  readonly text: string;
  readonly source: SettingSource;
  readonly where: () => FailureLocation;
}

/** A saved value as text: people write numbers and booleans too. */
export const toSettingText = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** Resolves a setting; undefined if no layer has it. */
export const resolveSetting = (layers: Layers, name: SettingName): ResolvedSetting | undefined => {
  const { flags, env, saved, defaults, local, isNamed, profile } = layers;
  const { isDeployed, madeOf, fallback } = settings[name];
  const found = (value: unknown, source: SettingSource, where: () => FailureLocation): ResolvedSetting | undefined =>
    value === undefined || value === null || value === ""
      ? undefined
      : { text: toSettingText(value), source, where: () => ({ setting: name, ...where() }) };
  const typed = flags[name];
  if (typed !== undefined) {
    const where = { setting: name, option: toOptionName(name) };
    return { text: String(typed), source: "command line", where: () => where };
  }
  const fromProfile = Object.hasOwn(saved, name) ? found(saved[name], "profile", () => layers.where(name)) : undefined;
  const variable = toVariableName(name);
  const fromEnvironment = found(env[variable], "environment", () => ({ environment: variable }));
  // The service inside this process has its own addresses and its own key, and a named profile comes before the environment.
  const effective = !isDeployed
    ? (fromEnvironment ?? fromProfile)
    : local
      ? undefined
      : isNamed
        ? (fromProfile ?? fromEnvironment)
        : (fromEnvironment ?? fromProfile);
  // A named profile with a main address logs there, not to the log address of the environment.
  const isReplaced = isNamed && name === "log_base_url" && fromProfile === undefined && Boolean(saved.base_url);
  if (effective !== undefined && !isReplaced) return effective;
  const other = madeOf === undefined ? "" : (resolveSetting(layers, madeOf)?.text ?? "");
  const made = typeof fallback === "function" ? fallback({ profile, other }) : fallback;
  const localDefault = local ? settings[name].local : undefined;
  return found(defaults?.[name] ?? localDefault ?? made, "default", () => ({}));
};

/** The value of a setting; undefined if no layer has it. @throws Failure `setting-invalid` */
export const findValue = <Name extends SettingName>(layers: Layers, name: Name): SettingValues[Name] | undefined => {
  const found = resolveSetting(layers, name);
  if (found === undefined) return undefined;
  const { text, source } = found;
  const { madeOf, parse } = settings[name];
  // A default is wrong only if the setting that it is made of is wrong: the failure names that setting.
  if (source === "default" && madeOf !== undefined) findValue(layers, madeOf);
  const parsed = parse(text, layers);
  if (parsed.ok) return parsed.value;
  const profile = source === "profile" ? layers.profile : undefined;
  throw invalidSetting({ ...parsed, setting: name, value: redactSetting(name, text), where: found.where(), profile });
};
