/** Shows settings: their values as they were written, where each came from, and what is wrong with it. */

import type { Problem } from "../failure.ts";
import { nearest } from "../nearest.ts";
import { settingUnknown } from "./failures.ts";
import { chooseProfile } from "./profile.ts";
import { findText, findValue, type Layers, problemPlace, shownValue, wrongProblem } from "./resolve.ts";
import { hideEnvironment, secretVariables } from "./secrets.ts";
import type { SettingSource, SettingsSources } from "./settings.ts";
import { type SettingName, settingNamed, settingNames, settings } from "./values.ts";

/** A setting as it is shown. */
export interface SettingRow {
  readonly name: SettingName;
  /** As it was written; undefined where it is not set and has no default. */
  readonly value: string | undefined;
  readonly source: SettingSource | undefined;
  /** The option, the variable, or the file that it stands in; undefined for a default. */
  readonly from: string | undefined;
  /** What is wrong with the value; undefined where it can be used. */
  readonly problem: Problem | undefined;
}

interface SettingList {
  readonly profile: string;
  readonly rows: readonly SettingRow[];
  /** Names in the profile that are no settings of this version; they are kept. */
  readonly unknown: readonly string[];
}

type ListingSources = Pick<SettingsSources, "host" | "flags" | "hide" | "warn">;

/** All settings, whether or not they can be used. @throws Failure `profile-unknown`, `settings-broken`, `place-unusable` */
export const listSettings = (sources: ListingSources): SettingList => {
  const layers = layersOf(sources);
  return {
    profile: layers.profile,
    rows: settingNames.map((name) => rowOf(layers, name)),
    unknown: Object.keys(layers.saved).filter((name) => settingNamed(name) === undefined),
  };
};

/** One setting. @throws Failure `setting-unknown`, `setting-wrong`, and as `listSettings` */
export const showSetting = (sources: ListingSources, typed: string): SettingRow & { readonly profile: string } => {
  const name = settingCalled(typed);
  const layers = layersOf(sources);
  findValue(layers, name);
  return { ...rowOf(layers, name), profile: layers.profile };
};

const layersOf = ({ host, flags, hide, warn }: ListingSources): Layers => {
  hideEnvironment(host.env, hide);
  return chooseProfile({ host, flags, warn });
};

const rowOf = (layers: Layers, name: SettingName): SettingRow => {
  const inForce = findText(layers, name);
  if (inForce === undefined) return { name, value: undefined, source: undefined, from: undefined, problem: undefined };
  const { text, source } = inForce;
  const where = inForce.where();
  const parsed = settings[name].parse(text, layers);
  return {
    name,
    value: shownValue(name, text),
    source,
    from: where.option ?? where.environment ?? where.file,
    problem: parsed.ok
      ? undefined
      : { ...problemPlace(where), severity: "warning", ...wrongProblem({ name, text, parsed }) },
  };
};

/** Names under which people look for what is no setting, since it is secret or goes with a secret. */
const secretNames: ReadonlySet<string> = new Set([
  ...secretVariables.map((variable) => variable.replace("ROLLCALL_", "").toLowerCase()),
  "key",
  "apikey",
  "secret",
  "username",
]);

/** Whether a name is one of a secret. */
export const isSecretName = (name: string): boolean => secretNames.has(plainName(name).replace(/_file$/, ""));

/** A setting's name in the spelling of an option or of a variable, as `config set` takes it. */
const plainName = (typed: string): string =>
  typed
    .toLowerCase()
    .replaceAll("-", "_")
    .replace(/^rollcall_/, "");

/** The setting of a name that was typed. @throws Failure `setting-unknown`, with the one that was meant */
export const settingCalled = (typed: string): SettingName => {
  const name = settingNamed(typed) ?? settingNamed(plainName(typed));
  if (name !== undefined) return name;
  throw settingUnknown({
    name: typed,
    secret: isSecretName(typed),
    suggestion: nearest(typed.replaceAll("-", "_"), settingNames),
  });
};
