/** A lock between processes that the system releases when its holder dies, however it dies. */
import { unlinkSync } from "node:fs";
import { resolve } from "node:path";
import Connection from "libsql";
import type { Host } from "../host.ts";
import { identityOf, isBusy, makeFile, requireOwnFile, sqliteFailure, type TitledFile } from "./own-file.ts";

/** A lock that is held. */
export interface Lock {
  /** True while its file exists: no other process can have the lock then. */
  isHeld(): boolean;
  release(): void;
}

/**
 * Takes a lock; undefined if another process has it. The lock is that of SQLite on a file that stays empty. It belongs to
 * the process, so no lock outlives its process. The file is deleted when the lock is released.
 * @throws Failure `storage` if the file cannot be used
 */
export const tryLock = (about: TitledFile): Lock | undefined => {
  const { path } = about;
  makeFile(about);
  const identity = identityOf(path);
  let held: Connection.Database;
  try {
    held = lockFile(path);
  } catch (thrown) {
    if (isBusy(thrown) || identityOf(path) !== identity) return undefined;
    throw sqliteFailure(thrown, about);
  }
  if (identity === undefined || identityOf(path) !== identity) {
    // The last holder deleted the file meanwhile, so no other process will find this lock.
    held.close();
    return undefined;
  }
  return {
    isHeld: () => identityOf(path) === identity,
    release: () => {
      // The process would end if a closed connection was asked for its transaction.
      if (!held.open) return;
      // While the lock is held, so that no process has locked the file. Another file of this name is not this lock's.
      if (identityOf(path) === identity) remove(path);
      if (held.inTransaction) held.exec("ROLLBACK");
      held.close();
    },
  };
};

/** Locks a file, or throws what SQLite says. */
const lockFile = (path: string): Connection.Database => {
  const connection = new Connection(resolve(path), { timeout: 0 });
  try {
    connection.exec("BEGIN IMMEDIATE");
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
};

const remove = (path: string): void => {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or an open file cannot be deleted here. Then it stays empty and is used again.
  }
};

/** How often a lock is tried. */
const tryAgainMs = 100;

/** What may end a wait for a lock. */
export interface LockWaiting {
  readonly host: Pick<Host, "elapsed" | "random" | "signal" | "sleep">;
  readonly maxWaitMs: number;
  /** Called once if another process has the lock. */
  readonly onWait?: () => void;
}

/**
 * Takes a lock as soon as it is free; undefined if another process has it all the time.
 * @throws Failure `storage` if the file cannot be used; the signal's reason
 */
export const waitForLock = async ({
  host,
  maxWaitMs,
  onWait,
  ...about
}: TitledFile & LockWaiting): Promise<Lock | undefined> => {
  const from = host.elapsed();
  for (let isFirst = true; ; isFirst = false) {
    const lock = tryLock(about);
    if (lock !== undefined) return lock;
    if (isFirst) onWait?.();
    const waitedMs = host.elapsed() - from;
    if (waitedMs >= maxWaitMs) return undefined;
    await host.sleep(Math.min(tryAgainMs * (0.5 + host.random()), maxWaitMs - waitedMs + 1), host.signal);
  }
};

/** True if a process has the lock at a path. Nothing is made or changed. @throws Failure `storage` */
export const isLocked = (path: string): boolean => {
  if (identityOf(path) === undefined) return false;
  requireOwnFile(path);
  try {
    lockFile(path).close();
    return false;
  } catch (thrown) {
    if (isBusy(thrown)) return true;
    throw sqliteFailure(thrown, { path, title: "a lock" });
  }
};
