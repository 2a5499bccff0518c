/** Where rollcall keeps its files (the platform's own folders, XDG's where set, or what `ROLLCALL_…_DIR` says), and what is saved in two of them. */

import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { Failure, type Problem, type Where } from "../failure.ts";
import { codeOf, looseMode, requireOwn } from "../files.ts";
import type { Host } from "../host.ts";
import { faultIn } from "../json/reader.ts";
import { isObject, positionOf, spanAt } from "../json/walk.ts";
import { placeMissing, placeUnusable, settingsBroken } from "./failures.ts";

/** What of a host decides where files are. */
export type Machine = Pick<Host, "env" | "platform">;

/** The folder of settings and credentials; undefined where there is neither `ROLLCALL_CONFIG_DIR` nor a home. */
export const configFolder = (host: Machine): string | undefined =>
  folder(host, { named: "ROLLCALL_CONFIG_DIR", xdg: "XDG_CONFIG_HOME", home: configHome });

/** The folder of the local service's store and of the ledger; undefined where there is neither `ROLLCALL_DATA_DIR` nor a home. */
export const dataFolder = (host: Machine): string | undefined =>
  folder(host, { named: "ROLLCALL_DATA_DIR", xdg: "XDG_DATA_HOME", home: dataHome });

/** The ledger: what `ROLLCALL_LEDGER` says, else a file of the data folder; undefined where there is neither. */
export const ledgerFile = (host: Machine): string | undefined =>
  host.env.ROLLCALL_LEDGER ? resolve(host.env.ROLLCALL_LEDGER) : below(dataFolder(host), "ledger.db");

/** The store of the local service where `ROLLCALL_STORE` says so; undefined for the one of the data folder. */
export const storeFile = (host: Machine): string | undefined =>
  host.env.ROLLCALL_STORE ? resolve(host.env.ROLLCALL_STORE) : undefined;

const folder = (
  { env, platform }: Machine,
  { named, xdg, home }: { named: string; xdg: string; home: (machine: Machine) => string | undefined },
): string | undefined => {
  const chosen = env[named];
  if (chosen) return resolve(chosen);
  const base = env[xdg];
  // The base directory specification has relative paths ignored.
  return base && isAbsolute(base) ? join(base, "rollcall") : home({ env, platform });
};

const below = (base: string | undefined, ...parts: readonly string[]): string | undefined =>
  base ? join(base, ...parts) : undefined;

const configHome = ({ env, platform }: Machine): string | undefined => {
  if (platform === "darwin") return below(env.HOME, "Library", "Preferences", "rollcall");
  if (platform === "win32") {
    return below(env.APPDATA || below(env.USERPROFILE, "AppData", "Roaming"), "rollcall", "Config");
  }
  return below(env.HOME, ".config", "rollcall");
};

const dataHome = ({ env, platform }: Machine): string | undefined => {
  if (platform === "darwin") return below(env.HOME, "Library", "Application Support", "rollcall");
  if (platform === "win32") {
    return below(env.LOCALAPPDATA || below(env.USERPROFILE, "AppData", "Local"), "rollcall", "Data");
  }
  return below(env.HOME, ".local", "share", "rollcall");
};

/** A saved file: where it is, everything that stands in it (what newer versions wrote included), and its profiles. */
export interface Saved extends JsonDocument {
  /** Undefined where there is no folder to look in. */
  readonly file: string | undefined;
  readonly profiles: ReadonlyMap<string, Members>;
}

const names = { settings: "settings.json", credentials: "credentials.json" } as const;

/** Which of the two files. */
export type SavedKind = keyof typeof names;

/** Where a saved file is, whether or not it exists; undefined where there is no place for it. */
export const savedFile = (host: Machine, kind: SavedKind): string | undefined => {
  const folder = configFolder(host);
  return folder === undefined ? undefined : join(folder, names[kind]);
};

/** Where the settings are saved, whether or not they are. @throws Failure `place-missing` */
export const settingsFile = (host: Machine): string => {
  const file = savedFile(host, "settings");
  if (file === undefined) throw placeMissing("settings");
  return file;
};

/**
 * Reads a saved file; one that is not there is empty. Nothing is created.
 * @throws Failure `settings-broken`, `place-unusable`, `place-foreign`
 */
export const readSaved = (host: Machine, kind: SavedKind, warn?: (problem: Problem) => void): Saved => {
  const file = savedFile(host, kind);
  const bytes = file === undefined ? undefined : readIfThere(file);
  if (file === undefined || bytes === undefined) {
    return { file, members: {}, profiles: new Map(), where: () => ({}) };
  }
  const loose = host.platform === "win32" ? [] : [looseMode(file, "600"), looseMode(dirname(file), "700")];
  for (const problem of loose) if (problem !== undefined) warn?.(problem);
  const document = parseDocument(bytes, file, settingsBroken);
  return { file, ...document, profiles: profilesOf(document) };
};

const readIfThere = (file: string): Buffer | undefined => {
  const unusable = (code: string, cause?: unknown): Failure =>
    placeUnusable({ place: file, doing: "read", code, cause });
  try {
    const isFile = statSync(file).isFile();
    requireOwn(file);
    // A device or a pipe may have no end, or wait for one.
    if (isFile) return readFileSync(file);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const code = codeOf(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unusable(code, cause);
  }
  throw unusable("not-a-file");
};

/** A JSON object of a file. */
export type Members = Readonly<Record<string, unknown>>;

/** A file's JSON object, and where things stand in it. */
interface JsonDocument {
  readonly members: Members;
  /** Where the value at a path stands; nothing where there is none. */
  where(path: readonly string[]): Where;
}

/** What is said of a text that is no document. */
export type Broken = (about: { readonly wrong: string; readonly where: Where }) => Failure;

/** Reads a JSON object from a file's bytes. @throws what `broken` makes */
export const parseDocument = (bytes: Uint8Array, file: string, broken: Broken): JsonDocument => {
  if (!isUtf8(bytes)) throw broken({ wrong: "it is not UTF-8", where: { file } });
  const text = Buffer.from(bytes)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  const own = Buffer.from(text);
  // What JSON.parse says would quote the text, and in that there may be keys.
  const fault = faultIn(own);
  if (fault !== undefined) {
    const where = { file, ...positionOf(own, fault.at) };
    throw broken({ wrong: text.trim() === "" ? "it is empty" : "it is not JSON", where });
  }
  const members: unknown = JSON.parse(text);
  if (!isObject(members)) throw broken({ wrong: "it is not a JSON object", where: { file } });
  const where = (path: readonly string[]): Where => {
    const span = spanAt(own, path);
    return span === undefined ? { file } : { file, ...positionOf(own, span.start) };
  };
  return { members, where };
};

/** The profiles of a saved file. @throws Failure `settings-broken` */
const profilesOf = (document: JsonDocument): ReadonlyMap<string, Members> => {
  const { profiles = {} } = document.members;
  if (!isObject(profiles)) {
    throw settingsBroken({ wrong: "`profiles` is not an object", where: document.where(["profiles"]) });
  }
  return new Map(
    Object.entries(profiles).map(([name, saved]): [string, Members] => {
      if (isObject(saved)) return [name, saved];
      const where = document.where(["profiles", name]);
      throw settingsBroken({ wrong: `the profile "${name}" is not an object`, where });
    }),
  );
};
