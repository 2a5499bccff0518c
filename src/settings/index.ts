/** Settings and credentials: command line > environment > profile > default, resolved once. */
export {
  type Changed,
  type ChangeSources,
  exportSettings,
  importSettings,
  setSetting,
  unsetSettings,
} from "./changes.ts";
export type { FolderFacts } from "./examine.ts";
export type {
  CredentialSource,
  ServiceSettings,
  SettingFlags,
  SettingSource,
  Settings,
  SettingsSources,
} from "./in-force.ts";

/** The door of looking at folders and files. */
export const examineDoor = () => import("./examine.ts");

export { listSettings, type SettingList, type SettingRow, showSetting } from "./listing.ts";
export {
  type LoggedOut,
  type LoginKey,
  type LoginPlan,
  logout,
  originOf,
  planLogin,
  readKey,
  saveLogin,
  triedFor,
  usernameGiven,
  withKey,
} from "./login.ts";
export { credentialUses } from "./logins.ts";
export { parseDuration } from "./measures.ts";
export { dataFolder } from "./places.ts";
export { profileNames, savedTexts } from "./profile.ts";
export { readSettings, settingMissing } from "./read.ts";
export { settingsFile } from "./saved.ts";
export { describeSetting, type SettingName, type SettingValues, settingNames } from "./values.ts";
