/** Settings and credentials: command line > environment > profile > default, resolved in one function. */

export {
  type Changed,
  deleteProfile,
  exportSettings,
  findProfile,
  importProblem,
  importSettings,
  listProfiles,
  listSettings,
  logout,
  newProfile,
  renameProfile,
  type SettingRow,
  setSetting,
  showSetting,
  unsetSettings,
  useProfile,
} from "./changes.ts";
export { credentialUses } from "./credentials.ts";
export { profileNames, type SettingFlags, type SettingsSources, savedTexts } from "./layers.ts";
export { askLine, canAsk, type LoginPlan, originOf, planLogin, saveLogin, triedFor } from "./login.ts";
export { ledgerFile } from "./places.ts";
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
