/** Finds the value in force of each setting, and says where it came from: command line > environment > profile > default. */
import { Failure, type Where } from "../failure.ts";
import { shownAddress } from "./addresses.ts";
import type { Members } from "./saved.ts";
import { addressNames, optionOf, type SettingName, settings, variableOf } from "./values.ts";

/** Where a value in force came from. */
export type SettingSource = "command line" | "environment" | "profile" | "default";

/** The text of a setting, and where it came from. */
export interface Found {
  readonly text: string;
  readonly source: SettingSource;
  readonly where: Where;
}

/** What settings are resolved from. */
export interface Layers {
  /** Options as typed. */
  readonly flags: Readonly<Partial<Record<SettingName, string | boolean | undefined>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly profile: string;
  /** Whether the profile was named on the command line: its addresses then go before those of the environment. */
  readonly named: boolean;
  readonly local: boolean;
  readonly saved: Members;
  readonly file: string | undefined;
}

const isAddress = (name: SettingName): boolean => addressNames.some((address) => address === name);

/** The text in force of a setting; undefined where there is none. */
export const findText = (layers: Layers, name: SettingName): Found | undefined =>
  fromFlags(layers, name) ?? fromEnvironmentOrProfile(layers, name) ?? fromDefault(layers, name);

/** The variable whose address is passed over, since a profile named on the command line has its own. */
export const passedOver = (layers: Layers, name: SettingName): string | undefined => {
  const found = findText(layers, name);
  return found?.source !== "command line" && found?.source !== "environment" && layers.env[variableOf(name)]
    ? variableOf(name)
    : undefined;
};

const fromFlags = ({ flags }: Layers, name: SettingName): Found | undefined => {
  const typed = flags[name];
  if (typed === undefined) return undefined;
  return { text: String(typed), source: "command line", where: { setting: name, option: optionOf(name) } };
};

const fromEnvironmentOrProfile = (layers: Layers, name: SettingName): Found | undefined => {
  if (!isAddress(name)) return fromEnvironment(layers, name) ?? fromProfile(layers, name);
  // The service inside this process has its own address.
  if (layers.local) return undefined;
  if (!layers.named) return fromEnvironment(layers, name) ?? fromProfile(layers, name);
  const own = fromProfile(layers, name);
  // A named profile with a main address logs there, not where the environment says.
  if (own === undefined && name === "log_base_url" && fromProfile(layers, "base_url") !== undefined) return undefined;
  return own ?? fromEnvironment(layers, name);
};

const fromEnvironment = ({ env }: Layers, name: SettingName): Found | undefined => {
  const variable = variableOf(name);
  const text = env[variable];
  return text ? { text, source: "environment", where: { setting: name, environment: variable } } : undefined;
};

const fromProfile = ({ saved, file }: Layers, name: SettingName): Found | undefined => {
  const value = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (value === undefined || value === null || value === "") return undefined;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return { text, source: "profile", where: { setting: name, ...(file === undefined ? {} : { file }) } };
};

const fromDefault = (layers: Layers, name: SettingName): Found | undefined => {
  const text = settings[name].fallback?.({
    profile: layers.profile,
    local: layers.local,
    text: (other) => findText(layers, other)?.text,
  });
  return text === undefined ? undefined : { text, source: "default", where: { setting: name } };
};

/** The failure of a value that can't be used, which names where it came from. */
export const settingWrong = (
  { name, found, profile }: { readonly name: SettingName; readonly found: Found; readonly profile: string },
  { wanted, suggestion }: { readonly wanted: string; readonly suggestion?: string },
): Failure<"setting-wrong"> =>
  new Failure(
    "setting-wrong",
    {
      setting: name,
      value: isAddress(name) ? shownAddress(found.text) : found.text,
      wanted,
      ...(suggestion === undefined ? {} : { suggestion }),
      ...(found.source === "profile" ? { profile } : {}),
      where: found.where,
    },
    { where: found.where },
  );
