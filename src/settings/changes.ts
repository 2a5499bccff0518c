/** Shows and changes saved settings and profiles. */

import { Failure, type Problem } from "../failure.ts";
import type { JsonObject } from "../json/json-bytes.ts";
import { readUpTo } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { findNearest } from "../text/nearest.ts";
import { formatSuggestion } from "../text/sentences.ts";
import { isInvalid } from "../text/units.ts";
import type { CredentialUse } from "../wire/contract/endpoint.ts";
import { findSavedUses, findSecretVariables } from "./credentials.ts";
import * as failures from "./failures.ts";
import {
  checkProfileName,
  defaultProfile,
  findLayers,
  findProfileName,
  type Layers,
  listKnownProfiles,
  localProfile,
  readValue,
  resolveSetting,
  type SettingsSources,
} from "./layers.ts";
import { setCommand } from "./read.ts";
import { changeSaved, createAddition, parseDocument, readSaved } from "./saved-files.ts";
import * as values from "./values.ts";

export type SettingRow = ReturnType<typeof toSettingRow>;

export const listSettings = (sources: SettingsSources) => {
  const layers = findLayers(sources);
  const rows = values.settingNames.map((name) => toSettingRow(layers, name));
  const unknownVariables = values.listUnknownVariables(layers.env);
  return { profile: layers.profile, rows, unknown: findUnknownNames(layers), unknownVariables };
};

export const showSetting = (sources: SettingsSources, typed: string) => {
  const name = parseSettingName(typed);
  const layers = findLayers(sources);
  if (layers.local && values.settings[name].isOfService) throw builtInSetting(name);
  readValue(layers, name);
  return { row: toSettingRow(layers, name), profile: layers.profile };
};

const toSettingRow = (layers: Layers, name: values.SettingName) => {
  const resolved = resolveSetting(layers, name);
  const { commandDefaults: value = null } = values.settings[name];
  const stated = value === null ? null : ("default" as const);
  if (!resolved) return { name, value, source: stated, from: null, problem: null };
  const { text, source, where } = resolved;
  const invalid = findSettingFailure(name, text, layers);
  const isSaved = source === "profile";
  const advice = isSaved ? `run \`${setCommand(name, layers.profile)}\`` : "correct the value";
  const problem = invalid && { ...(isSaved && layers.where(name)), ...toProblem(invalid, "warning", advice) };
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: values.redactSetting(name, text), source, from, problem: problem ?? null };
};

const toProblem = ({ kind: rule, message, details }: Failure, severity: Problem["severity"], advice: string) => {
  return { rule, severity, message, advice: details.hint ?? advice };
};

const findUnknownNames = ({ saved }: Layers) => Object.keys(saved).filter((name) => !values.isSettingName(name));

const secretName = /^(rollcall[-_])?(api[-_]?key|token|password|key|secret|username)([-_]file)?$/i;

const unknownName = (name: string) => {
  if (secretName.test(name)) {
    const hint = "save a key with `rollcall auth login`";
    return new Failure("usage", "secret-in-settings", `${name} is a credential, not a setting`, { hint });
  }
  const near = findNearest(name, values.settingNames);
  const details = formatSuggestion(near, "list the settings with `rollcall config list`");
  return new Failure("usage", "setting-unknown", `unknown setting "${name}"`, details);
};

const parseSettingName = (typed: string) => {
  if (values.isSettingName(typed)) return typed;
  throw unknownName(typed);
};

const builtInSetting = (name: string) => {
  const hint = "choose another profile with --profile <name>";
  const details = { hint, where: { setting: name } };
  return new Failure("usage", "built-in-setting", `the local service has its own ${name}`, details);
};

const findSettingFailure = (name: string, value: unknown, layers: Pick<Layers, "local" | "windows">) => {
  if (!values.isSettingName(name)) return unknownName(name);
  const { isOfService, parse } = values.settings[name];
  if (layers.local && isOfService) return builtInSetting(name);
  const where = { setting: name };
  if (typeof value === "object") {
    const hint = "write it as a string, as `rollcall config export` does";
    const message = `${name} is not a string, a number, true or false`;
    return new Failure("usage", "setting-invalid", message, { hint, where });
  }
  const text = String(value);
  const parsed = parse(text, layers);
  if (!isInvalid(parsed)) return undefined;
  return failures.invalidSetting({ ...parsed, setting: name, value: values.redactSetting(name, text), where });
};

export type SettingsChange = Awaited<ReturnType<typeof saveSettings>>;

/** Asks about a new profile, because the name may be mistyped. @throws `failure` without a terminal */
type ProfileConfirmation = (failure: Failure) => Promise<void>;

export const setSetting = (
  sources: SettingsSources,
  typed: Record<"name" | "value", string>,
  confirm?: ProfileConfirmation,
) =>
  saveSettings(sources, confirm, (layers) => {
    const name = parseSettingName(typed.name);
    const problem = findSettingFailure(name, typed.value, layers);
    if (problem) throw problem;
    const value = values.settings[name].parse(typed.value, layers);
    return { [name]: typeof value === "boolean" ? value : typed.value };
  });

export const importSettings = (sources: SettingsSources, from: string, confirm?: ProfileConfirmation) =>
  saveSettings(sources, confirm, (layers) => readImport(sources.host, from, layers));

const saveSettings = async (
  sources: SettingsSources,
  confirm: ProfileConfirmation | undefined,
  readAdded: (layers: Layers) => JsonObject | Promise<JsonObject>,
) => {
  const layers = findLayers({ ...sources, canBeNew: true });
  const { profile, isNew } = layers;
  if (isNew) await confirm?.(layers.toUnknownFailure());
  const added = await readAdded(layers);
  const file = await changeSaved(sources.host, "settings", createAddition(profile, added));
  const names = Object.keys(added).filter(values.isSettingName);
  const after = { ...layers, saved: added, flags: {} };
  const overriding = names.filter((name) => resolveSetting(after, name)?.source === "environment");
  return { profile, isNew, file, names, overriding: overriding.map(values.toVariableName) };
};

const createRemoval = (profile: string, names: readonly string[]) => (profiles: Map<string, JsonObject>) => {
  const members = Object.entries(profiles.get(profile) ?? {}).filter(([name]) => !names.includes(name));
  profiles.set(profile, Object.fromEntries(members));
};

export const unsetSettings = async (sources: SettingsSources, typed: readonly string[]) => {
  const { profile, saved } = findLayers(sources);
  const isSaved = (name: string) => Object.hasOwn(saved, name);
  const absent = typed.filter((name) => !isSaved(name)).map(parseSettingName);
  const names = typed.filter(isSaved);
  if (names.length > 0) await changeSaved(sources.host, "settings", createRemoval(profile, names));
  return { profile, names, absent };
};

/** @throws Failure `setting-invalid` */
export const exportSettings = (sources: SettingsSources) => {
  const layers = findLayers(sources);
  const { profile, saved } = layers;
  const names = values.settingNames.filter((name) => (saved[name] ?? null) !== null);
  for (const name of names) readValue({ ...layers, flags: {}, env: {} }, name);
  const exported = Object.fromEntries(names.map((name) => [name, saved[name]]));
  return { profile, settings: exported, unknown: findUnknownNames(layers) };
};

const maxImportBytes = 1024 * 1024;

const readImport = async (host: Host, from: string, layers: Layers) => {
  const name = from === "-" ? "(standard input)" : from;
  const toFailure = (code: string, cause: unknown) => failures.unreadableImport(name, code, cause);
  const bytes = await readUpTo(from === "-" ? host.stdin : from, maxImportBytes, host, toFailure);
  if (!bytes) throw failures.unreadableImport(name, "EFBIG");
  const { members, where } = parseDocument(bytes, name, failures.invalidImportFile);
  const problems = Object.entries(members).flatMap(([key, value]) => {
    const failure = findSettingFailure(key, value, layers);
    if (!failure) return [];
    return [{ ...where([key]), ...toProblem(failure, "error", "correct the value in the file"), path: [key] }];
  });
  if (problems.length > 0) throw failures.invalidImportSettings(name, problems);
  return members;
};

export const listProfiles = ({ host, flags, screen: { warn } }: SettingsSources) => {
  const [file, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const { profile } = findProfileName(flags, host.env, file);
  return listKnownProfiles(file, credentials).map((name) => {
    const saved = file.profiles.get(name) ?? {};
    const url = typeof saved.base_url === "string" ? values.redactSetting("base_url", saved.base_url) : null;
    const keys = findSavedUses(credentials.profiles.get(name));
    return { name, in_use: name === profile, base_url: url, keys, settings: Object.keys(saved) };
  });
};

export const findProfile = (sources: SettingsSources, profile: string) => {
  const profiles = listProfiles(sources);
  const found = profiles.find(({ name }) => name === profile);
  if (found) return found;
  const known = profiles.map(({ name }) => name);
  throw failures.unknownProfile(profile, { known, where: {}, hint: "choose one of these profiles" });
};

export const useProfile = async (sources: SettingsSources, name: string) => {
  findProfile(sources, name);
  const profile = name === defaultProfile ? undefined : name;
  await changeSaved(sources.host, "settings", (_, otherMembers) => Object.assign(otherMembers, { profile }));
};

export const deleteProfile = async (sources: SettingsSources, name: string) => {
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

/** `left` lists the variables that still contain credentials. */
export const logout = async (sources: SettingsSources, only?: CredentialUse) => {
  const { host, screen } = sources;
  const { profile } = findLayers(sources);
  const saved = findSavedUses(readSaved(host, "credentials", screen.warn).profiles.get(profile));
  const removed = saved.filter((use) => !only || use === only);
  if (removed.length > 0) await changeSaved(host, "credentials", createRemoval(profile, removed));
  return { profile, removed, left: findSecretVariables(host, only && [only]) };
};

/** Keeps the account, because dedup keys contain the account. @throws Failure `profile-exists` */
export const renameProfile = async (sources: SettingsSources, { from, to }: Record<"from" | "to", string>) => {
  const { host } = sources;
  const { keys } = findProfile(sources, from);
  checkProfileName(to, {});
  if (from === localProfile) throw failures.profileBuiltIn("rename the profile");
  if (to === localProfile) throw failures.profileBuiltIn("rename a profile to");
  const taken = listProfiles(sources).find(({ name }) => name === to);
  const isUnused = to === defaultProfile && taken?.settings.length === 0 && taken.keys.length === 0;
  if (taken && !isUnused) throw failures.profileExists(to);
  const move = (profiles: Map<string, JsonObject>, defaults: JsonObject = {}) => {
    const saved = { ...defaults, ...profiles.get(from) };
    profiles.set(to, saved).delete(from);
    return saved;
  };
  if (keys.length > 0) await changeSaved(host, "credentials", (profiles) => move(profiles));
  let account = from;
  await changeSaved(host, "settings", (profiles, otherMembers) => {
    const saved = move(profiles, { account: from });
    if (otherMembers.profile === from) otherMembers.profile = to;
    if (typeof saved.account === "string") account = saved.account;
  });
  return { account };
};
