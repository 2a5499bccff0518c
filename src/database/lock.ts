/** A lock between processes that the system frees when its holder dies, however it dies. */
import { unlinkSync } from "node:fs";
import { resolve } from "node:path";
import Connection from "libsql";
import type { Host } from "../host.ts";
import { failureOf, identityOf, isBusy, makeFile, requireOwnFile, type TitledFile } from "./file.ts";

/** A lock that is held. */
export interface Lock {
  /** Whether its file is still there: nobody else can have it then. */
  isHeld(): boolean;
  release(): void;
}

/**
 * Takes a lock, or says at once that another process has it. The lock is SQLite's on a file that stays empty:
 * it belongs to the process, so that no stale lock can outlive it. Whoever releases it takes the file away.
 *
 * @param title what is locked, for a person
 * @throws Failure `storage` where the file can't be used
 */
export const tryLock = ({ path, title }: TitledFile): Lock | undefined => {
  makeFile({ path, title });
  const before = identityOf(path);
  let connection: Connection.Database | undefined;
  try {
    connection = new Connection(resolve(path), { timeout: 0 });
    connection.exec("BEGIN IMMEDIATE");
    const held = connection;
    if (before === undefined || identityOf(path) !== before) {
      // The holder before took the file away meanwhile: this is a lock on a file that nobody else will find.
      held.close();
      return undefined;
    }
    return {
      isHeld: () => identityOf(path) === before,
      release: () => {
        // A closed connection that is asked for its transaction ends the process.
        if (!held.open) return;
        // While it is still held, so that nobody can have locked it. Where an open file can't go, it stays; another one is not this lock's.
        if (identityOf(path) === before) remove(path);
        if (held.inTransaction) held.exec("ROLLBACK");
        held.close();
      },
    };
  } catch (thrown) {
    connection?.close();
    if (isBusy(thrown) || identityOf(path) !== before) return undefined;
    throw failureOf(thrown, { path, title });
  }
};

/** How often a lock that another process has is asked for again. */
const askAgainMs = 100;

/**
 * Takes a lock as soon as it is free; undefined where another process has it all the time.
 * @param onWait told once that another process has it
 * @throws Failure `storage` where the file can't be used; the signal's reason
 */
export const waitForLock = async ({
  host,
  maxWaitMs,
  onWait,
  ...file
}: TitledFile & {
  readonly host: Pick<Host, "elapsed" | "random" | "signal" | "sleep">;
  readonly maxWaitMs: number;
  readonly onWait?: () => void;
}): Promise<Lock | undefined> => {
  const from = host.elapsed();
  for (let isFirst = true; ; isFirst = false) {
    const lock = tryLock(file);
    if (lock !== undefined) return lock;
    if (isFirst) onWait?.();
    const waitedMs = host.elapsed() - from;
    if (waitedMs >= maxWaitMs) return undefined;
    await host.sleep(Math.min(askAgainMs * (0.5 + host.random()), maxWaitMs - waitedMs + 1), host.signal);
  }
};

/** Whether a process has the lock at a path. Nothing is made or changed. @throws Failure `storage` */
export const isLocked = (path: string): boolean => {
  if (identityOf(path) === undefined) return false;
  requireOwnFile(path);
  let connection: Connection.Database | undefined;
  try {
    connection = new Connection(resolve(path), { timeout: 0 });
    connection.exec("BEGIN IMMEDIATE; ROLLBACK");
    return false;
  } catch (thrown) {
    if (isBusy(thrown)) return true;
    throw failureOf(thrown, { path, title: "a lock" });
  } finally {
    connection?.close();
  }
};

const remove = (path: string): void => {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or stays: it is empty, and is used again.
  }
};
