/** Chooses the profile of a run: named on the command line, in the environment, or `default`. */
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import type { SettingFlags } from "./index.ts";
import { nearest } from "./nearest.ts";
import type { Layers } from "./resolve.ts";
import { readSaved, type Warn } from "./saved.ts";
import { addressNames, optionOf } from "./values.ts";

/** The profile of the service inside this process. */
export const localProfile = "local";

/** The profile where none was named. */
export const defaultProfile = "default";

/** What a run's settings are resolved from. @throws Failure `options-contradict`, `profile-unknown`, `setting-wrong` */
export const chooseProfile = ({
  host,
  flags,
  warn,
  mayBeNew = false,
}: {
  readonly host: Pick<Host, "env" | "platform">;
  readonly flags: SettingFlags;
  readonly warn?: Warn;
  /** Whether a profile that nothing is saved for yet will do. */
  readonly mayBeNew?: boolean;
}): Layers => {
  const { profile, named } = nameOf(flags, host.env);
  const local = profile === localProfile;
  const typed = addressNames.find((name) => flags[name] !== undefined);
  if (local && typed !== undefined) {
    const first = flags.local === true ? "--local" : `profile ${localProfile}`;
    throw new Failure("options-contradict", {
      first,
      second: optionOf(typed),
      why: "the local service has its own address",
    });
  }
  const { file, profiles } = readSaved(host, "settings", warn);
  const saved = profiles.get(profile);
  if (saved === undefined && !mayBeNew && !local && profile !== defaultProfile) {
    const known = [...new Set([defaultProfile, localProfile, ...profiles.keys()])];
    const suggestion = nearest(profile, known);
    throw new Failure(
      "profile-unknown",
      { profile, known, ...(suggestion === undefined ? {} : { suggestion }) },
      { where: named ? { option: "--profile" } : { environment: "ROLLCALL_PROFILE" } },
    );
  }
  return { flags, env: host.env, profile, named, local, saved: saved ?? {}, file };
};

const nameOf = (
  { local, profile }: SettingFlags,
  env: Host["env"],
): { readonly profile: string; readonly named: boolean } => {
  if (local === true && profile !== undefined && profile !== localProfile) {
    throw new Failure("options-contradict", {
      first: "--local",
      second: "--profile",
      why: `--local is the profile ${localProfile}`,
    });
  }
  if (local === true) return { profile: localProfile, named: true };
  const named = profile !== undefined;
  const name = profile ?? (env.ROLLCALL_PROFILE || defaultProfile);
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) {
    const where = named ? { option: "--profile" } : { environment: "ROLLCALL_PROFILE" };
    const wanted = "a name of letters, digits, -, _ and .";
    throw new Failure("setting-wrong", { setting: "profile", value: name, wanted, where }, { where });
  }
  return { profile: name, named };
};
