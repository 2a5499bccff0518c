/** A SQLite file of rollcall's own: made for its owner alone, with the errors of SQLite and of the system as failures. */
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../failure.ts";
import { codeOf, makeFolder, requireOwn } from "../files.ts";

/** A file or a database, and its name for a person, such as "the ledger". */
export interface TitledFile {
  readonly path: string;
  readonly title: string;
}

/** Makes the file and its folder, with modes of their own, because SQLite goes by the umask. @throws Failure `storage` */
export const makeFile = (about: TitledFile): void => {
  requireOwnFile(about.path);
  try {
    makeFolder(dirname(about.path));
    const file = openSync(about.path, "a", 0o600);
    try {
      if ((fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw systemFailure(thrown, about);
  }
};

/** The header of a SQLite file: its first bytes, and the offsets of the number of pages and of the application id. */
const magic = "SQLite format 3\0";
const pagesOffset = 28;
const ownerOffset = 68;
const headerBytes = 72;

/**
 * Refuses the file of another program before anything is done to it: the file does not change, and none is made next to it.
 * @throws Failure `database-foreign`, `folder-unusable`
 */
export const refuseForeign = (about: TitledFile, applicationId: number): void => {
  const { path } = about;
  const header = Buffer.alloc(headerBytes);
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    // A pipe would wait for its writer. Opening refuses what is not a file.
    if (stats === undefined || !stats.isFile() || stats.size === 0) return;
    const file = openSync(path, "r");
    try {
      readSync(file, header, 0, headerBytes, 0);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw systemFailure(thrown, about);
  }
  const owner = header.readUInt32BE(ownerOffset);
  // The application id of a new file may still be in its log only.
  const isNew = owner === 0 && (header.readUInt32BE(pagesOffset) <= 1 || exists(`${path}-wal`));
  if (header.toString("latin1", 0, magic.length) === magic && (owner === applicationId || isNew)) return;
  throw new Failure("database-foreign", about, { where: { file: path } });
};

/** Tells a file from another one that has its name later; undefined if it does not exist. */
export const identityOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev} ${found.ino} ${found.birthtimeNs}`;
};

/** True if a file and its folder can be written. */
export const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Refuses a file that another user owns or could replace; the same for the files of SQLite next to it. @throws Failure `place-foreign` */
export const requireOwnFile = (path: string): void => {
  requireOwn(path);
  for (const end of ["-wal", "-shm", "-journal"]) if (exists(path + end)) requireOwn(path + end);
};

const exists = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** Converts an error of SQLite to a failure; returns other failures and defects as they are. */
export const sqliteFailure = (thrown: unknown, about: TitledFile): unknown => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  // The code of libsql is empty if the file cannot be opened at all.
  const code = codeOf(thrown) || "SQLITE_CANTOPEN";
  if (!/^(UNKNOWN_)?SQLITE_/.test(code)) return thrown;
  const is = (...names: readonly string[]) => names.some((name) => code === name || code.startsWith(`${name}_`));
  const more = { cause: thrown, where: { file: about.path } };
  if (is("SQLITE_BUSY", "SQLITE_LOCKED")) return new Failure("database-locked", about, more);
  if (is("SQLITE_CORRUPT")) return new Failure("database-corrupt", about, more);
  if (is("SQLITE_NOTADB")) return new Failure("database-foreign", about, more);
  // Its shared memory is a file next to it, for which a full disk has no room either.
  if (is("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")) return new Failure("disk-full", about, more);
  const isUnusable = is("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM");
  return new Failure(isUnusable ? "folder-unusable" : "database-failed", { ...about, code }, more);
};

/** True if SQLite gave up because of another process. */
export const isBusy = (thrown: unknown): boolean => codeOf(thrown).startsWith("SQLITE_BUSY");

/** Converts an error of the file system to a failure; returns other failures and defects as they are. */
export const systemFailure = (thrown: unknown, about: TitledFile): unknown => {
  const code = codeOf(thrown);
  if (code === "unknown" || thrown instanceof Failure) return thrown;
  const more = { cause: thrown, where: { file: about.path } };
  if (code === "ENOSPC" || code === "EDQUOT") return new Failure("disk-full", about, more);
  return new Failure("folder-unusable", { ...about, code }, more);
};
