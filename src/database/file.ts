/** A file rollcall keeps: made for its owner alone, and what SQLite and the system say of it as failures with a fix. */
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

/** A file, and what it is for a person: "the store of the local service". */
export interface TitledFile {
  readonly path: string;
  readonly title: string;
}

/** The file and its folder: made with modes of their own, since SQLite goes by the umask. @throws Failure `storage` */
export const makeFile = ({ path, title }: TitledFile): void => {
  requireOwnFile(path);
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

/** Where SQLite's header has what it says: what every file begins with, how many pages there are, and whose file it is. */
const magic = "SQLite format 3\0";
const pagesAt = 28;
const ownerAt = 68;
const headerBytes = 72;

/**
 * Refuses a file that is none of this kind before anything is done to it: nothing of it is changed, and nothing made beside it.
 * @throws Failure `database-foreign`, `folder-unusable`
 */
export const refuseForeign = ({
  path,
  title,
  applicationId,
}: TitledFile & { readonly applicationId: number }): void => {
  const header = Buffer.alloc(headerBytes);
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    // A pipe would wait for its writer; what is no file is refused when it is opened.
    if (facts === undefined || !facts.isFile() || facts.size === 0) return;
    const file = openSync(path, "r");
    try {
      readSync(file, header, 0, headerBytes, 0);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw systemFailure(thrown, { path, title });
  }
  const owner = header.readUInt32BE(ownerAt);
  // What makes a new file ours may stand in its log still.
  const isNew = owner === 0 && (header.readUInt32BE(pagesAt) <= 1 || isThere(`${path}-wal`));
  if (header.toString("latin1", 0, magic.length) === magic && (owner === applicationId || isNew)) return;
  throw new Failure("database-foreign", { path, title }, { where: { file: path } });
};

/** Tells a file from another one that has its name later; undefined where there is none. */
export const identityOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev} ${found.ino} ${found.birthtimeNs}`;
};

/** Whether a file and the folder that it is in can be written. */
export const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** What SQLite keeps beside a database, behind its name. */
const besides = ["-wal", "-shm", "-journal"];

/** Refuses a database that another user owns or could replace, or of which a part would be theirs. @throws Failure `place-foreign` */
export const requireOwnFile = (path: string): void => {
  requireOwn(path);
  for (const beside of besides.map((end) => `${path}${end}`)) {
    if (isThere(beside)) requireOwn(beside);
  }
};

const isThere = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** The failure that something thrown by SQLite means; other failures and defects pass as they are. */
export const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  // libsql gives an empty code where the file can't be opened at all.
  const code = codeOf(thrown) || "SQLITE_CANTOPEN";
  return code.startsWith("SQLITE_") || code.startsWith("UNKNOWN_SQLITE_") ? failureOfCode(code, about, thrown) : thrown;
};

const failureOfCode = (code: string, { path, title }: TitledFile, cause: Error): Failure => {
  const is = (...names: readonly string[]) => names.some((name) => code === name || code.startsWith(`${name}_`));
  const [about, more] = [
    { path, title },
    { cause, where: { file: path } },
  ];
  if (is("SQLITE_BUSY", "SQLITE_LOCKED")) return new Failure("database-locked", about, more);
  if (is("SQLITE_CORRUPT")) return new Failure("database-corrupt", about, more);
  if (is("SQLITE_NOTADB")) return new Failure("database-foreign", about, more);
  // Its shared memory is a file beside it, which a full disk has no room for either.
  if (is("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")) return new Failure("disk-full", about, more);
  if (is("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) {
    return new Failure("folder-unusable", { ...about, code }, more);
  }
  return new Failure("database-failed", { ...about, code }, more);
};

/** Whether SQLite gave up because of another process. */
export const isBusy = (thrown: unknown): boolean => codeOf(thrown).startsWith("SQLITE_BUSY");

/** The failure that something thrown by the file system means; other failures and defects pass as they are. */
export const systemFailure = (thrown: unknown, { path, title }: TitledFile): unknown => {
  const code = codeOf(thrown);
  if (code === "unknown" || thrown instanceof Failure) return thrown;
  const [about, more] = [
    { path, title },
    { cause: thrown, where: { file: path } },
  ];
  if (code === "ENOSPC" || code === "EDQUOT") return new Failure("disk-full", about, more);
  return new Failure("folder-unusable", { ...about, code }, more);
};
