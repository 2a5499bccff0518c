/** Reads and changes the files of settings and credentials. */
import { isUtf8 } from "node:buffer";
import * as fs from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { Failure, type Problem } from "../failure.ts";
import { bomLength, isObject, type JsonObject, locateOffset } from "../json/json-bytes.ts";
import { findFault } from "../json/reader.ts";
import { findAt, readRoot, spanOf } from "../json/table.ts";
import * as files from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { folderUnknown, inaccessibleFile, invalidSettingsFile } from "./failures.ts";

export type FolderHost = Pick<Host, "env" | "platform">;

const folders = {
  settings: {
    variable: "ROLLCALL_CONFIG_DIR",
    xdg: "XDG_CONFIG_HOME",
    home: ".config",
    mac: "Library/Preferences",
    windows: { variable: "APPDATA", name: "Config" },
  },
  data: {
    variable: "ROLLCALL_DATA_DIR",
    xdg: "XDG_DATA_HOME",
    home: ".local/share",
    mac: "Library/Application Support",
    windows: { variable: "LOCALAPPDATA", name: "Data" },
  },
};

const findFolder = ({ env, platform }: FolderHost, kind: keyof typeof folders) => {
  const { variable, xdg, home, mac, windows } = folders[kind];
  const { [variable]: chosen, [xdg]: base, [windows.variable]: appData, HOME } = env;
  if (chosen) return resolve(chosen);
  // The XDG specification says to ignore relative paths.
  if (base && isAbsolute(base)) return join(base, "rollcall");
  if (platform === "win32") return appData && isAbsolute(appData) ? join(appData, "rollcall", windows.name) : undefined;
  return HOME && isAbsolute(HOME) ? join(HOME, platform === "darwin" ? mac : home, "rollcall") : undefined;
};

export const findDataFolder = (host: FolderHost) => findFolder(host, "data");

type SavedKind = "settings" | "credentials";

export interface SavedFile {
  /** May contain keys of newer versions. */
  readonly members: JsonObject;
  readonly where: (path: readonly string[]) => Pick<Problem, "file" | "line" | "column">;
  readonly profiles: ReadonlyMap<string, JsonObject>;
}

export const findSettingsFile = (host: FolderHost, kind: SavedKind = "settings") => {
  const folder = findFolder(host, "settings");
  if (!folder) throw folderUnknown("settings");
  return join(folder, `${kind}.json`);
};

/** A missing file counts as empty. @throws Failure `invalid-settings-file`, `inaccessible-file` */
export const readSaved = (host: FolderHost, kind: SavedKind, warn?: (problem: Problem) => void): SavedFile => {
  const file = findFolder(host, "settings") && findSettingsFile(host, kind);
  const bytes = file && readIfExists(file);
  if (!file || !bytes) return { members: {}, profiles: new Map(), where: () => ({}) };
  for (const problem of [files.checkFileMode(file, "600"), files.checkFileMode(dirname(file), "700")])
    if (problem) warn?.(problem);
  if (!isUtf8(bytes)) throw invalidSettingsFile("it is not UTF-8", { file });
  const content = Buffer.from(bytes.subarray(bomLength(bytes)));
  const text = content.toString("utf8");
  const locate = (offset: number) => ({ file, ...locateOffset(content, offset) });
  // The message of `JSON.parse` could quote a secret.
  const fault = findFault(content);
  if (fault) throw invalidSettingsFile(text.trim() === "" ? "it is empty" : "it is not JSON", locate(fault.at));
  const members: unknown = JSON.parse(text);
  if (!isObject(members)) throw invalidSettingsFile("it is not a JSON object", { file });
  const where: SavedFile["where"] = (path) => {
    const value = findAt(readRoot(content), path);
    return value ? locate(spanOf(value).start) : { file };
  };
  const { profiles = {} } = members;
  if (!isObject(profiles)) throw invalidSettingsFile("`profiles` is not an object", where(["profiles"]));
  const entries = Object.entries(profiles).map(([name, saved]) => {
    if (isObject(saved)) return [name, saved] as const;
    throw invalidSettingsFile(`the profile "${name}" is not an object`, where(["profiles", name]));
  });
  return { members, where, profiles: new Map(entries) };
};

const readIfExists = (file: string) => {
  try {
    fs.statSync(file);
    files.requireSafeOwnership(file);
    return files.readRegularFile(file);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const code = files.getErrorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw inaccessibleFile("read", file, code, cause);
  }
};

export const createAddition = (profile: string, added: JsonObject) => (profiles: Map<string, JsonObject>) =>
  profiles.set(profile, { ...profiles.get(profile), ...added });

const lockFile = { noun: "lock of the settings", moveWith: "ROLLCALL_CONFIG_DIR" };
const maxWaitMs = 20_000;

/** Changes a file under a lock, and returns its path. A failure leaves the file unchanged. */
export const changeSaved = async (host: Host, kind: SavedKind, change: (profiles: Map<string, JsonObject>) => void) => {
  const file = findSettingsFile(host, kind);
  const { waitForLock } = await import("../database/own-file.ts");
  try {
    files.requireSafeOwnership(file);
    files.makeFolder(dirname(file));
    fs.accessSync(dirname(file), fs.constants.W_OK);
    const about = { path: join(dirname(file), "settings.lock"), ...lockFile };
    const lock = await waitForLock({ ...about, host, maxWaitMs });
    if (!lock) throw (await import("../database/failures.ts")).databaseLocked(about);
    try {
      const { members, profiles } = readSaved(host, kind);
      const { profiles: _, ...otherMembers } = members;
      const changed = new Map(profiles);
      change(changed);
      // Empty profiles stay in the settings, but not in the credentials.
      const kept = [...changed].filter(([, saved]) => kind === "settings" || Object.keys(saved).length > 0);
      // A link stays, and the file that it names is replaced.
      const target = fs.existsSync(file) ? fs.realpathSync(file) : file;
      removeLeftovers(target);
      await writeSaved(target, { ...otherMembers, profiles: Object.fromEntries(kept) });
    } finally {
      lock.release();
    }
  } catch (cause) {
    const code = files.getErrorCode(cause);
    if (cause instanceof Failure || code === "unknown") throw cause;
    throw inaccessibleFile("write", file, code, cause);
  }
  return file;
};

/** Removes the files of killed processes, because this process has the lock and could read the file. */
const removeLeftovers = (target: string) => {
  for (const name of fs.readdirSync(dirname(target)))
    if (name.startsWith(nameDraft(target))) fs.rmSync(join(dirname(target), name));
};

const nameDraft = (target: string) => `${basename(target)}.draft`;

/** Writes a draft with conf, which does not notice a full disk. */
const writeSaved = async (target: string, document: JsonObject) => {
  const { default: Conf } = await import("conf");
  const text = `${JSON.stringify(document, undefined, 2)}\n`;
  const location = { cwd: dirname(target), configName: nameDraft(target), fileExtension: "", configFileMode: 0o600 };
  const draft = join(location.cwd, location.configName);
  try {
    new Conf({ ...location, serialize: () => text, deserialize: () => ({}) }).store = document;
    if (fs.readFileSync(draft, "utf8") !== text) throw Object.assign(new Error(), { code: "ENOSPC" });
    fs.renameSync(draft, target);
  } finally {
    removeLeftovers(target);
  }
};

export const maxSecretBytes = 64 * 1024;

/** Reads the files that variables such as `ROLLCALL_API_KEY_FILE` name. */
const readVariableFiles = (env: Host["env"]) =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, file = ""]) => {
      const variable = /^(ROLLCALL_\w+)_FILE$/i.exec(name)?.[1];
      return variable ? [[variable, files.ignoreErrors(() => readSecretFile(file))]] : [];
    }),
  );

/** Ignores what rollcall can read only once: pipes, and files that a shell opened, such as `/dev/stdin`. */
const readSecretFile = (file: string) => {
  const facts = fs.statSync(file);
  const canReadTwice = facts.isFile() && !/^\/dev\/(?:stdin$|fd\/)/.test(file);
  return canReadTwice && facts.size <= maxSecretBytes ? fs.readFileSync(file, "utf8") : undefined;
};

/** Returns what messages must not show. */
export const readSavedSecrets = (host: FolderHost & Pick<Host, "env">) => ({
  keys: listSavedKeys(host),
  variables: readVariableFiles(host.env),
});

const listSavedKeys = (host: FolderHost) => {
  const keys: string[] = [];
  files.ignoreErrors(() => {
    const text = files.readRegularFile(findSettingsFile(host, "credentials")).toString("utf8");
    JSON.parse(text.replace(/^\ufeff/, ""), (name, value) => {
      if (name === "key" && typeof value === "string") keys.push(value);
    });
  });
  return keys;
};
