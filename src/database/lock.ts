/** A lock between processes that the system releases when its holder dies, however it dies. */

import { rmSync } from "node:fs";
import { resolve } from "node:path";
import Connection from "libsql";
import type { Host } from "../host.ts";
import type { TitledFile } from "./failures.ts";
import { fileFailure, guard, identityOf, isBusy, makeFile, requireOwnFile } from "./own-file.ts";

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
  const isHeld = (): boolean => identity !== undefined && identityOf(path) === identity;
  try {
    const held = lockFile(path);
    if (held !== undefined && isHeld()) return { isHeld, release: () => release(held, isHeld() ? path : undefined) };
    // The last holder deleted the file meanwhile, so no other process will find this lock.
    held?.close();
    return undefined;
  } catch (thrown) {
    if (!isHeld()) return undefined;
    throw fileFailure(thrown, about);
  }
};

/** Locks a file; undefined if another process has it. Throws what SQLite says. */
const lockFile = (path: string): Connection.Database | undefined => {
  const connection = new Connection(resolve(path), { timeout: 0 });
  try {
    connection.exec("BEGIN IMMEDIATE");
    return connection;
  } catch (thrown) {
    connection.close();
    if (isBusy(thrown)) return undefined;
    throw thrown;
  }
};

/** Releases a lock. @param path its file; undefined if another file has the name, or none */
const release = (held: Connection.Database, path: string | undefined): void => {
  // The process would end if a closed connection was asked for its transaction.
  if (!held.open) return;
  try {
    // While the lock is held, so that no process has locked the file.
    if (path !== undefined) rmSync(path);
  } catch {
    // It is gone, or an open file cannot be deleted here. Then it stays empty and is used again.
  }
  if (held.inTransaction) held.exec("ROLLBACK");
  held.close();
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
export const waitForLock = async (options: TitledFile & LockWaiting): Promise<Lock | undefined> => {
  const { host, maxWaitMs, onWait, ...about } = options;
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
  return guard({ path, title: "a lock" }, () => {
    const held = lockFile(path);
    held?.close();
    return held === undefined;
  });
};
