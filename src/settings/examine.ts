/** Looks at the places rollcall keeps its files in: their modes, and what is missing. */

import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Problem } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { configFolder, dataFolder, readSaved, type SavedKind } from "./files.ts";

/** A folder, as it was found. */
export interface FolderFacts {
  readonly path: string;
  readonly exists: boolean;
  /** The system's code where it is no folder or can't be looked at. */
  readonly wrong: string | undefined;
  /** Such as `0700`; undefined where there is none, and on Windows. */
  readonly mode: string | undefined;
  /** Whether others than its owner can get at it. */
  readonly loose: boolean;
  /** Whether something can be written into it, or where there is none, whether it can be made. */
  readonly writable: boolean;
}

export { ledgerFile } from "./files.ts";

/** The folders of settings and of data; undefined where there is no place for them. */
export const foldersOf = (host: Host) => ({ settings: configFolder(host), data: dataFolder(host) });

/** Looks at a folder. */
export const examineFolder = (path: string, { platform }: Pick<Host, "platform">): FolderFacts => {
  const found = statOf(path);
  const nearest = typeof found === "object" ? path : existingAbove(path);
  const mode = typeof found === "object" && platform !== "win32" ? found.mode & 0o777 : undefined;
  const wrong =
    typeof found === "object" ? (found.isDirectory ? undefined : "ENOTDIR") : found === "ENOENT" ? undefined : found;
  return {
    path,
    exists: typeof found === "object",
    wrong,
    mode: mode === undefined ? undefined : mode.toString(8).padStart(4, "0"),
    loose: mode !== undefined && (mode & 0o077) !== 0,
    writable: wrong === undefined && isWritable(nearest),
  };
};

const statOf = (path: string): { readonly mode: number; readonly isDirectory: boolean } | string => {
  try {
    const found = statSync(path);
    return { mode: found.mode, isDirectory: found.isDirectory() };
  } catch (thrown) {
    return codeOf(thrown);
  }
};

const existingAbove = (path: string): string => {
  const above = dirname(path);
  return above === path || typeof statOf(above) === "object" ? above : existingAbove(above);
};

const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** The problems of a saved file. @throws Failure `settings-broken`, `place-unusable` */
export const problemsOfSaved = (host: Host, kind: SavedKind): readonly Problem[] => {
  const problems: Problem[] = [];
  readSaved(host, kind, (problem) => problems.push(problem));
  return problems;
};
