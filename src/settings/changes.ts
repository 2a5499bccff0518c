/** Shows and changes what is saved: settings, and profiles with their credentials. */
import type { CredentialUse } from "../contract/endpoint.ts";
import type { Failure, FailureLocation, Problem } from "../failure.ts";
import { conflictingOptions } from "../failures.ts";
import { getErrorCode } from "../files.ts";
import type { Host } from "../host.ts";
import { findNearest } from "../nearest.ts";
import { credentialUses, findSavedUses, findSecretVariables, readBounded } from "./credentials.ts";
import {
  invalidImportFile,
  invalidImportSettings,
  invalidSetting,
  profileExists,
  secretAsSetting,
  unknownProfile,
  unknownSetting,
  unreadableImport,
} from "./failures.ts";
import {
  checkProfileName,
  defaultProfile,
  findLayers,
  findProfileName,
  findValue,
  knownProfiles,
  type Layers,
  localProfile,
  resolveSetting,
  type SettingsSources,
  toSettingText,
} from "./layers.ts";
import { readStdin } from "./login.ts";
import { addMembers, changeSaved, type Members, parseDocument, readSaved } from "./saved.ts";
import {
  findSettingName,
  type ParseError,
  redactSetting,
  type SettingName,
  settingNames,
  settings,
  toVariableName,
} from "./values.ts";

type ChangeSources = Pick<SettingsSources, "host" | "flags" | "warn">;

/** A setting as it is shown: its text, its source, the option, variable or file, and the problem of an invalid one. */
export type SettingRow = ReturnType<typeof toSettingRow>;

/** Every setting, and names in the profile that are not settings of this version. @throws Failure `unknown-profile`, `invalid-settings-file`, `inaccessible-file` */
export const listSettings = (sources: ChangeSources) => {
  const layers = findLayers(sources);
  const { profile } = layers;
  return { profile, rows: settingNames.map((name) => toSettingRow(layers, name)), unknown: findUnknownNames(layers) };
};

/** @throws Failure `setting-unknown`, `setting-invalid`, and as `listSettings` */
export const showSetting = (sources: ChangeSources, typed: string) => {
  const name = findSetting(typed);
  const layers = findLayers(sources);
  findValue(layers, name);
  return { row: toSettingRow(layers, name), profile: layers.profile };
};

const toSettingRow = (layers: Layers, name: SettingName) => {
  const found = resolveSetting(layers, name);
  const { text = "", source = null } = found ?? {};
  const where = found?.where() ?? {};
  const parsed = settings[name].parse(text, layers);
  const isValid = found === undefined || parsed.ok;
  const problem: Problem | null = isValid
    ? null
    : { ...toPosition(where), severity: "warning", ...toInvalidValueProblem(name, text, parsed) };
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: found === undefined ? null : redactSetting(name, text), source, from, problem };
};

type SettingProblem = Pick<Problem, "rule" | "message" | "advice">;

const toInvalidValueProblem = (name: SettingName, text: string, { wanted, suggestion }: ParseError): SettingProblem => {
  const correct = `\`rollcall config set ${name} …\`, or correct it where it stands`;
  const advice = suggestion === undefined ? correct : `did you mean ${suggestion}?`;
  return {
    rule: "setting-invalid",
    message: `${name} can't be "${redactSetting(name, text)}": it takes ${wanted}`,
    advice,
  };
};

const toPosition = ({ file, line, column }: FailureLocation): Pick<Problem, "file" | "line" | "column"> => ({
  ...(file === undefined ? {} : { file }),
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});

const findUnknownNames = ({ saved }: Layers): readonly string[] =>
  Object.keys(saved).filter((name) => findSettingName(name) === undefined);

/** Names that people use for a secret, or for what belongs to one. */
const secretNames = ["api_key", "token", "password", "key", "apikey", "secret", "username"];

/** A name in the spelling of an option or a variable, as that of a setting. */
const normalizeName = (typed: string): string =>
  typed
    .toLowerCase()
    .replaceAll("-", "_")
    .replace(/^rollcall_/, "");

const isSecretName = (name: string): boolean => secretNames.includes(normalizeName(name).replace(/_file$/, ""));

const findSetting = (typed: string): SettingName => {
  const name = findSettingName(typed) ?? findSettingName(normalizeName(typed));
  if (name !== undefined) return name;
  if (isSecretName(typed)) throw secretAsSetting(typed);
  throw unknownSetting(typed, findNearest(typed.replaceAll("-", "_"), settingNames));
};

/** A change of settings; `overriding` are variables of the environment that override it. */
export type SettingsChange = Awaited<ReturnType<typeof setSetting>>;

/** Saves one setting. @throws Failure `setting-unknown`, `setting-invalid`, `conflicting-options`, and as `changeSaved` */
export const setSetting = async (
  sources: ChangeSources,
  { name: typed, value: text }: { readonly name: string; readonly value: string },
) => {
  const name = findSetting(typed);
  const layers = findLayers({ ...sources, canBeNew: true });
  if (layers.local && settings[name].isDeployed) {
    const why = "the local service has its own address and its own key";
    throw conflictingOptions({ first: `the profile ${localProfile}`, second: name, why });
  }
  const parsed = settings[name].parse(text, layers);
  if (!parsed.ok) {
    throw invalidSetting({ ...parsed, setting: name, value: redactSetting(name, text), where: { setting: name } });
  }
  return await save(sources.host, layers, { [name]: typeof parsed.value === "boolean" ? parsed.value : text });
};

/** Saves the settings of a file, or with `-` of standard input: all or none. @throws Failure `import-…`, and as `changeSaved` */
export const importSettings = async (sources: ChangeSources, from: string) => {
  const layers = findLayers({ ...sources, canBeNew: true });
  return await save(sources.host, layers, await readImport(sources.host, from, layers));
};

const save = async (host: Host, layers: Layers, added: Members) => {
  const { profile, isNew } = layers;
  const file = await changeSaved(host, "settings", addMembers(profile, added));
  const after = { ...layers, saved: added, flags: {} };
  const overriding = settingNames.filter(
    (name) => Object.hasOwn(added, name) && resolveSetting(after, name)?.source === "environment",
  );
  return { profile, isNew, file, names: Object.keys(added), overriding: overriding.map(toVariableName) };
};

/** Deletes settings, also those of other versions. Nothing is written if none was set. */
export const unsetSettings = async (sources: ChangeSources, typed: readonly string[]) => {
  const { profile, saved } = findLayers(sources);
  const all = typed.map((name) => (Object.hasOwn(saved, name) ? name : findSetting(name)));
  const names = all.filter((name) => Object.hasOwn(saved, name));
  if (names.length > 0) {
    await changeSaved(sources.host, "settings", (profiles) => {
      const kept = Object.entries(profiles.get(profile) ?? {}).filter(([name]) => !names.includes(name));
      profiles.set(profile, Object.fromEntries(kept));
    });
  }
  return { profile, names, absent: all.filter((name) => !names.includes(name)) };
};

/** The settings of a profile as `importSettings` takes them. @throws Failure `setting-invalid`, and as `listSettings` */
export const exportSettings = (sources: ChangeSources) => {
  const layers = findLayers(sources);
  const { profile, saved } = layers;
  const names = settingNames.filter((name) => saved[name] !== undefined && saved[name] !== null);
  for (const name of names) findValue({ ...layers, flags: {}, env: {} }, name);
  return {
    profile,
    settings: Object.fromEntries(names.map((name) => [name, saved[name]])),
    unknown: findUnknownNames(layers),
  };
};

/** No settings are larger; a larger file was named by mistake. */
const maxImportBytes = 1024 * 1024;

const readImport = async (host: Host, from: string, layers: Layers): Promise<Members> => {
  const name = from === "-" ? "(standard input)" : from;
  const bytes = await (from === "-" ? readStdin(host, maxImportBytes) : readBounded(from, maxImportBytes, host)).catch(
    (cause: unknown) => {
      host.signal.throwIfAborted();
      throw unreadableImport(name, getErrorCode(cause), cause);
    },
  );
  if (bytes === undefined) throw unreadableImport(name, "EFBIG");
  const { members, where } = parseDocument(bytes, name, invalidImportFile);
  const problems = Object.entries(members).flatMap(([key, value]): Problem[] => {
    const problem = findImportProblem(key, value, layers);
    return problem === undefined ? [] : [{ ...toPosition(where([key])), path: [key], severity: "error", ...problem }];
  });
  if (problems.length > 0) throw invalidImportSettings(name, problems);
  return members;
};

/** The problem of one member of an import; undefined if it can be saved. It does not show a value that may be secret. */
export const findImportProblem = (
  key: string,
  value: unknown,
  layers: Pick<Layers, "local" | "windows">,
): SettingProblem | undefined => {
  const name = findSettingName(key);
  if (name === undefined && isSecretName(key)) {
    const advice = "take it out of the file, and save it with `rollcall auth login`";
    return { rule: "secret-in-settings", message: `${key} is a secret, not a setting`, advice };
  }
  if (name === undefined) {
    const meant = findNearest(key, settingNames);
    const advice = meant === undefined ? "`rollcall config list` names the settings" : `did you mean ${meant}?`;
    return { rule: "setting-unknown", message: `there is no setting ${key}`, advice };
  }
  if (layers.local && settings[name].isDeployed) {
    const advice = "leave it out, or import into another profile: --profile <name>";
    return { rule: "built-in-setting", message: `the local service has its own ${name}`, advice };
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    const message = `${name} is neither a text nor a number nor true or false`;
    return { rule: "setting-invalid", message, advice: "write it as a text, such as `rollcall config export` does" };
  }
  const text = toSettingText(value);
  const parsed = settings[name].parse(text, layers);
  return parsed.ok ? undefined : toInvalidValueProblem(name, text, parsed);
};

const readSavedFiles = ({ host, warn }: ChangeSources) => {
  const [settings, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const known = knownProfiles(settings, credentials);
  return { settings, credentials, known, usesOf: (name: string) => findSavedUses(credentials.profiles, name) };
};

/** Every profile: `keys` are the uses that a key is saved for. @throws Failure `invalid-settings-file`, `place-…` */
export const listProfiles = (sources: ChangeSources) => {
  const { settings, known, usesOf: keysOf } = readSavedFiles(sources);
  const { profile } = findProfileName(sources.flags, sources.host.env, settings);
  return known.map((name) => {
    const address = settings.profiles.get(name)?.base_url;
    const shown = typeof address === "string" ? redactSetting("base_url", address) : null;
    return { name, in_use: name === profile, base_url: shown, keys: keysOf(name) };
  });
};

/** The failure of a profile that is chosen and does not exist; undefined if it does. */
export const findMissingProfile = (sources: ChangeSources): Failure | undefined => {
  const { settings, known } = readSavedFiles(sources);
  const { profile, where } = findProfileName(sources.flags, sources.host.env, settings);
  return known.includes(profile) ? undefined : unknownProfile(profile, { known, where, way: "--create makes it" });
};

/** The names of a profile's settings, and the uses of its keys. @throws Failure `unknown-profile` */
export const describeProfile = (sources: ChangeSources, profile: string) => {
  const { settings, known, usesOf: keysOf } = readSavedFiles(sources);
  if (!known.includes(profile)) throw unknownProfile(profile, { known, where: {} });
  return { settings: Object.keys(settings.profiles.get(profile) ?? {}), keys: keysOf(profile) };
};

/** Makes a profile the one that is used if none is named. @throws Failure `unknown-profile`, and as `changeSaved` */
export const useProfile = async (sources: ChangeSources, name: string): Promise<void> => {
  describeProfile(sources, name);
  await changeSaved(sources.host, "settings", (_, others) => {
    if (name === defaultProfile) delete others.profile;
    else others.profile = name;
  });
};

/** Deletes the keys and the settings of a profile. @throws Failure `unknown-profile`, and as `changeSaved` */
export const deleteProfile = async (sources: ChangeSources, name: string): Promise<{ readonly wasInUse: boolean }> => {
  const { host } = sources;
  const { keys } = describeProfile(sources, name);
  if (keys.length > 0) await changeSaved(host, "credentials", (profiles) => profiles.delete(name));
  let wasInUse = false;
  await changeSaved(host, "settings", (profiles, others) => {
    profiles.delete(name);
    wasInUse = others.profile === name;
    if (wasInUse) delete others.profile;
  });
  return { wasInUse };
};

/** Deletes the saved credentials of a profile, or of one use. `left` are variables that still give credentials. */
export const logout = async (sources: ChangeSources, { only }: { readonly only: CredentialUse | undefined }) => {
  const { host, warn } = sources;
  const { profiles } = readSaved(host, "credentials", warn);
  const { profile, isNew } = findLayers({ ...sources, canBeNew: true });
  // A profile without settings may still have credentials.
  if (isNew && !profiles.has(profile)) findLayers(sources);
  const removed = findSavedUses(profiles, profile).filter((use) => only === undefined || use === only);
  if (removed.length > 0) {
    await changeSaved(host, "credentials", (saved) => {
      const isKept = ([use]: readonly [string, unknown]) => !removed.some((gone) => gone === use);
      const kept = Object.entries(saved.get(profile) ?? {}).filter(isKept);
      if (kept.length > 0) saved.set(profile, Object.fromEntries(kept));
      else saved.delete(profile);
    });
  }
  return { profile, removed, left: findSecretVariables(host, only === undefined ? credentialUses : [only]) };
};

/**
 * Renames a profile. Its account, by which the ledger knows what was logged, stays.
 * @throws Failure `unknown-profile`, `profile-exists`, `conflicting-options`, `setting-invalid`, and as `changeSaved`
 */
export const renameProfile = async (
  sources: ChangeSources,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<{ readonly account: string }> => {
  const { host } = sources;
  const { keys } = describeProfile(sources, from);
  checkProfileName(to, {});
  if (from === localProfile || to === localProfile) {
    const why = `${localProfile} is the local service's`;
    throw conflictingOptions({ first: "profile rename", second: localProfile, why });
  }
  const { settings, credentials, known } = readSavedFiles(sources);
  const isEmpty = to === defaultProfile && !settings.profiles.has(to) && !credentials.profiles.has(to);
  if (from !== to && known.includes(to) && !isEmpty) throw profileExists(to);
  // Keys first: a run that is killed in between leaves no key without a profile.
  if (keys.length > 0) {
    await changeSaved(host, "credentials", (profiles) => {
      const saved = profiles.get(from) ?? {};
      profiles.delete(from);
      profiles.set(to, saved);
    });
  }
  let account = from;
  await changeSaved(host, "settings", (profiles, others) => {
    const saved = { account: from, ...profiles.get(from) };
    profiles.delete(from);
    profiles.set(to, saved);
    if (others.profile === from) others.profile = to;
    if (typeof saved.account === "string") account = saved.account;
  });
  return { account };
};
