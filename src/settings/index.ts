/** Settings and credentials: command line > environment > profile > default, resolved in one function. */

export {
  type Changed,
  exportSettings,
  importProblem,
  importSettings,
  listSettings,
  type SettingRow,
  setSetting,
  showSetting,
  unsetSettings,
} from "./changes.ts";
export { credentialUses } from "./credentials.ts";
export { profileNames, type SettingFlags, type SettingsSources, savedTexts } from "./layers.ts";
export { askLine, canAsk, type LoginPlan, originOf, planLogin, saveLogin, triedFor } from "./login.ts";
export { ledgerFile } from "./places.ts";
export {
  deleteProfile,
  findProfile,
  listProfiles,
  logout,
  newProfile,
  renameProfile,
  useProfile,
} from "./profiles.ts";
export { readSettings, type ServiceSettings, type Settings, settingMissing } from "./read.ts";
export { dataFolder, isCreatable, savedProblems, settingsFile } from "./saved.ts";
export {
  addressNames,
  parseDuration,
  parseProject,
  type SettingName,
  settingNames,
  settings as settingTable,
} from "./values.ts";
