/** The profiles that are saved: which there are, which one is used where none is named, and what becomes of them. */

import type { CredentialUse } from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import { isObject } from "../json/walk.ts";
import { credentialUses, secretsSet, usesSaved } from "./credentials.ts";
import { profileExists } from "./failures.ts";
import { type Members, readSaved } from "./files.ts";
import {
  checkProfileName,
  chooseProfile,
  defaultProfile,
  knownProfiles,
  localProfile,
  profileInForce,
  unknownProfile,
} from "./profile.ts";
import { shownValue } from "./resolve.ts";
import type { SettingsSources } from "./settings.ts";

type ProfileSources = Pick<SettingsSources, "host" | "flags" | "warn">;

/** A profile as it is shown. */
export interface ProfileRow {
  readonly name: string;
  /** Whether a command that is run with the same options would take it. */
  readonly inUse: boolean;
  /** Its main address, as it is saved. */
  readonly address: string | undefined;
  /** The uses that a key is saved for. */
  readonly keys: readonly CredentialUse[];
}

/** Every profile: the two that are always there, and those that something is saved in. @throws Failure `settings-broken`, `place-…` */
export const listProfiles = ({ host, flags, warn }: ProfileSources): readonly ProfileRow[] => {
  const [settings, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const { profile } = profileInForce(flags, host.env, settings);
  return knownProfiles(settings, credentials).map((name) => {
    const address = settings.profiles.get(name)?.base_url;
    return {
      name,
      inUse: name === profile,
      address: typeof address === "string" ? shownValue("base_url", address) : undefined,
      keys: usesSaved(credentials.profiles, name),
    };
  });
};

/** The failure of a profile in force that nothing is saved in yet; undefined where it is there. @throws as `chooseProfile` */
export const newProfile = ({ host, flags }: ProfileSources): Failure | undefined => {
  const settings = readSaved(host, "settings");
  const { profile, where } = profileInForce(flags, host.env, settings);
  const known = knownProfiles(settings, readSaved(host, "credentials"));
  return known.includes(profile) ? undefined : unknownProfile(profile, { known, where, how: "create" });
};

/** What is saved in a profile: the names of its settings, and the uses of its keys. @throws Failure `profile-unknown` */
export const findProfile = (
  { host, warn }: ProfileSources,
  name: string,
): { readonly settings: readonly string[]; readonly keys: readonly CredentialUse[] } => {
  const [settings, credentials] = [readSaved(host, "settings", warn), readSaved(host, "credentials", warn)];
  const known = knownProfiles(settings, credentials);
  if (!known.includes(name)) throw unknownProfile(name, { known, where: {} });
  return { settings: Object.keys(settings.profiles.get(name) ?? {}), keys: usesSaved(credentials.profiles, name) };
};

/** Has a profile used wherever none is named. @throws Failure `profile-unknown`, and as `changeSaved` */
export const useProfile = async (sources: ProfileSources, name: string): Promise<void> => {
  findProfile(sources, name);
  const { changeSaved } = await import("./write.ts");
  await changeSaved(sources.host, {
    kind: "settings",
    change: ({ profile: _, ...others }) => (name === defaultProfile ? others : { profile: name, ...others }),
  });
};

/** Forgets the settings and the keys of a profile, keys first. @throws Failure `profile-unknown`, and as `changeSaved` */
export const deleteProfile = async (sources: ProfileSources, name: string): Promise<{ readonly wasInUse: boolean }> => {
  const { keys } = findProfile(sources, name);
  const wasInUse = readSaved(sources.host, "settings").members.profile === name;
  const { changeProfile, changeSaved } = await import("./write.ts");
  if (keys.length > 0) {
    await changeProfile(sources.host, { kind: "credentials", profile: name, change: () => undefined });
  }
  await changeSaved(sources.host, {
    kind: "settings",
    change: ({ profile, ...others }) => ({
      ...(profile === undefined || profile === name ? {} : { profile }),
      ...others,
      profiles: without(others.profiles, name),
    }),
  });
  return { wasInUse };
};

interface LoggedOut {
  readonly profile: string;
  readonly removed: readonly CredentialUse[];
  /** Variables of the environment that go on giving credentials. */
  readonly left: readonly string[];
}

/** Forgets the saved credentials of a profile, or of one use. Nothing is written where none was saved. */
export const logout = async (
  { host, flags, warn }: ProfileSources,
  { only }: { readonly only: CredentialUse | undefined },
): Promise<LoggedOut> => {
  const { profiles } = readSaved(host, "credentials", warn);
  // A profile may have been taken out of the settings by hand: its credentials can still be forgotten.
  const { profile } = chooseProfile({ host, flags, warn, newProfile: true });
  if (!profiles.has(profile)) chooseProfile({ host, flags, warn });
  const removed = usesSaved(profiles, profile).filter((use) => only === undefined || use === only);
  const left = secretsSet(host, only === undefined ? credentialUses : [only]);
  if (removed.length === 0) return { profile, removed, left };
  const change = (before: Members): Members | undefined => {
    const others = Object.entries(before).filter(([use]) => !removed.some((gone) => gone === use));
    return others.length === 0 ? undefined : Object.fromEntries(others);
  };
  const { changeProfile } = await import("./write.ts");
  await changeProfile(host, { kind: "credentials", profile, change });
  return { profile, removed, left };
};

/**
 * Gives a profile another name. Its account, by which the ledger knows what was logged, stays what it was.
 * @throws Failure `profile-unknown`, `profile-exists`, `options-contradict`, and as `changeSaved`
 */
export const renameProfile = async (
  sources: ProfileSources,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<{ readonly account: string }> => {
  const { host } = sources;
  const { keys } = findProfile(sources, from);
  checkProfileName(to, {});
  const why = `${localProfile} is the local service's`;
  if (from === localProfile || to === localProfile) {
    throw optionsContradict({ first: "profile rename", second: localProfile, why });
  }
  const [settings, credentials] = [readSaved(host, "settings"), readSaved(host, "credentials")];
  const isEmpty = to === defaultProfile && !settings.profiles.has(to) && !credentials.profiles.has(to);
  if (from !== to && knownProfiles(settings, credentials).includes(to) && !isEmpty) {
    throw profileExists(to);
  }
  const { changeSaved } = await import("./write.ts");
  const renamed = (profiles: unknown, more: Members): Members => {
    const before = isObject(profiles) ? profiles[from] : undefined;
    return { ...without(profiles, from), [to]: { ...more, ...(isObject(before) ? before : {}) } };
  };
  // Keys first: where a run is killed in between, none is left behind without a profile that says where it goes.
  if (keys.length > 0) {
    await changeSaved(host, {
      kind: "credentials",
      change: (document) => ({ ...document, profiles: renamed(document.profiles, {}) }),
    });
  }
  await changeSaved(host, {
    kind: "settings",
    change: ({ profile, ...others }) => ({
      ...(profile === undefined ? {} : { profile: profile === from ? to : profile }),
      ...others,
      profiles: renamed(others.profiles, { account: from }),
    }),
  });
  const account = readSaved(host, "settings").profiles.get(to)?.account;
  return { account: typeof account === "string" ? account : from };
};

const without = (profiles: unknown, name: string): Members => {
  if (!isObject(profiles)) return {};
  const { [name]: _, ...others } = profiles;
  return others;
};
