/** Shows and changes saved settings and profiles. */

import { Failure, type Problem } from "../failure.ts";
import type { JsonObject } from "../json/json-bytes.ts";
import { findNearest } from "../text/nearest.ts";
import { formatSuggestion, inProfile } from "../text/sentences.ts";
import { isInvalid } from "../text/units.ts";
import type { CredentialUse } from "../wire/contract/endpoint.ts";
import { findSavedUses, findSecretVariables } from "./credentials.ts";
import * as failures from "./failures.ts";
import * as layer from "./layers.ts";
import { setCommand } from "./read.ts";
import { changeSaved, createAddition, readSaved } from "./saved-files.ts";
import * as values from "./values.ts";

export interface SettingRow {
  readonly name: values.SettingName;
  /** Null if not set. A default that depends on the command is text such as `30s (log: 5m)`. */
  readonly value: string | null;
  readonly source: layer.SettingSource | null;
  /** The option, variable or file. Null for a default. */
  readonly from: string | null;
  readonly problem: Problem | null;
}

export const listSettings = (sources: layer.SettingsSources) => {
  const layers = layer.findLayers(sources);
  const rows = values.settingNames.map((name) => toSettingRow(layers, name));
  const unknown = Object.keys(layers.saved).filter((name) => !values.isSettingName(name));
  return { profile: layers.profile, rows, unknown };
};

const toSettingRow = (layers: layer.Layers, name: values.SettingName): SettingRow => {
  const resolved = layer.resolveSetting(layers, name);
  const { commandDefaults: value = null } = values.settings[name];
  const stated = value === null ? null : "default";
  if (!resolved) return { name, value, source: stated, from: null, problem: null };
  const { text, source, where } = resolved;
  const invalid = findSettingFailure(name, text, layers);
  const isSaved = source === "profile";
  const advice = isSaved ? `run \`${setCommand(name, layers.profile)}\`` : "correct the value";
  const problem: Problem | undefined = invalid && {
    ...(isSaved && layers.where(name)),
    rule: invalid.kind,
    severity: "warning",
    message: invalid.message,
    advice: invalid.details.hint ?? advice,
  };
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: values.redactSetting(name, text), source, from, problem: problem ?? null };
};

const secretName = /^(rollcall[-_])?(api[-_]?key|token|password|key|secret|username)([-_]file)?$/i;

const parseSettingName = (name: string, profile: string) => {
  if (values.isSettingName(name)) return name;
  if (secretName.test(name)) {
    const hint = `save a key with \`${inProfile("rollcall auth login", profile)}\``;
    throw new Failure("usage", "secret-in-settings", `${name} is a credential, not a setting`, { hint });
  }
  const near = findNearest(name, values.settingNames);
  const details = formatSuggestion(near, "list the settings with `rollcall config list`");
  throw new Failure("usage", "setting-unknown", `unknown setting "${name}"`, details);
};

const builtInSetting = (name: string) => {
  const hint = "choose another profile with --profile <name>";
  const details = { hint, where: { setting: name } };
  return new Failure("usage", "built-in-setting", `the local service has its own ${name}`, details);
};

const findSettingFailure = (name: values.SettingName, text: string, { local }: layer.Layers) => {
  const { isOfService, parse } = values.settings[name];
  if (local && isOfService) return builtInSetting(name);
  const where = { setting: name };
  const parsed = parse(text);
  if (!isInvalid(parsed)) return undefined;
  return failures.invalidSetting({ ...parsed, setting: name, value: values.redactSetting(name, text), where });
};

/** @param confirm asks about a new profile, whose name may be mistyped. It throws `failure` without a terminal. */
export const setSetting = async (
  sources: layer.SettingsSources,
  typed: Record<"name" | "value", string>,
  confirm?: (failure: Failure) => Promise<void>,
) => {
  const layers = layer.findLayers({ ...sources, canBeNew: true });
  const { profile, isNew } = layers;
  if (isNew) await confirm?.(layers.toUnknownFailure());
  const name = parseSettingName(typed.name, profile);
  const problem = findSettingFailure(name, typed.value, layers);
  if (problem) throw problem;
  const parsed = values.settings[name].parse(typed.value);
  const added = { [name]: typeof parsed === "boolean" ? parsed : typed.value };
  const file = await changeSaved(sources.host, "settings", createAddition(profile, added));
  const { source } = layer.resolveSetting({ ...layers, saved: added, flags: {} }, name) ?? {};
  const overriding = source === "environment" ? values.toVariableName(name) : undefined;
  return { profile, isNew, file, name, overriding };
};

const createRemoval = (profile: string, names: readonly string[]) => (profiles: Map<string, JsonObject>) => {
  const members = Object.entries(profiles.get(profile) ?? {}).filter(([name]) => !names.includes(name));
  profiles.set(profile, Object.fromEntries(members));
};

export const unsetSettings = async (sources: layer.SettingsSources, typed: readonly string[]) => {
  const { profile, saved } = layer.findLayers(sources);
  const isSaved = (name: string) => Object.hasOwn(saved, name);
  const absent = typed.filter((name) => !isSaved(name)).map((name) => parseSettingName(name, profile));
  const names = typed.filter(isSaved);
  if (names.length > 0) await changeSaved(sources.host, "settings", createRemoval(profile, names));
  return { profile, names, absent };
};

export const listProfiles = ({ host, flags, screen: { warn } }: layer.SettingsSources) => {
  const [file, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const { profile } = layer.findProfileName(flags, host.env);
  return layer.listKnownProfiles(file, credentials).map((name) => {
    const saved = file.profiles.get(name) ?? {};
    const url = typeof saved.base_url === "string" ? values.redactSetting("base_url", saved.base_url) : null;
    const keys = findSavedUses(credentials.profiles.get(name));
    return { name, in_use: name === profile, base_url: url, keys, settings: Object.keys(saved) };
  });
};

export const findProfile = (sources: layer.SettingsSources, profile: string) => {
  const profiles = listProfiles(sources);
  const found = profiles.find(({ name }) => name === profile);
  if (found) return found;
  const known = profiles.map(({ name }) => name);
  throw failures.unknownProfile(profile, { known, where: {}, hint: "choose one of these profiles" });
};

export const deleteProfile = async (sources: layer.SettingsSources, name: string) => {
  const { keys } = findProfile(sources, name);
  if (keys.length > 0) await changeSaved(sources.host, "credentials", (profiles) => profiles.delete(name));
  await changeSaved(sources.host, "settings", (profiles) => profiles.delete(name));
};

/** `left` lists the variables that still contain credentials. */
export const logout = async (sources: layer.SettingsSources, only?: CredentialUse) => {
  const { host, screen } = sources;
  const { profile } = layer.findLayers(sources);
  const saved = findSavedUses(readSaved(host, "credentials", screen.warn).profiles.get(profile));
  const removed = saved.filter((use) => !only || use === only);
  if (removed.length > 0) await changeSaved(host, "credentials", createRemoval(profile, removed));
  return { profile, removed, left: findSecretVariables(host, only && [only]) };
};
