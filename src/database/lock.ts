/** A lock between processes that the system frees when its holder dies, however it dies. */
import { resolve } from "node:path";
import Connection from "libsql";
import { failureOf, isBusy } from "./failures.ts";
import { makeFile } from "./file.ts";

/** A lock that is held. */
export interface Lock {
  release(): void;
}

/**
 * Takes a lock, or says at once that another process has it. The lock is SQLite's on a file that stays empty:
 * it belongs to the process, so that no stale lock can outlive it.
 *
 * @param title what is locked, for a person
 * @throws Failure `storage` where the file can't be used
 */
export const tryLock = ({ path, title }: { readonly path: string; readonly title: string }): Lock | undefined => {
  makeFile(path, title);
  let connection: Connection.Database | undefined;
  try {
    connection = new Connection(resolve(path), { timeout: 0 });
    connection.exec("BEGIN IMMEDIATE");
    const held = connection;
    return {
      release: () => {
        if (held.inTransaction) held.exec("ROLLBACK");
        held.close();
      },
    };
  } catch (thrown) {
    connection?.close();
    if (isBusy(thrown)) return undefined;
    throw failureOf(thrown, { path, title });
  }
};
