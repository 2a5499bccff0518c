/** Makes the files rollcall keeps, readable by their owner alone. */
import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../folder.ts";
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
