/** Settings and credentials: command line > environment > profile > default, resolved once. */
export type {
  CredentialSource,
  ServiceSettings,
  SettingFlags,
  SettingSource,
  Settings,
  SettingsSources,
} from "./in-force.ts";
export { profileNames } from "./profile.ts";
export { readSettings } from "./read.ts";
export { type SettingName, type SettingValues, settingNames } from "./values.ts";
