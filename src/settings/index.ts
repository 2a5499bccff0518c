/** Reads and changes settings, profiles and credentials. */

export * from "./changes.ts";
export { credentialUses, findSecretVariables } from "./credentials.ts";
export { localProfile, readSavedTexts, type SettingFlags, type SettingsSources } from "./layers.ts";
export * from "./login.ts";
export * from "./read.ts";
export { canCreate, findDataFolder, findSettingsFile, readModelIds, readSaved, saveModelIds } from "./saved-files.ts";
export {
  isSettingName,
  parseProject,
  type SettingName,
  settingNames,
  settings as settingTable,
  urlSettingName,
} from "./values.ts";
