/** Lists, uses, deletes and renames profiles, and forgets their credentials. */
import type { CredentialUse } from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import { credentialUses, findSecretVariables, usesSaved } from "./credentials.ts";
import { profileExists, profileUnknown } from "./failures.ts";
import {
  checkProfileName,
  defaultProfile,
  findLayers,
  findProfileName,
  knownProfiles,
  localProfile,
  type SettingsSources,
} from "./layers.ts";
import { changeSaved, readSaved } from "./saved.ts";
import { showText } from "./values.ts";

type ProfileSources = Pick<SettingsSources, "host" | "flags" | "warn">;

const readBoth = ({ host, warn }: ProfileSources) => {
  const [settings, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const known = knownProfiles(settings, credentials);
  return { settings, credentials, known, keysOf: (name: string) => usesSaved(credentials.profiles, name) };
};

/** Every profile: `keys` are the uses that a key is saved for. @throws Failure `settings-broken`, `place-…` */
export const listProfiles = (sources: ProfileSources) => {
  const { settings, known, keysOf } = readBoth(sources);
  const { profile } = findProfileName(sources.flags, sources.host.env, settings);
  return known.map((name) => {
    const address = settings.profiles.get(name)?.base_url;
    const shown = typeof address === "string" ? showText("base_url", address) : null;
    return { name, in_use: name === profile, base_url: shown, keys: keysOf(name) };
  });
};

/** The failure of a profile that is chosen and does not exist; undefined if it does. */
export const newProfile = (sources: ProfileSources): Failure | undefined => {
  const { settings, known } = readBoth(sources);
  const { profile, where } = findProfileName(sources.flags, sources.host.env, settings);
  return known.includes(profile) ? undefined : profileUnknown(profile, { known, where, way: "--create makes it" });
};

/** The names of a profile's settings, and the uses of its keys. @throws Failure `profile-unknown` */
export const findProfile = (sources: ProfileSources, profile: string) => {
  const { settings, known, keysOf } = readBoth(sources);
  if (!known.includes(profile)) throw profileUnknown(profile, { known, where: {} });
  return { settings: Object.keys(settings.profiles.get(profile) ?? {}), keys: keysOf(profile) };
};

/** Makes a profile the one that is used if none is named. @throws Failure `profile-unknown`, and as `changeSaved` */
export const useProfile = async (sources: ProfileSources, name: string): Promise<void> => {
  findProfile(sources, name);
  await changeSaved(sources.host, "settings", (_, others) => {
    if (name === defaultProfile) delete others.profile;
    else others.profile = name;
  });
};

/** Deletes the keys and the settings of a profile. @throws Failure `profile-unknown`, and as `changeSaved` */
export const deleteProfile = async (sources: ProfileSources, name: string): Promise<{ readonly wasInUse: boolean }> => {
  const { host } = sources;
  const { keys } = findProfile(sources, name);
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
export const logout = async (sources: ProfileSources, { only }: { readonly only: CredentialUse | undefined }) => {
  const { host, warn } = sources;
  const { profiles } = readSaved(host, "credentials", warn);
  const { profile, isNew } = findLayers({ ...sources, mayBeNew: true });
  // A profile without settings may still have credentials.
  if (isNew && !profiles.has(profile)) findLayers(sources);
  const removed = usesSaved(profiles, profile).filter((use) => only === undefined || use === only);
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
 * @throws Failure `profile-unknown`, `profile-exists`, `options-contradict`, `setting-wrong`, and as `changeSaved`
 */
export const renameProfile = async (
  sources: ProfileSources,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<{ readonly account: string }> => {
  const { host } = sources;
  const { keys } = findProfile(sources, from);
  checkProfileName(to, {});
  if (from === localProfile || to === localProfile) {
    const why = `${localProfile} is the local service's`;
    throw optionsContradict({ first: "profile rename", second: localProfile, why });
  }
  const { settings, credentials, known } = readBoth(sources);
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
