/** Makes the files rollcall keeps, and their folders, for their owner alone. */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemFailure } from "./failures.ts";

/** The file and its folder: made with modes of their own, since SQLite goes by the umask. */
export const makeFile = (path: string, title: string): void => {
  try {
    makeFolder(dirname(path));
    closeSync(openSync(path, "a", 0o600));
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (thrown) {
    throw systemFailure(thrown, { path, title });
  }
};

/**
 * Makes a folder and those above it, as far as they are not there. Node's own way of doing that never comes back from
 * places where nothing can be made, such as `/proc`.
 * @throws what the file system says
 */
export const makeFolder = (path: string): void => {
  const wrong = tryMake(path);
  if (wrong === undefined) return;
  if (codeOf(wrong) !== "ENOENT" || dirname(path) === path) throw wrong;
  makeFolder(dirname(path));
  const still = tryMake(path);
  if (still !== undefined) throw still;
};

/** What is wrong where there is no such path afterwards. */
const tryMake = (path: string): unknown => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") return thrown;
  }
  return undefined;
};

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && "code" in thrown ? thrown.code : undefined);
