/** Settings and credentials: command line > environment > profile > default, resolved in one function. */

export {
  deleteProfile,
  describeProfile as findProfile,
  exportSettings,
  findImportProblem as importProblem,
  findMissingProfile as newProfile,
  importSettings,
  listProfiles,
  listSettings,
  logout,
  renameProfile,
  type SettingRow,
  type SettingsChange as Changed,
  setSetting,
  showSetting,
  unsetSettings,
  useProfile,
} from "./changes.ts";
export { credentialUses } from "./credentials.ts";
export { findLedgerFile as ledgerFile } from "./database-locations.ts";
export {
  readProfileNames as profileNames,
  readSavedTexts as savedTexts,
  type SettingFlags,
  type SettingsSources,
} from "./layers.ts";
export {
  askLine,
  canAsk,
  findOrigin as originOf,
  keyCheckMaxWait as triedFor,
  type LoginPlan,
  planLogin,
  saveLogin,
} from "./login.ts";
export { readSettings, type ServiceSettings, type Settings, settingMissing } from "./read.ts";
export {
  canCreate as isCreatable,
  findDataFolder as dataFolder,
  findSavedProblems as savedProblems,
  findSettingsFile as settingsFile,
} from "./saved.ts";
export {
  parseDuration,
  parseProject,
  type SettingName,
  settingNames,
  settings as settingTable,
  urlSettingNames as addressNames,
} from "./values.ts";
