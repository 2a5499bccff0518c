/** Reads what is saved: the settings file and the credentials file, plainly, checked, and with their modes looked at. */
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure, type Problem } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { commandLine } from "../shell-words.ts";
import { type JsonDocument, type Members, parseDocument, profilesOf, settingsBroken } from "./document.ts";
import { configFolder } from "./places.ts";

/** What of a host decides where saved files are. */
export type Machine = Pick<Host, "env" | "platform">;

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
  if (file === undefined) throw new Failure("place-missing", { what: "settings", variable: "ROLLCALL_CONFIG_DIR" });
  return file;
};

/**
 * Reads a saved file; one that is not there is empty. Nothing is created.
 * @throws Failure `settings-broken`, `place-unusable`
 */
export const readSaved = (host: Machine, kind: SavedKind, warn?: (problem: Problem) => void): Saved => {
  const file = savedFile(host, kind);
  const bytes = file === undefined ? undefined : readIfThere(file);
  if (file === undefined || bytes === undefined) {
    return { file, members: {}, profiles: new Map(), where: () => ({}) };
  }
  if (host.platform !== "win32" && warn !== undefined) warnOfModes(file, warn);
  const document = parseDocument(bytes, file, settingsBroken);
  return { file, ...document, profiles: profilesOf(document) };
};

/** The bytes of a file; undefined where there is none. */
const readIfThere = (file: string): Buffer | undefined => {
  const unusable = (code: string, cause?: unknown): Failure =>
    new Failure("place-unusable", { place: file, doing: "read", code }, { where: { file }, cause });
  try {
    // A device or a pipe may have no end, or wait for one.
    if (statSync(file).isFile()) return readFileSync(file);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unusable(code, cause);
  }
  throw unusable("not-a-file");
};

const warnOfModes = (file: string, warn: (problem: Problem) => void): void => {
  for (const [path, wanted] of [
    [file, "600"],
    [dirname(file), "700"],
  ] as const) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) continue;
    warn({
      file: path,
      rule: "loose-mode",
      severity: "warning",
      message: `other users can get at ${path} (mode ${(mode & 0o777).toString(8).padStart(4, "0")})`,
      advice: `${commandLine(["chmod", wanted, path])}`,
    });
  }
};
