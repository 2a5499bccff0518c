/** Chooses the profile of a run: named on the command line, in the environment, or `default`. */
import { Failure, type Problem } from "../failure.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
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
    return known(readSaved(host, "settings"));
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
const known = ({ profiles }: Saved): readonly string[] => [
  ...new Set([...builtIn, ...[...profiles.keys()].filter((name) => namePattern.test(name))]),
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
  const { profile, named } = nameOf(flags, host.env);
  const local = profile === localProfile;
  if (local) refuseAddresses(flags);
  const settings = readSaved(host, "settings", warn);
  const saved = settings.profiles.get(profile);
  if (saved === undefined && !newProfile && !builtIn.includes(profile)) {
    throw unknownProfile(profile, { known: known(settings), named });
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

const unknownProfile = (
  profile: string,
  about: { readonly known: readonly string[]; readonly named: boolean },
): Failure => {
  const suggestion = nearest(profile, about.known);
  return new Failure(
    "profile-unknown",
    { profile, known: about.known, ...(suggestion === undefined ? {} : { suggestion }) },
    { where: about.named ? { option: "--profile" } : { environment: "ROLLCALL_PROFILE" } },
  );
};

const refuseAddresses = (flags: SettingFlags): void => {
  const typed = addressNames.find((name) => flags[name] !== undefined);
  if (typed === undefined) return;
  throw new Failure("options-contradict", {
    first: flags.local === true ? "--local" : `the profile ${localProfile}`,
    second: optionOf(typed),
    why: "the local service has its own address",
  });
};

const nameOf = (
  { local, profile }: SettingFlags,
  env: Host["env"],
): { readonly profile: string; readonly named: boolean } => {
  if (local === true && profile !== undefined && profile !== localProfile) {
    throw new Failure("options-contradict", {
      first: "--local",
      second: `--profile ${profile}`,
      why: `--local is the profile ${localProfile}`,
    });
  }
  if (local === true) return { profile: localProfile, named: true };
  const named = profile !== undefined;
  const name = profile ?? (env.ROLLCALL_PROFILE || defaultProfile);
  if (!namePattern.test(name)) {
    const where = named ? { option: "--profile" } : { environment: "ROLLCALL_PROFILE" };
    const wanted = "a name of letters, digits, -, _ and .";
    throw new Failure("setting-wrong", { setting: "profile", value: name, wanted, where }, { where });
  }
  return { profile: name, named };
};
