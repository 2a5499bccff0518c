/** Makes the files rollcall keeps, readable by their owner alone. */
import { closeSync, fchmodSync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../folder.ts";
import { systemFailure } from "./failures.ts";

/** The file and its folder: made with modes of their own, since SQLite goes by the umask. */
export const makeFile = (path: string, title: string): void => {
  try {
    makeFolder(dirname(path));
    const file = openSync(path, "a", 0o600);
    try {
      if ((fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw systemFailure(thrown, { path, title });
  }
};
