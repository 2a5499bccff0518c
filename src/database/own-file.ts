/** Creates private files, finds their own paths, and locks a file for one process. */
import * as fs from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Database as Connection } from "libsql";
import { Failure } from "../failure.ts";
import { getErrorCode, ignoreErrors, makeFolder, requireSafeOwnership } from "../system/files.ts";
import type { DatabaseWaitOptions } from "./database.ts";
import * as failures from "./failures.ts";

export const withFileFailures = <Result>(about: failures.DescribedFile, work: () => Result) => {
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
  // The tables of an opened file are missing.
  ["ERROR", failures.databaseCorrupt],
  ["NOTADB", failures.databaseForeign],
  ["FULL", failures.diskFull],
]);

export const toFileFailure = (thrown: unknown, about: failures.DescribedFile) => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  // libsql's error code is empty if libsql cannot open the file.
  const code = getErrorCode(thrown) || "SQLITE_CANTOPEN";
  if (code === "unknown") return thrown;
  const [, name = ""] = /^(?:UNKNOWN_)?SQLITE_([A-Z]*)/.exec(code) ?? [];
  const make = ["ENOSPC", "EDQUOT"].includes(code) ? failures.diskFull : sqliteFailures.get(name);
  if (make) return make(about, thrown);
  const isUnusable = ["", "READONLY", "CANTOPEN", "PERM"].includes(name) && code !== "SQLITE_READONLY_DBMOVED";
  return (isUnusable ? failures.folderUnusable : failures.databaseFailed)({ ...about, code }, thrown);
};

/** Opens a file without a wait for locks. @throws Failure `package-missing` on platforms without the addon */
export const loadSqlite = async (about: failures.DescribedFile) => {
  const { default: Sqlite } = await import("libsql").catch((thrown: unknown) => {
    throw failures.packageMissing({ ...about, code: getErrorCode(thrown) }, thrown);
  });
  return (file: string): Connection => new Sqlite(file, { timeout: 0 });
};

const maxRetryMs = 20;

type FreeWait = Pick<DatabaseWaitOptions, "host" | "maxWaitMs">;

/** Repeats `work` while another connection has the file. A signal does not end this wait. */
export const whileBusy = async <Result>(
  about: failures.DescribedFile,
  { host, maxWaitMs }: FreeWait,
  work: () => Result,
): Promise<Result> => {
  const endMs = host.elapsed() + maxWaitMs;
  for (;;) {
    try {
      return work();
    } catch (thrown) {
      const leftMs = endMs - host.elapsed();
      if (!isBusy(thrown) || leftMs <= 0) throw toFileFailure(thrown, about);
      await host.sleep(Math.min(host.random() * maxRetryMs, leftMs + 1));
    }
  }
};

const isBusy = (thrown: unknown) => getErrorCode(thrown).startsWith("SQLITE_BUSY");

export const requireOwnFile = (path: string) => {
  for (const end of ["", "-journal"]) requireSafeOwnership(path + end);
};

/** Creates a private file, because SQLite would use the umask. @throws Failure `storage` */
const ensurePrivateFile = (about: failures.DescribedFile) => {
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

/** Returns undefined for a missing or empty file that is not created. @throws Failure `storage` */
export const prepareFile = (about: failures.DescribedFile, canCreate: boolean) => {
  const { path } = about;
  const stats = withFileFailures(about, () => fs.statSync(path, { throwIfNoEntry: false }));
  if (stats?.isFile() === false)
    throw failures.folderUnusable({ ...about, code: stats.isDirectory() ? "EISDIR" : "not-a-file" });
  if (!stats?.size && !canCreate) return undefined;
  requireOwnFile(path);
  if (!stats?.size) ensurePrivateFile(about);
  return withFileFailures(about, () => findOwnPath(about));
};

/** Does not open the file, because closing a descriptor would release SQLite's locks. */
export const readFileIdentity = (path: string) => {
  const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  const id = `${found?.dev} ${found?.ino} ${found?.birthtimeNs}`;
  return found && { isEmpty: found.size === 0n, links: Number(found.nlink), id };
};

/**
 * Returns the one path of a file, because SQLite's journal and the locks follow the path.
 * @throws Failure `database-linked`, `database-mounted`
 */
export const findOwnPath = (about: failures.DescribedFile) => {
  const path = fs.realpathSync(about.path);
  const { nlink } = fs.statSync(path);
  if (nlink > 1) throw failures.databaseLinked(about, nlink);
  const mounts = listMounts();
  const own = mounts.findLast(({ point }) => point === path);
  if (!own) return path;
  const { id } = readFileIdentity(path) ?? {};
  for (const { device, root, point } of mounts) {
    const rest = relative(root, own.root);
    if (device !== own.device || rest === "" || rest.startsWith("..")) continue;
    const original = join(point, rest);
    if (readFileIdentity(original)?.id === id) return original;
  }
  const hint = `mount the folder of the ${about.noun} instead, because its journal and locks are next to it`;
  const message = `${about.path} is mounted as a single file, without its folder`;
  throw new Failure("storage", "database-mounted", message, { hint, where: { file: about.path } });
};

/** Linux can mount a file as another file. `root` is the path of what is mounted on its device. */
const listMounts = () => {
  const lines = ignoreErrors(() => fs.readFileSync("/proc/self/mountinfo", "utf8").trimEnd().split("\n")) ?? [];
  return lines.map((line) => {
    const fields = line.split(" ").map((field) => field.replaceAll(/\\([0-7]{3})/g, (_, octal) => toByte(octal)));
    const [, , device = "", root = "", point = ""] = fields;
    return { device, root, point };
  });
};

const toByte = (octal: string) => String.fromCharCode(Number.parseInt(octal, 8));

/** `isHeld` returns false if another process can have the lock. */
export type Lock = Readonly<{ isHeld: () => boolean; release: () => void }>;

/** Locks a file until `release` or the end of the process. Undefined if another process has the lock. */
export const tryLock = async (about: failures.DescribedFile): Promise<Lock | undefined> => {
  const { path } = about;
  const open = await loadSqlite(about);
  ensurePrivateFile(about);
  const identity = readFileIdentity(path);
  const isHeld = () => identity !== undefined && readFileIdentity(path)?.id === identity.id;
  // An absolute path is never `:memory:` or a URL.
  const connection = withFileFailures(about, () => open(resolve(path)));
  const release = () => {
    if (!connection.open) return;
    // Deletes the file first, because another process can lock the file after ROLLBACK.
    if (isHeld()) ignoreErrors(() => fs.rmSync(path));
    if (connection.inTransaction) connection.exec("ROLLBACK");
    connection.close();
  };
  try {
    connection.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
    if (isHeld()) return { isHeld, release };
    connection.close();
  } catch (thrown) {
    connection.close();
    if (isHeld() && !isBusy(thrown)) throw toFileFailure(thrown, about);
  }
  return undefined;
};

const retryMs = 100;

export interface LockWaitOptions extends FreeWait {
  /** Default: the signal of the host. */
  signal?: AbortSignal | undefined;
  onWait?: () => void;
}

/** Returns undefined after `maxWaitMs`. @throws Failure `storage`; the signal's reason */
export const waitForLock = async (options: failures.DescribedFile & LockWaitOptions) => {
  const { host, signal = host.signal, maxWaitMs, onWait, ...about } = options;
  const endMs = host.elapsed() + maxWaitMs;
  let lock = await tryLock(about);
  if (!lock) onWait?.();
  for (; !lock; lock = await tryLock(about)) {
    const leftMs = endMs - host.elapsed();
    if (leftMs <= 0) return undefined;
    await host.sleep(Math.min(retryMs * (0.5 + host.random()), leftMs + 1), signal);
  }
  return lock;
};
