/** What logins saved: for each profile and use a key, and the origin that it may go to. */

import type { CredentialUse } from "../contract/endpoint.ts";
import type { Problem } from "../failure.ts";
import { isObject } from "../json/walk.ts";
import { type Members, settingsBroken } from "./document.ts";
import { type Machine, readSaved } from "./saved.ts";

/** A saved credential. */
export interface Login {
  readonly key: string;
  /** Scheme, host and port of the address that its use had at login: it goes nowhere else. */
  readonly origin: string;
  /** The user name of call reads; undefined for the usual one. */
  readonly username: string | undefined;
}

/** What credentials are for (interface 5), in the order that they are shown in. */
export const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

/** The saved credential of a use; undefined where there is none. @throws Failure `settings-broken`, `place-unusable` */
export const readLogin = (
  host: Machine,
  about: { readonly profile: string; readonly use: CredentialUse; readonly warn?: (problem: Problem) => void },
): Login | undefined => {
  const { profiles, where } = readSaved(host, "credentials", about.warn);
  const saved = profiles.get(about.profile)?.[about.use];
  if (saved === undefined) return undefined;
  const login = loginOf(saved);
  if (login !== undefined) return login;
  throw settingsBroken({
    wrong: `"${about.use}" of the profile "${about.profile}" is no saved credential`,
    where: where(["profiles", about.profile, about.use]),
  });
};

const loginOf = (saved: unknown): Login | undefined => {
  if (!isObject(saved) || typeof saved.key !== "string" || typeof saved.origin !== "string") return undefined;
  return {
    key: saved.key,
    origin: saved.origin,
    username: typeof saved.username === "string" ? saved.username : undefined,
  };
};

/** The uses that something is saved for in a profile. */
export const usesSaved = (profiles: ReadonlyMap<string, Members>, profile: string): readonly CredentialUse[] =>
  credentialUses.filter((use) => profiles.get(profile)?.[use] !== undefined);

/** A saved credential as the file has it. */
export const savedLogin = ({ key, origin, username }: Login): Members => ({
  key,
  origin,
  ...(username === undefined ? {} : { username }),
});
