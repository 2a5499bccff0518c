/** Finds the value in force of each setting, and says where it came from: command line > environment > profile > default. */

import type { Failure, Problem, Where } from "../failure.ts";
import { settingWrong } from "./failures.ts";
import type { Members } from "./files.ts";
import { shownAddress, type Unusable } from "./parse.ts";
import type { SettingFlags, SettingSource, SettingsSources } from "./settings.ts";
import { isAddress, optionOf, type SettingName, type SettingValues, settings, variableOf } from "./values.ts";

interface Resolved {
  readonly text: string;
  readonly source: SettingSource;
  readonly where: () => Where;
}

/** What settings are resolved from. */
export interface Layers {
  /** Options as typed. */
  readonly flags: SettingFlags;
  readonly defaults: NonNullable<SettingsSources["defaults"]>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly windows: boolean;
  readonly profile: string;
  /** Whether the profile was named on the command line: its addresses and credentials then go before those of the environment. */
  readonly named: boolean;
  readonly local: boolean;
  /** Whether nothing is saved in the profile yet. */
  readonly isNew: boolean;
  readonly saved: Members;
  readonly where: (name: SettingName) => Where;
}

/** The text in force of a setting; undefined where there is none. */
export const findText = (layers: Layers, name: SettingName): Resolved | undefined =>
  fromFlags(layers, name) ?? fromEnvironmentOrProfile(layers, name) ?? fromDefault(layers, name);

/** Settings that belong to a profile together: what is sent, and where to. The local service has its own of all of them. */
export const belongsToProfile = (name: SettingName): boolean => isAddress(name) || name === "credential_command";

/** The variable that is passed over, since the profile named on the command line has its own; undefined where none is. */
export const passedOver = (layers: Layers, name: SettingName): string | undefined => {
  if (!layers.named || !layers.env[variableOf(name)]) return undefined;
  const source = findText(layers, name)?.source;
  return source === "profile" || source === "default" ? variableOf(name) : undefined;
};

const fromFlags = ({ flags }: Layers, name: SettingName): Resolved | undefined => {
  const typed = flags[name];
  if (typed === undefined) return undefined;
  return { text: String(typed), source: "command line", where: () => ({ setting: name, option: optionOf(name) }) };
};

const fromEnvironmentOrProfile = (layers: Layers, name: SettingName): Resolved | undefined => {
  if (!belongsToProfile(name)) return fromEnvironment(layers, name) ?? fromProfile(layers, name);
  // The service inside this process has its own address and its own key.
  if (layers.local) return undefined;
  if (!layers.named) return fromEnvironment(layers, name) ?? fromProfile(layers, name);
  const own = fromProfile(layers, name);
  // A named profile with a main address logs there, not where the environment says.
  if (own === undefined && name === "log_base_url" && fromProfile(layers, "base_url") !== undefined) return undefined;
  return own ?? fromEnvironment(layers, name);
};

const fromEnvironment = ({ env }: Layers, name: SettingName): Resolved | undefined => {
  const variable = variableOf(name);
  const text = env[variable];
  return text ? { text, source: "environment", where: () => ({ setting: name, environment: variable }) } : undefined;
};

const fromProfile = ({ saved, where }: Layers, name: SettingName): Resolved | undefined => {
  const value = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (value === undefined || value === null || value === "") return undefined;
  return { text: savedText(value), source: "profile", where: () => ({ setting: name, ...where(name) }) };
};

/** A saved value as text: people write numbers and booleans as JSON has them. */
export const savedText = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

const fromDefault = (layers: Layers, name: SettingName): Resolved | undefined => {
  const { defaults, profile, local } = layers;
  const text =
    defaults[name] ?? settings[name].fallback?.({ profile, local, text: (other) => findText(layers, other)?.text });
  return text === undefined ? undefined : { text, source: "default", where: () => ({ setting: name }) };
};

/** The value in force of a setting; undefined where there is none. @throws Failure `setting-wrong` */
export const findValue = <Name extends SettingName>(layers: Layers, name: Name): SettingValues[Name] | undefined => {
  const found = findText(layers, name);
  if (found === undefined) return undefined;
  const { madeOf, parse } = settings[name];
  // A default is wrong only where the setting that it is made of is: that one is named.
  if (found.source === "default" && madeOf !== undefined) findValue(layers, madeOf);
  const parsed = parse(found.text, layers);
  if (parsed.ok) return parsed.value;
  const { text, source } = found;
  const wrong = { name, text, where: found.where(), parsed };
  throw valueWrong(source === "profile" ? { ...wrong, profile: layers.profile } : wrong);
};

/** A value as it may be shown: addresses without a user, a password and a query. */
export const shownValue = (name: SettingName, text: string): string => (isAddress(name) ? shownAddress(text) : text);

/** The failure of a value that can't be used, which names where it came from. */
export const valueWrong = ({
  name,
  text,
  where,
  parsed: { wanted, suggestion },
  profile,
}: {
  readonly name: SettingName;
  readonly text: string;
  readonly where: Where;
  readonly parsed: Unusable;
  readonly profile?: string;
}): Failure => settingWrong({ setting: name, value: shownValue(name, text), wanted, suggestion, where, profile });

/** What is wrong with a setting, as one problem among others. */
export const wrongProblem = ({
  name,
  text,
  parsed: { wanted, suggestion },
}: {
  readonly name: SettingName;
  readonly text: string;
  readonly parsed: Unusable;
}): Pick<Problem, "rule" | "message" | "advice"> => ({
  rule: "setting-wrong",
  message: `${name} can't be "${shownValue(name, text)}": it takes ${wanted}`,
  advice:
    suggestion === undefined
      ? `\`rollcall config set ${name} …\`, or correct it where it stands`
      : `did you mean ${suggestion}?`,
});

/** The place of a problem. */
export const problemPlace = ({ file, line, column }: Where): Pick<Problem, "file" | "line" | "column"> => ({
  ...(file === undefined ? {} : { file }),
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});
