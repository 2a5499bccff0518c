/** Files of rollcall's own: made for their owner alone, with the errors of SQLite and of the system as failures. */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../failure.ts";
import { codeOf, makeFolder, requireOwn } from "../files.ts";
import {
  databaseCorrupt,
  databaseFailed,
  databaseForeign,
  databaseLocked,
  diskFull,
  folderUnusable,
  type TitledFile,
} from "./failures.ts";

/** Runs `work`; its errors of the system or of SQLite become failures that name the file. */
export const guard = <Result>(about: TitledFile, work: () => Result): Result => {
  try {
    return work();
  } catch (thrown) {
    throw fileFailure(thrown, about);
  }
};

const sqliteFailures = {
  BUSY: databaseLocked,
  LOCKED: databaseLocked,
  CORRUPT: databaseCorrupt,
  NOTADB: databaseForeign,
  FULL: diskFull,
};

const hasOwnFailure = (name: string): name is keyof typeof sqliteFailures => name in sqliteFailures;

/** Converts an error of SQLite or of the system to a failure; returns other failures and defects as they are. */
export const fileFailure = (thrown: unknown, about: TitledFile): unknown => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  // The code of libsql is empty if the file cannot be opened at all.
  const code = codeOf(thrown) || "SQLITE_CANTOPEN";
  if (code === "unknown") return thrown;
  const more = { cause: thrown, where: { file: about.path } };
  const [, name = ""] = /^(?:UNKNOWN_)?SQLITE_([A-Z]*)/.exec(code) ?? [];
  if (hasOwnFailure(name)) return sqliteFailures[name](about, more);
  // The shared memory of SQLite is a file, for which a full disk has no room either.
  if (["ENOSPC", "EDQUOT", "SQLITE_IOERR_SHMSIZE"].includes(code)) return diskFull(about, more);
  const isUnusable = name === "" || ["READONLY", "CANTOPEN", "PERM"].includes(name);
  return (isUnusable ? folderUnusable : databaseFailed)({ ...about, code }, more);
};

/** True if SQLite gave up because of another process. */
export const isBusy = (thrown: unknown): boolean => codeOf(thrown).startsWith("SQLITE_BUSY");

/** Makes the file and its folder, with modes of their own, because SQLite goes by the umask. @throws Failure `storage` */
export const makeFile = (about: TitledFile): void => {
  requireOwnFile(about.path);
  guard(about, () => {
    makeFolder(dirname(about.path));
    const file = openSync(about.path, "a", 0o600);
    try {
      if ((fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
    } finally {
      closeSync(file);
    }
  });
};

/** The header of a SQLite file: its first bytes, and the offsets of the number of pages and of the application id. */
const magic = "SQLite format 3\0";
const pagesOffset = 28;
const ownerOffset = 68;
const headerBytes = 72;

/**
 * Refuses the file of another program before anything is done to it: the file does not change, and none is made next to it.
 * @throws Failure `database-foreign`; what the system says
 */
export const refuseForeign = (about: TitledFile, applicationId: number): void => {
  const { path } = about;
  const header = Buffer.alloc(headerBytes);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, headerBytes, 0);
  } finally {
    closeSync(file);
  }
  const owner = header.readUInt32BE(ownerOffset);
  // The application id of a new file may still be in its log only.
  const isNew = owner === 0 && (header.readUInt32BE(pagesOffset) <= 1 || existsSync(`${path}-wal`));
  if (header.toString("latin1", 0, magic.length) === magic && (owner === applicationId || isNew)) return;
  throw databaseForeign(about, { where: { file: path } });
};

/** Tells a file from another one that has its name later; undefined if it does not exist. */
export const identityOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev} ${found.ino} ${found.birthtimeNs}`;
};

/** True if a file and its folder can be written. */
export const isWritable = (path: string): boolean => {
  try {
    for (const needed of [path, dirname(path)]) accessSync(needed, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Refuses a file that another user owns or could replace, or one of SQLite next to it. @throws Failure `place-foreign` */
export const requireOwnFile = (path: string): void => {
  for (const end of ["", "-wal", "-shm", "-journal"]) requireOwn(path + end);
};
