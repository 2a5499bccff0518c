/** Creates private files, and locks a file for one process. */
import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import Connection from "libsql";
import { Failure } from "../failure.ts";
import { getErrorCode, ignoreErrors, makeFolder, requireSafeOwnership } from "../files.ts";
import type { DatabaseWaitOptions } from "./database.ts";
import * as failures from "./failures.ts";

export const withFileFailures = <Result>(about: failures.TitledFile, work: () => Result) => {
  try {
    return work();
  } catch (thrown) {
    throw toFileFailure(thrown, about);
  }
};

const sqliteFailures = new Map([
  ["BUSY", failures.databaseLocked],
  ["LOCKED", failures.databaseLocked],
  ["CORRUPT", failures.databaseCorrupt],
  ["NOTADB", failures.databaseForeign],
  ["FULL", failures.diskFull],
]);

export const toFileFailure = (thrown: unknown, about: failures.TitledFile) => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  // libsql's error code is empty if libsql cannot open the file.
  const code = getErrorCode(thrown) || "SQLITE_CANTOPEN";
  if (code === "unknown") return thrown;
  const [, name = ""] = /^(?:UNKNOWN_)?SQLITE_([A-Z]*)/.exec(code) ?? [];
  // SQLite's shared memory is a file, so SHMSIZE means a full disk.
  const isFull = ["ENOSPC", "EDQUOT", "SQLITE_IOERR_SHMSIZE"].includes(code);
  const make = isFull ? failures.diskFull : sqliteFailures.get(name);
  if (make) return make(about, thrown);
  const isUnusable = ["", "READONLY", "CANTOPEN", "PERM"].includes(name);
  return (isUnusable ? failures.folderUnusable : failures.databaseFailed)({ ...about, code }, thrown);
};

export const isBusy = (thrown: unknown) => getErrorCode(thrown).startsWith("SQLITE_BUSY");

export const requireOwnFile = (path: string) => {
  for (const end of ["", "-wal", "-shm", "-journal"]) requireSafeOwnership(path + end);
};

/** Creates a private file, because SQLite would use the umask. @throws Failure `storage` */
export const ensurePrivateFile = (about: failures.TitledFile) => {
  requireOwnFile(about.path);
  withFileFailures(about, () => {
    makeFolder(dirname(about.path));
    // `fchmod` also works on a file that another process deleted.
    const file = fs.openSync(about.path, "a", 0o600);
    try {
      if ((fs.fstatSync(file).mode & 0o077) !== 0) fs.fchmodSync(file, 0o600);
    } finally {
      fs.closeSync(file);
    }
  });
};

/** Does not open the file, because closing a descriptor would release SQLite's locks. */
export const readFileIdentity = (path: string) => {
  const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
};

export type Lock = NonNullable<ReturnType<typeof tryLock>>;

/** Locks a file until `release` or the end of the process. Returns undefined if another process has the lock. */
export const tryLock = (about: failures.TitledFile) => {
  const { path } = about;
  ensurePrivateFile(about);
  const identity = readFileIdentity(path);
  const isHeld = () => identity !== undefined && readFileIdentity(path) === identity;
  const connection = withFileFailures(about, () => new Connection(resolve(path), { timeout: 0 }));
  const release = () => {
    if (!connection.open) return;
    // Deletes the file first, because another process can lock the file after ROLLBACK.
    if (isHeld()) ignoreErrors(() => fs.rmSync(path));
    if (connection.inTransaction) connection.exec("ROLLBACK");
    connection.close();
  };
  try {
    connection.exec("BEGIN IMMEDIATE");
    if (isHeld()) return { isHeld, release };
    connection.close();
  } catch (thrown) {
    connection.close();
    if (isHeld() && !isBusy(thrown)) throw toFileFailure(thrown, about);
  }
  return undefined;
};

const retryMs = 100;

export interface LockWaitOptions extends Pick<DatabaseWaitOptions, "host" | "maxWaitMs"> {
  onWait?: () => void;
}

/** Returns undefined after `maxWaitMs`. @throws Failure `storage`; the signal's reason */
export const waitForLock = async (options: failures.TitledFile & LockWaitOptions) => {
  const { host, maxWaitMs, onWait, ...about } = options;
  const endMs = host.elapsed() + maxWaitMs;
  let lock = tryLock(about);
  if (!lock) onWait?.();
  for (; !lock; lock = tryLock(about)) {
    const leftMs = endMs - host.elapsed();
    if (leftMs <= 0) return undefined;
    await host.sleep(Math.min(retryMs * (0.5 + host.random()), leftMs + 1), host.signal);
  }
  return lock;
};
