/** A file rollcall keeps: made for its owner alone, and what SQLite and the system say of it as failures with a fix. */
import { closeSync, fchmodSync, fstatSync, lstatSync, openSync } from "node:fs";
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
  if (is("SQLITE_BUSY", "SQLITE_LOCKED")) return new Failure("database-locked", about, { ...more, retryable: true });
  if (is("SQLITE_CORRUPT")) return new Failure("database-corrupt", about, more);
  if (is("SQLITE_NOTADB")) return new Failure("database-foreign", about, more);
  if (is("SQLITE_FULL")) return new Failure("disk-full", about, more);
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
