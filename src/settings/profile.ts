/** Chooses the profile of a run: named on the command line, in the environment, or `default`. */

import type { Failure, Problem, Where } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
import { profileUnknown, settingWrong } from "./failures.ts";
import { type Machine, readSaved, type Saved } from "./files.ts";
import type { Layers } from "./resolve.ts";
import type { SettingFlags } from "./settings.ts";
import { addressNames, optionOf, type SettingName } from "./values.ts";

/** The profile of the service inside this process. */
export const localProfile = "local";

/** The profile where none was named. */
export const defaultProfile = "default";

/** The profiles that there are without anything saved. */
const builtIn: readonly string[] = [defaultProfile, localProfile];

/** The profiles that can be named. Reads the settings file only; whatever is wrong with that, the built-in ones remain. */
export const profileNames = (host: Machine): readonly string[] => {
  try {
    return knownProfiles(readSaved(host, "settings"));
  } catch {
    return builtIn;
  }
};

/** The texts saved for a setting, in whichever profile. Reads the settings file only, and never fails. */
export const savedTexts = (host: Machine, name: SettingName): readonly string[] => {
  try {
    const saved = [...readSaved(host, "settings").profiles.values()].map((members) => members[name]);
    return [...new Set(saved.filter((text) => typeof text === "string"))];
  } catch {
    return [];
  }
};

/** The built-in profiles and the saved ones that can be named. */
export const knownProfiles = (...saved: readonly Saved[]): readonly string[] => [
  ...new Set([
    ...builtIn,
    ...saved.flatMap(({ profiles }) => [...profiles.keys()].filter((name) => namePattern.test(name))),
  ]),
];

/** Names are keys of a JSON object and words of a command line. */
const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** What a run's settings are resolved from. @throws Failure `options-contradict`, `profile-unknown`, `setting-wrong` */
export const chooseProfile = ({
  host,
  flags,
  warn,
  defaults = {},
  newProfile = false,
}: {
  readonly host: Machine;
  readonly flags: SettingFlags;
  readonly warn?: (problem: Problem) => void;
  readonly defaults?: Layers["defaults"];
  readonly newProfile?: boolean;
}): Layers => {
  const settings = readSaved(host, "settings", warn);
  const { profile, named, where: source } = profileInForce(flags, host.env, settings);
  const local = profile === localProfile;
  if (local) refuseAddresses(flags);
  const saved = settings.profiles.get(profile);
  if (saved === undefined && !newProfile && !builtIn.includes(profile)) {
    throw unknownProfile(profile, { known: knownProfiles(settings), where: source });
  }
  return {
    flags,
    defaults,
    env: host.env,
    windows: host.platform === "win32",
    profile,
    named,
    local,
    isNew: saved === undefined && !builtIn.includes(profile),
    saved: saved ?? {},
    where: (name) => settings.where(["profiles", profile, name]),
  };
};

/** The failure of a profile that is not there; `how` makes it, or does without it. */
export const unknownProfile = (
  profile: string,
  {
    known,
    where,
    how = "login",
  }: {
    readonly known: readonly string[];
    readonly where: Where;
    readonly how?: "login" | "create";
  },
): Failure => {
  const suggestion = nearest(profile, known);
  return profileUnknown({ profile, known, how: where.file === undefined ? how : "use", suggestion, where });
};

const refuseAddresses = (flags: SettingFlags): void => {
  const typed = addressNames.find((name) => flags[name] !== undefined);
  if (typed === undefined) return;
  throw optionsContradict({
    first: flags.local === true ? "--local" : `the profile ${localProfile}`,
    second: optionOf(typed),
    why: "the local service has its own address",
  });
};

/**
 * The name of the profile in force, whether or not there is such a profile: typed, in the environment, what
 * `profile use` saved, or the default.
 * @throws Failure `options-contradict`, `setting-wrong`
 */
export const profileInForce = (
  { local, profile }: SettingFlags,
  env: Host["env"],
  settings: Saved,
): { readonly profile: string; readonly named: boolean; readonly where: Where } => {
  if (local === true && profile !== undefined && profile !== localProfile) {
    throw optionsContradict({
      first: "--local",
      second: `--profile ${profile}`,
      why: `--local is the profile ${localProfile}`,
    });
  }
  if (local === true) return { profile: localProfile, named: true, where: { option: "--local" } };
  if (profile !== undefined) return checked(profile, true, { option: "--profile" });
  if (env.ROLLCALL_PROFILE) return checked(env.ROLLCALL_PROFILE, false, { environment: "ROLLCALL_PROFILE" });
  const used = settings.members.profile;
  if (typeof used === "string") return checked(used, false, settings.where(["profile"]));
  return { profile: defaultProfile, named: false, where: {} };
};

const checked = (profile: string, named: boolean, where: Where) => ({
  profile: checkProfileName(profile, where),
  named,
  where,
});

/** A name that a profile can have. @throws Failure `setting-wrong` */
export const checkProfileName = (name: string, where: Where): string => {
  if (namePattern.test(name)) return name;
  const wanted = "a name of letters, digits, -, _ and .";
  throw settingWrong({ setting: "profile", value: name, wanted, where });
};
