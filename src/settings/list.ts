/** Shows settings: their values as they were written, where each came from, and what is wrong with it. */
import { Failure, type Problem } from "../failure.ts";
import { nearest } from "../nearest.ts";
import { chooseProfile } from "./profile.ts";
import { type Found, findText, findValue, type Layers, problemPlace, shownValue, wrongProblem } from "./resolve.ts";
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

/** All settings of a profile. */
export interface SettingList {
  readonly profile: string;
  readonly rows: readonly SettingRow[];
  /** Names in the profile that are no settings of this version; they are kept. */
  readonly unknown: readonly string[];
}

/** What settings are shown from. */
export type ListingSources = Pick<SettingsSources, "host" | "flags" | "hide" | "warn">;

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
export const showSetting = (sources: ListingSources, typed: string): SettingRow => {
  const name = settingCalled(typed);
  const layers = layersOf(sources);
  findValue(layers, name);
  return rowOf(layers, name);
};

const layersOf = ({ host, flags, hide, warn }: ListingSources): Layers => {
  hideEnvironment(host.env, hide);
  return chooseProfile({ host, flags, warn });
};

const rowOf = (layers: Layers, name: SettingName): SettingRow => {
  const found = findText(layers, name);
  return {
    name,
    value: found === undefined ? undefined : shownValue(name, found.text),
    source: found?.source,
    from: found === undefined ? undefined : fromOf(found),
    problem: problemOf(layers, name),
  };
};

const fromOf = (found: Found): string | undefined => {
  const { option, environment, file } = found.where();
  return option ?? environment ?? file;
};

const problemOf = (layers: Layers, name: SettingName): Problem | undefined => {
  const found = findText(layers, name);
  const parsed = found === undefined ? undefined : settings[name].parse(found.text, layers);
  if (found === undefined || parsed === undefined || parsed.ok) return undefined;
  return { ...problemPlace(found.where()), severity: "warning", ...wrongProblem({ name, text: found.text, parsed }) };
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
export const isSecretName = (name: string): boolean =>
  secretNames.has(
    name
      .toLowerCase()
      .replaceAll("-", "_")
      .replace(/^rollcall_/, "")
      .replace(/_file$/, ""),
  );

/** The setting of a name that was typed. @throws Failure `setting-unknown`, with the one that was meant */
export const settingCalled = (typed: string): SettingName => {
  const name =
    settingNamed(typed) ??
    settingNamed(
      typed
        .toLowerCase()
        .replaceAll("-", "_")
        .replace(/^rollcall_/, ""),
    );
  if (name !== undefined) return name;
  const suggestion = nearest(typed.replaceAll("-", "_"), settingNames);
  throw new Failure("setting-unknown", {
    name: typed,
    secret: isSecretName(typed),
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};
