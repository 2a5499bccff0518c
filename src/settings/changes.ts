/** Shows and changes saved settings, profiles and credentials. */
import type { CredentialUse } from "../contract/endpoint.ts";
import { Failure, type Problem } from "../failure.ts";
import { readUpTo } from "../files.ts";
import type { Host } from "../host.ts";
import type { JsonObject } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import { didYouMean } from "../sentences.ts";
import { findSavedUses, findSecretVariables } from "./credentials.ts";
import * as failures from "./failures.ts";
import * as lookup from "./layers.ts";
import { setCommand } from "./read.ts";
import { changeSaved, createAddition, parseDocument, readSaved, type SavedChange } from "./saved.ts";
import * as values from "./values.ts";

type ChangeSources = Pick<lookup.SettingsSources, "host" | "flags" | "screen">;

/** `from` is the option, variable or file of the value. `problem` is null if the value is valid. */
export type SettingRow = ReturnType<typeof toSettingRow>;

export const listSettings = (sources: ChangeSources) => {
  const layers = lookup.findLayers(sources);
  const rows = values.settingNames.map((name) => toSettingRow(layers, name));
  return { profile: layers.profile, rows, unknown: findUnknownNames(layers) };
};

export const showSetting = (sources: ChangeSources, typed: string) => {
  const name = parseSettingName(typed);
  const layers = lookup.findLayers(sources);
  const builtIn = layers.local && values.settings[name].isOfService ? findSettingFailure(name, "", layers) : undefined;
  if (builtIn !== undefined) throw builtIn;
  // Throws if the value is invalid.
  lookup.readValue(layers, name);
  return { row: toSettingRow(layers, name), profile: layers.profile };
};

const toSettingRow = (layers: lookup.Layers, name: values.SettingName) => {
  const resolved = lookup.resolveSetting(layers, name);
  if (resolved === undefined) return { name, value: null, source: null, from: null, problem: null };
  const { text, source, where } = resolved;
  const invalid = findSettingFailure(name, text, layers);
  const isSaved = source === "profile";
  const advice = isSaved ? `run \`${setCommand(name, layers.profile)}\`` : "correct the value";
  const position = isSaved ? layers.where(name) : {};
  const problem = invalid ? { ...position, ...toProblem(invalid, "warning", advice) } : null;
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: values.redactSetting(name, text), source, from, problem };
};

const toProblem = (failure: Failure, severity: Problem["severity"], otherAdvice: string): Problem => {
  const { kind: rule, message, details } = failure;
  return { rule, severity, message, advice: details.hint ?? otherAdvice };
};

const findUnknownNames = ({ saved }: lookup.Layers): readonly string[] =>
  Object.keys(saved).filter((name) => !values.isSettingName(name));

const secretName = /^(rollcall[-_])?(api[-_]?key|token|password|key|secret|username)([-_]file)?$/i;

const unknownName = (name: string): Failure => {
  if (secretName.test(name)) {
    const hint = "save a key with `rollcall auth login`";
    return new Failure("usage", "secret-in-settings", `${name} is a credential, not a setting`, { hint });
  }
  const near = findNearest(name, values.settingNames);
  const details = didYouMean(near, "list the settings with `rollcall config list`");
  return new Failure("usage", "setting-unknown", `unknown setting "${name}"`, details);
};

const parseSettingName = (typed: string): values.SettingName => {
  if (values.isSettingName(typed)) return typed;
  throw unknownName(typed);
};

const findSettingFailure = (name: string, value: unknown, layers: Pick<lookup.Layers, "local" | "windows">) => {
  if (!values.isSettingName(name)) return unknownName(name);
  const { isOfService, parse } = values.settings[name];
  const where = { setting: name };
  if (layers.local && isOfService) {
    const hint = "choose another profile with --profile <name>";
    return new Failure("usage", "built-in-setting", `the local service has its own ${name}`, { hint, where });
  }
  if (typeof value === "object") {
    const hint = "write it as a string, as `rollcall config export` does";
    const message = `${name} is not a string, a number, true or false`;
    return new Failure("usage", "setting-invalid", message, { hint, where });
  }
  const text = String(value);
  const parsed = parse(text, layers);
  if (!values.isRejected(parsed)) return undefined;
  return failures.invalidSetting({ ...parsed, setting: name, value: values.redactSetting(name, text), where });
};

/** The message contains no secret of a URL. */
export const findSettingProblem = (...imported: Parameters<typeof findSettingFailure>): Problem | undefined => {
  const found = findSettingFailure(...imported);
  return found && toProblem(found, "error", "correct the value in the file");
};

export type SettingsChange = Awaited<ReturnType<typeof saveSettings>>;

/** Asks before a profile is created, because the name may be mistyped. Without a terminal, throws `failure`. */
type Confirm = (failure: Failure) => Promise<void>;

export const setSetting = async (sources: ChangeSources, typed: Record<"name" | "value", string>, confirm?: Confirm) =>
  await saveSettings(sources, confirm, (layers) => {
    const name = parseSettingName(typed.name);
    const problem = findSettingFailure(name, typed.value, layers);
    if (problem !== undefined) throw problem;
    const value = values.settings[name].parse(typed.value, layers);
    return { [name]: typeof value === "boolean" ? value : typed.value };
  });

export const importSettings = async (sources: ChangeSources, from: string, confirm?: Confirm) =>
  await saveSettings(sources, confirm, async (layers) => await readImport(sources.host, from, layers));

type ReadAdded = (layers: lookup.Layers) => JsonObject | Promise<JsonObject>;

const saveSettings = async (sources: ChangeSources, confirm: Confirm | undefined, readAdded: ReadAdded) => {
  const layers = lookup.findLayers({ ...sources, canBeNew: true });
  const { profile, isNew } = layers;
  if (isNew) await confirm?.(layers.toUnknownFailure());
  const added = await readAdded(layers);
  const file = await changeSaved(sources.host, "settings", createAddition(profile, added));
  const after = { ...layers, saved: added, flags: {} };
  const overriding = values.settingNames.filter(
    (name) => Object.hasOwn(added, name) && lookup.resolveSetting(after, name)?.source === "environment",
  );
  const names = Object.keys(added);
  return { profile, isNew, file, names, overriding: overriding.map(values.toVariableName) };
};

const createRemoval =
  (profile: string, names: readonly string[]): SavedChange =>
  (profiles) => {
    const members = Object.entries(profiles.get(profile) ?? {}).filter(([name]) => !names.includes(name));
    profiles.set(profile, Object.fromEntries(members));
  };

export const unsetSettings = async (sources: ChangeSources, typed: readonly string[]) => {
  const { profile, saved } = lookup.findLayers(sources);
  const typedNames = typed.map((name) => (Object.hasOwn(saved, name) ? name : parseSettingName(name)));
  const names = typedNames.filter((name) => Object.hasOwn(saved, name));
  if (names.length > 0) await changeSaved(sources.host, "settings", createRemoval(profile, names));
  return { profile, names, absent: typedNames.filter((name) => !names.includes(name)) };
};

/** Returns a profile's settings in the form that `importSettings` reads. @throws Failure `setting-invalid` */
export const exportSettings = (sources: ChangeSources) => {
  const layers = lookup.findLayers(sources);
  const { profile, saved } = layers;
  const names = values.settingNames.filter((name) => (saved[name] ?? null) !== null);
  for (const name of names) lookup.readValue({ ...layers, flags: {}, env: {} }, name);
  const exported = Object.fromEntries(names.map((name) => [name, saved[name]]));
  return { profile, settings: exported, unknown: findUnknownNames(layers) };
};

const maxImportBytes = 1024 * 1024;

const readImport = async (host: Host, from: string, layers: lookup.Layers): Promise<JsonObject> => {
  const name = from === "-" ? "(standard input)" : from;
  const toFailure = (code: string, cause: unknown) => failures.unreadableImport(name, code, cause);
  const bytes = await readUpTo(from === "-" ? host.stdin : from, maxImportBytes, host, toFailure);
  if (bytes === undefined) throw failures.unreadableImport(name, "EFBIG");
  const { members, where } = parseDocument(bytes, name, failures.invalidImportFile);
  const problems = Object.entries(members).flatMap(([key, value]): readonly Problem[] => {
    const problem = findSettingProblem(key, value, layers);
    return problem === undefined ? [] : [{ ...where([key]), ...problem, path: [key] }];
  });
  if (problems.length > 0) throw failures.invalidImportSettings(name, problems);
  return members;
};

export const listProfiles = ({ host, flags, screen: { warn } }: ChangeSources) => {
  const [file, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const { profile } = lookup.findProfileName(flags, host.env, file);
  return lookup.knownProfiles(file, credentials).map((name) => {
    const saved = file.profiles.get(name) ?? {};
    const url = typeof saved.base_url === "string" ? values.redactSetting("base_url", saved.base_url) : null;
    const keys = findSavedUses(credentials.profiles.get(name));
    return { name, in_use: name === profile, base_url: url, keys, settings: Object.keys(saved) };
  });
};

export const findProfile = (sources: ChangeSources, profile: string) => {
  const profiles = listProfiles(sources);
  const found = profiles.find(({ name }) => name === profile);
  if (found !== undefined) return found;
  const known = profiles.map(({ name }) => name);
  throw failures.unknownProfile(profile, { known, where: {}, hint: "list the profiles with `rollcall profile list`" });
};

export const useProfile = async (sources: ChangeSources, name: string): Promise<void> => {
  findProfile(sources, name);
  await changeSaved(sources.host, "settings", (_, otherMembers) => {
    if (name === lookup.defaultProfile) delete otherMembers.profile;
    else otherMembers.profile = name;
  });
};

export const deleteProfile = async (sources: ChangeSources, name: string) => {
  const { keys } = findProfile(sources, name);
  if (keys.length > 0) await changeSaved(sources.host, "credentials", (profiles) => profiles.delete(name));
  let wasInUse = false;
  await changeSaved(sources.host, "settings", (profiles, otherMembers) => {
    profiles.delete(name);
    wasInUse = otherMembers.profile === name;
    if (wasInUse) delete otherMembers.profile;
  });
  return { wasInUse };
};

/** `left` lists the variables that still have credentials. */
export const logout = async (sources: ChangeSources, { only }: { readonly only: CredentialUse | undefined }) => {
  const { host, screen } = sources;
  const { profile } = lookup.findLayers(sources);
  const saved = findSavedUses(readSaved(host, "credentials", screen.warn).profiles.get(profile));
  const removed = saved.filter((use) => only === undefined || use === only);
  if (removed.length > 0) await changeSaved(host, "credentials", createRemoval(profile, removed));
  return { profile, removed, left: findSecretVariables(host, only && [only]) };
};

/** Renames a profile, but keeps its account, so the ledger still finds its groups. @throws Failure `profile-exists` */
export const renameProfile = async (sources: ChangeSources, { from, to }: Record<"from" | "to", string>) => {
  const { host } = sources;
  const { keys } = findProfile(sources, from);
  lookup.checkProfileName(to, {});
  if (from === lookup.localProfile) throw failures.profileBuiltIn("rename the profile");
  if (to === lookup.localProfile) throw failures.profileBuiltIn("rename a profile to");
  const taken = listProfiles(sources).find(({ name }) => name === to);
  const isUnused = to === lookup.defaultProfile && taken?.settings.length === 0 && taken.keys.length === 0;
  if (taken !== undefined && !isUnused) throw failures.profileExists(to);
  // If the run is killed between the two changes, the keys have the new name, and the settings have the old name.
  if (keys.length > 0) {
    await changeSaved(host, "credentials", (profiles) => {
      profiles.set(to, profiles.get(from) ?? {});
      profiles.delete(from);
    });
  }
  let account = from;
  await changeSaved(host, "settings", (profiles, otherMembers) => {
    const saved = { account: from, ...profiles.get(from) };
    profiles.set(to, saved);
    profiles.delete(from);
    if (otherMembers.profile === from) otherMembers.profile = to;
    if (typeof saved.account === "string") account = saved.account;
  });
  return { account };
};
