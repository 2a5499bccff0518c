/** The folders of rollcall's files, and the two files that have settings and credentials: one reader and one writer for both. */
import { isUtf8 } from "node:buffer";
import { accessSync, constants, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { Failure, type FailureLocation, type Problem } from "../failure.ts";
import { checkFileMode, getErrorCode, makeFolder, requireSafeOwnership } from "../files.ts";
import type { Host } from "../host.ts";
import { findFault } from "../json/reader.ts";
import { findSpan, isObject, locateOffset } from "../json/walk.ts";
import { folderUnknown, homeMissing, inaccessibleFile, invalidSettingsFile, settingsLocked } from "./failures.ts";

/** The part of a host that decides where files are. */
export type FolderHost = Pick<Host, "env" | "platform">;

const folders = {
  config: {
    variable: "ROLLCALL_CONFIG_DIR",
    xdg: "XDG_CONFIG_HOME",
    home: ".config",
    mac: "Library/Preferences",
    windows: { variable: "APPDATA", home: "AppData/Roaming", name: "Config" },
  },
  data: {
    variable: "ROLLCALL_DATA_DIR",
    xdg: "XDG_DATA_HOME",
    home: ".local/share",
    mac: "Library/Application Support",
    windows: { variable: "LOCALAPPDATA", home: "AppData/Local", name: "Data" },
  },
};

const findFolder = ({ env, platform }: FolderHost, kind: keyof typeof folders): string | undefined => {
  const { variable, xdg, home, mac, windows } = folders[kind];
  const customFolder = env[variable];
  if (customFolder) return resolve(customFolder);
  const base = env[xdg];
  // The base directory specification has relative paths ignored.
  if (base && isAbsolute(base)) return join(base, "rollcall");
  const below = (folder: string | undefined, ...parts: readonly string[]) => folder && join(folder, ...parts);
  if (platform !== "win32") return below(env.HOME, platform === "darwin" ? mac : home, "rollcall") || undefined;
  return below(env[windows.variable] || below(env.USERPROFILE, windows.home), "rollcall", windows.name) || undefined;
};

/** The folder of the ledger and of the local service; undefined without `ROLLCALL_DATA_DIR` and a home. */
export const findDataFolder = (host: FolderHost): string | undefined => findFolder(host, "data");

/** True if a file can be created: the nearest folder above it that exists can be written. */
export const canCreate = (path: string): boolean => {
  const above = dirname(path);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return statSync(above).isDirectory();
  } catch (thrown) {
    return getErrorCode(thrown) === "ENOENT" && above !== path && canCreate(above);
  }
};

/** A JSON object of a file. */
export type Members = Readonly<Record<string, unknown>>;

/** One of the two files that are saved. */
type SavedKind = "settings" | "credentials";

const findSavedFile = (host: FolderHost, kind: SavedKind): string | undefined => {
  const folder = findFolder(host, "config");
  return folder === undefined ? undefined : join(folder, `${kind}.json`);
};

/** The file of the settings, if it exists or not. @throws Failure `folder-unknown` */
export const findSettingsFile = (host: FolderHost, kind: SavedKind = "settings"): string => {
  const file = findSavedFile(host, kind);
  if (file === undefined) throw folderUnknown("settings");
  return file;
};

/** A saved file: all of its content, also what only newer versions know, and its profiles. */
export interface SavedFile extends ReturnType<typeof parseDocument> {
  readonly profiles: ReadonlyMap<string, Members>;
}

/**
 * Reads a saved file; a missing one is empty. Nothing is created.
 * @throws Failure `invalid-settings-file`, `inaccessible-file`, `unsafe-ownership`
 */
export const readSaved = (host: FolderHost, kind: SavedKind, warn?: (problem: Problem) => void): SavedFile => {
  const file = findSavedFile(host, kind);
  const bytes = file === undefined ? undefined : readIfExists(file);
  if (file === undefined || bytes === undefined) return { members: {}, profiles: new Map(), where: () => ({}) };
  const loose = host.platform === "win32" ? [] : [checkFileMode(file, "600"), checkFileMode(dirname(file), "700")];
  for (const problem of loose) if (problem !== undefined) warn?.(problem);
  const { members, where } = parseDocument(bytes, file, invalidSettingsFile);
  const { profiles = {} } = members;
  if (!isObject(profiles)) throw invalidSettingsFile("`profiles` is not an object", where(["profiles"]));
  const found = new Map<string, Members>();
  for (const [name, saved] of Object.entries(profiles)) {
    if (!isObject(saved))
      throw invalidSettingsFile(`the profile "${name}" is not an object`, where(["profiles", name]));
    found.set(name, saved);
  }
  return { members, where, profiles: found };
};

/** The problems of a saved file's mode. @throws as `readSaved` */
export const findSavedProblems = (host: FolderHost, kind: SavedKind): readonly Problem[] => {
  const problems: Problem[] = [];
  readSaved(host, kind, (problem) => problems.push(problem));
  return problems;
};

const readIfExists = (file: string): Buffer | undefined => {
  try {
    const isFile = statSync(file).isFile();
    requireSafeOwnership(file);
    // A device or a pipe may have no end, or wait for one.
    if (isFile) return readFileSync(file);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const code = getErrorCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw inaccessibleFile("read", file, code, cause);
  }
  throw inaccessibleFile("read", file, "not-a-file");
};

/** Reads a JSON object from a file's bytes. @throws the failure that `broken` makes */
export const parseDocument = (bytes: Uint8Array, file: string, toFailure: typeof invalidSettingsFile) => {
  if (!isUtf8(bytes)) throw toFailure("it is not UTF-8", { file });
  const text = Buffer.from(bytes)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  const own = Buffer.from(text);
  const whereAt = (at: number): FailureLocation => ({ file, ...locateOffset(own, at) });
  // A message of JSON.parse would quote the text, which may have keys in it.
  const fault = findFault(own);
  if (fault !== undefined) throw toFailure(text.trim() === "" ? "it is empty" : "it is not JSON", whereAt(fault.at));
  const members: unknown = JSON.parse(text);
  if (!isObject(members)) throw toFailure("it is not a JSON object", { file });
  /** The position of the value at a path; that of the file if there is none. */
  const where = (path: readonly string[]): FailureLocation => {
    const span = findSpan(own, path);
    return span === undefined ? { file } : whereAt(span.start);
  };
  return { members, where };
};

/** The change that adds members to a profile, which may be new. */
export const addMembers =
  (profile: string, added: Members) =>
  (profiles: Map<string, Members>): void =>
    void profiles.set(profile, { ...profiles.get(profile), ...added });

/** Other writers take milliseconds each. */
const maxWaitMs = 20_000;

/**
 * Changes the profiles of a saved file, or its other members, and returns its path. Everything else in it stays, also what
 * another process writes at the same time.
 * @throws Failure `place-…`, `home-missing`, `invalid-settings-file`; the file is then unchanged
 */
export const changeSaved = async (
  host: Host,
  kind: SavedKind,
  change: (profiles: Map<string, Members>, others: Record<string, unknown>) => void,
): Promise<string> => {
  const file = findSettingsFile(host, kind);
  const { waitForLock } = await import("../database/index.ts");
  const write = await loadWriter();
  try {
    requireSafeOwnership(file);
    makeFolder(dirname(file));
    accessSync(dirname(file), constants.W_OK);
    const path = join(dirname(file), "settings.lock");
    const lock = await waitForLock({ path, title: "the lock of the settings", host, maxWaitMs });
    if (lock === undefined) throw settingsLocked(path);
    try {
      const { members, profiles } = readSaved(host, kind);
      const [changed, { profiles: _, ...others }] = [new Map(profiles), members];
      change(changed, others);
      write(file, { ...others, profiles: Object.fromEntries(changed) });
    } finally {
      lock.release();
    }
  } catch (cause) {
    const code = getErrorCode(cause);
    if (cause instanceof Failure || code === "unknown") throw cause;
    throw inaccessibleFile("write", file, code, cause);
  }
  return file;
};

/** Loads conf, which asks for a home when it is loaded: reading needs neither. */
const loadWriter = async (): Promise<(file: string, document: Record<string, unknown>) => void> => {
  const { default: Conf } = await import("conf").catch((cause: unknown) => {
    throw getErrorCode(cause) === "ERR_SYSTEM_ERROR" ? homeMissing(cause) : cause;
  });
  return (file, document) => {
    const text = `${JSON.stringify(document, undefined, 2)}\n`;
    const target = readIfExists(file) === undefined ? file : realpathSync(file);
    const [folder, draft] = [dirname(target), `${basename(target)}.draft`];
    // The lock is held, so that drafts are those of writers that were killed.
    const clear = (): void => {
      for (const name of readdirSync(folder)) if (name.startsWith(draft)) rmSync(join(folder, name));
    };
    clear();
    try {
      const own = { cwd: folder, configName: draft, fileExtension: "", configFileMode: 0o600 };
      const conf = new Conf({ projectName: "rollcall", projectSuffix: "", ...own, serialize: () => text });
      conf.store = document;
      // On a full disk, conf writes a part and reports no error.
      if (readFileSync(conf.path, "utf8") !== text)
        throw Object.assign(new Error("written in part"), { code: "ENOSPC" });
      renameSync(conf.path, target);
    } finally {
      clear();
    }
  };
};
