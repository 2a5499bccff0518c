/** Settings and credentials: command line > environment > profile > default, resolved once. */
export { askLine, canAsk } from "./ask.ts";
export {
  type Changed,
  exportSettings,
  importProblem,
  importSettings,
  setSetting,
  unsetSettings,
} from "./changes.ts";
export type { FolderFacts } from "./examine.ts";
export type {
  ServiceSettings,
  SettingFlags,
  Settings,
  SettingsSources,
} from "./settings.ts";

/** The door of looking at folders and files. */
export const examineDoor = () => import("./examine.ts");

export { credentialUses } from "./credentials.ts";
export { dataFolder, settingsFile } from "./files.ts";
export { listSettings, type SettingRow, showSetting } from "./list.ts";
export {
  type LoginKey,
  type LoginPlan,
  originOf,
  planLogin,
  readKey,
  saveLogin,
  triedFor,
  usernameGiven,
  withKey,
} from "./login.ts";
export { parseDuration, parseProject } from "./parse.ts";
export { profileNames, savedTexts } from "./profile.ts";
export {
  deleteProfile,
  findProfile,
  listProfiles,
  logout,
  newProfile,
  type ProfileRow,
  renameProfile,
  useProfile,
} from "./profiles.ts";
export { readSettings, settingMissing } from "./read.ts";
export {
  addressNames,
  describeSetting,
  exampleOf,
  type SettingName,
  settingNames,
} from "./values.ts";
