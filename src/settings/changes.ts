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

/** A setting as it is shown. `from` is its option, variable or file; `problem` is null if its value is valid. */
export type SettingRow = ReturnType<typeof toSettingRow>;

/** Returns every setting, and unknown names in the profile. @throws Failure `unknown-profile`, and as `readSaved` */
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
  if (found === undefined) return { name, value: null, source: null, from: null, problem: null };
  const { text, source } = found;
  const where = found.where();
  const parsed = settings[name].parse(text, layers);
  const problem: Problem | null = parsed.ok
    ? null
    : { ...toPosition(where), severity: "warning", ...toInvalidValueProblem(name, text, parsed) };
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: redactSetting(name, text), source, from, problem };
};

type SettingProblem = Pick<Problem, "rule" | "message" | "advice">;

const toInvalidValueProblem = (
  name: SettingName,
  text: string,
  { wanted, suggestion }: ParseError,
): SettingProblem => ({
  rule: "setting-invalid",
  message: `invalid ${name} "${redactSetting(name, text)}": expected ${wanted}`,
  advice:
    suggestion === undefined
      ? `correct the value, or run \`rollcall config set ${name} …\``
      : `did you mean ${suggestion}?`,
});

const toPosition = ({ file, line, column }: FailureLocation): Pick<Problem, "file" | "line" | "column"> => ({
  ...(file === undefined ? {} : { file }),
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});

const findUnknownNames = ({ saved }: Layers): readonly string[] =>
  Object.keys(saved).filter((name) => findSettingName(name) === undefined);

/** Names that people use for secrets and user names. */
const secretNames = ["api_key", "token", "password", "key", "apikey", "secret", "username"];

/** Converts the name of an option or a variable to that of a setting. */
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

/** A change of settings. `overriding` are environment variables that override it. */
export type SettingsChange = Awaited<ReturnType<typeof setSetting>>;

/** Saves one setting. @throws Failure `setting-unknown`, `setting-invalid`, `conflicting-options`, and as `changeSaved` */
export const setSetting = async (
  sources: ChangeSources,
  { name: typed, value: text }: { readonly name: string; readonly value: string },
) => {
  const name = findSetting(typed);
  const layers = findLayers({ ...sources, canBeNew: true });
  if (layers.local && settings[name].isOfService) {
    const why = "the local service has its own URL and its own key";
    throw conflictingOptions({ first: `the profile ${localProfile}`, second: name, why });
  }
  const parsed = settings[name].parse(text, layers);
  if (!parsed.ok) {
    throw invalidSetting({ ...parsed, setting: name, value: redactSetting(name, text), where: { setting: name } });
  }
  return await save(sources.host, layers, { [name]: typeof parsed.value === "boolean" ? parsed.value : text });
};

/** Saves the settings of a file, or with `-` of standard input, or none. @throws Failure `…-import…`, and as `changeSaved` */
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

/** Returns the entries without some keys. */
const omit = (members: Members = {}, keys: readonly string[]): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !keys.includes(name)));

/** Deletes settings, also those of other versions. */
export const unsetSettings = async (sources: ChangeSources, typed: readonly string[]) => {
  const { profile, saved } = findLayers(sources);
  const all = typed.map((name) => (Object.hasOwn(saved, name) ? name : findSetting(name)));
  const names = all.filter((name) => Object.hasOwn(saved, name));
  if (names.length > 0) {
    await changeSaved(sources.host, "settings", (profiles) =>
      profiles.set(profile, omit(profiles.get(profile), names)),
    );
  }
  return { profile, names, absent: all.filter((name) => !names.includes(name)) };
};

/** Returns the settings of a profile in the form of `importSettings`. @throws Failure `setting-invalid`, and as `listSettings` */
export const exportSettings = (sources: ChangeSources) => {
  const layers = findLayers(sources);
  const { profile, saved } = layers;
  const names = settingNames.filter((name) => saved[name] !== undefined && saved[name] !== null);
  for (const name of names) findValue({ ...layers, flags: {}, env: {} }, name);
  const exported = Object.fromEntries(names.map((name) => [name, saved[name]]));
  return { profile, settings: exported, unknown: findUnknownNames(layers) };
};

/** A larger file does not contain settings. */
const maxImportBytes = 1024 * 1024;

const readImport = async (host: Host, from: string, layers: Layers): Promise<Members> => {
  const name = from === "-" ? "(standard input)" : from;
  const reading = from === "-" ? readStdin(host, maxImportBytes) : readBounded(from, maxImportBytes, host);
  const bytes = await reading.catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw unreadableImport(name, getErrorCode(cause), cause);
  });
  if (bytes === undefined) throw unreadableImport(name, "EFBIG");
  const { members, where } = parseDocument(bytes, name, invalidImportFile);
  const problems = Object.entries(members).flatMap(([key, value]): Problem[] => {
    const problem = findImportProblem(key, value, layers);
    return problem === undefined ? [] : [{ ...toPosition(where([key])), path: [key], severity: "error", ...problem }];
  });
  if (problems.length > 0) throw invalidImportSettings(name, problems);
  return members;
};

/** Finds the problem of one member of an import. It does not show a value that may be secret. */
export const findImportProblem = (
  key: string,
  value: unknown,
  layers: Pick<Layers, "local" | "windows">,
): SettingProblem | undefined => {
  const name = findSettingName(key);
  if (name === undefined && isSecretName(key)) {
    const advice = "remove it from the file, and save it with `rollcall auth login`";
    return { rule: "secret-in-settings", message: `${key} is a secret, not a setting`, advice };
  }
  if (name === undefined) {
    const meant = findNearest(key, settingNames);
    const advice = meant === undefined ? "list the settings with `rollcall config list`" : `did you mean ${meant}?`;
    return { rule: "setting-unknown", message: `unknown setting ${key}`, advice };
  }
  if (layers.local && settings[name].isOfService) {
    const advice = "remove it, or import into another profile with --profile <name>";
    return { rule: "built-in-setting", message: `the local service has its own ${name}`, advice };
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    const message = `${name} is not a string, a number, true or false`;
    return { rule: "setting-invalid", message, advice: "write it as a string, as `rollcall config export` does" };
  }
  const text = toSettingText(value);
  const parsed = settings[name].parse(text, layers);
  return parsed.ok ? undefined : toInvalidValueProblem(name, text, parsed);
};

const readSavedFiles = ({ host, warn }: ChangeSources) => {
  const [settings, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  return { settings, credentials, known: knownProfiles(settings, credentials) };
};

/** Returns every profile. `keys` are the uses of its saved keys. @throws as `readSaved` */
export const listProfiles = (sources: ChangeSources) => {
  const { settings, credentials, known } = readSavedFiles(sources);
  const { profile } = findProfileName(sources.flags, sources.host.env, settings);
  return known.map((name) => {
    const url = settings.profiles.get(name)?.base_url;
    const shown = typeof url === "string" ? redactSetting("base_url", url) : null;
    return { name, in_use: name === profile, base_url: shown, keys: findSavedUses(credentials.profiles, name) };
  });
};

/** Returns the failure for a selected profile that does not exist. */
export const findMissingProfile = (sources: ChangeSources): Failure | undefined => {
  const { settings, known } = readSavedFiles(sources);
  const { profile, where } = findProfileName(sources.flags, sources.host.env, settings);
  return known.includes(profile) ? undefined : unknownProfile(profile, { known, where, create: "--create" });
};

/** Returns the names of a profile's settings, and the uses of its keys. @throws Failure `unknown-profile` */
export const describeProfile = (sources: ChangeSources, profile: string) => {
  const { settings, credentials, known } = readSavedFiles(sources);
  if (!known.includes(profile)) throw unknownProfile(profile, { known, where: {} });
  const names = Object.keys(settings.profiles.get(profile) ?? {});
  return { settings: names, keys: findSavedUses(credentials.profiles, profile) };
};

/** Makes a profile the default for later runs. @throws Failure `unknown-profile`, and as `changeSaved` */
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

/** Deletes the saved credentials of a profile, or of one use. `left` are variables that still contain credentials. */
export const logout = async (sources: ChangeSources, { only }: { readonly only: CredentialUse | undefined }) => {
  const { host, warn } = sources;
  const { profiles } = readSaved(host, "credentials", warn);
  const { profile, isNew } = findLayers({ ...sources, canBeNew: true });
  // A profile without settings may have credentials.
  if (isNew && !profiles.has(profile)) findLayers(sources);
  const removed = findSavedUses(profiles, profile).filter((use) => only === undefined || use === only);
  if (removed.length > 0) {
    await changeSaved(host, "credentials", (saved) => {
      const kept = omit(saved.get(profile), removed);
      if (Object.keys(kept).length > 0) saved.set(profile, kept);
      else saved.delete(profile);
    });
  }
  return { profile, removed, left: findSecretVariables(host, only === undefined ? credentialUses : [only]) };
};

/**
 * Renames a profile. Its account stays, so the ledger still finds its groups.
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
    const why = `${localProfile} belongs to the local service`;
    throw conflictingOptions({ first: "profile rename", second: localProfile, why });
  }
  const { settings, credentials, known } = readSavedFiles(sources);
  const isUnused = to === defaultProfile && !settings.profiles.has(to) && !credentials.profiles.has(to);
  if (from !== to && known.includes(to) && !isUnused) throw profileExists(to);
  // Keys first, so a killed run leaves no key without a profile.
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
