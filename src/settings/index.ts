/** Settings and credentials: command line > environment > profile > default, resolved in one function. */

export {
  deleteProfile,
  exportSettings,
  findProfile,
  findSettingProblem,
  importSettings,
  listProfiles,
  listSettings,
  logout,
  renameProfile,
  type SettingRow,
  type SettingsChange,
  setSetting,
  showSetting,
  unsetSettings,
  useProfile,
} from "./changes.ts";
export { credentialUses } from "./credentials.ts";
export { findLedgerFile } from "./database-locations.ts";
export {
  localProfile,
  readSavedTexts,
  type SettingFlags,
  type SettingsSources,
} from "./layers.ts";
export {
  askLine,
  canAsk,
  findOrigin,
  keyCheckMaxWait,
  type LoginPlan,
  planLogin,
  saveLogin,
} from "./login.ts";
export { readSettings, type ServiceSettings, type Settings, settingMissing } from "./read.ts";
export { canCreate, findDataFolder, findSettingsFile, readSaved } from "./saved.ts";
export {
  parseDuration,
  parseProject,
  type SettingName,
  settingNames,
  settings as settingTable,
  urlSettingName,
  urlSettingNames,
} from "./values.ts";
