/** Writes the requests of a ledger in a file: a run holds the lock of its scope, which is released when its process ends. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TitledFile } from "../database/failures.ts";
import { type Database, tryLock, waitForLock } from "../database/index.ts";
import { dedupKeyBytes } from "../groups/index.ts";
import { bothTables, type LedgerScope, scopeColumns, toScope } from "./entries.ts";
import { scopeDigest, settledSql, settledValues, type Writer } from "./writer.ts";

/** Makes the writer of a ledger in a file. */
export const fileWriter = (database: Database): Writer => {
  const recover: Writer["recover"] = async (scope) => (await database.ask(recoverSql, [scope])).length;
  return {
    touched: "",
    hold: async (scope, waiting) => await waitForLock({ ...lockOf(database.path, scope), ...waiting }),
    recover,
    recoverAll: async () => {
      for (const row of await database.ask(tryingSql)) {
        // A run that is alive holds the lock of its scope.
        const lock = tryLock(lockOf(database.path, toScope(row)));
        if (lock !== undefined) await recover(row.integer("id"));
        lock?.release();
      }
    },
    begin: async (scope, { marks, key, input, bytes, frame, now }) => {
      const [row] = await database.ask(
        `INSERT INTO rollcall.request
           (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
         VALUES (?, 'trying', ?, ?, ?, ?, ?, ?, 1, '[]', ?, ?) RETURNING id`,
        [scope, input, marks.length / dedupKeyBytes, bytes, key, now, now, marks, frame],
      );
      return row?.integer("id") ?? 0;
    },
    again: async (request, now) => {
      const rows = await database.ask(
        `UPDATE rollcall.request SET state = 'trying', last_tried = ?, attempts = attempts + 1
         WHERE id = ? AND state NOT IN ('assumed_logged', 'released') RETURNING id`,
        [now, request],
      );
      return rows.length === 1;
    },
    settle: async (request, settlement) => {
      const values = [...settledValues(settlement), request];
      await database.ask(`UPDATE rollcall.request SET ${settledSql} WHERE id = ?`, values);
    },
    writers: async () => countWriters(database.path),
    changes: async () => (await database.ask("PRAGMA data_version"))[0]?.integer("data_version") ?? 0,
    unclaim: () => [],
    end: async () => undefined,
  };
};

/** Finds the scopes with requests in flight. */
const tryingSql = `SELECT DISTINCT scope.id AS id, ${scopeColumns} FROM ${bothTables} WHERE state = 'trying'`;

const recoverSql =
  "UPDATE rollcall.request SET state = 'unknown', cause = 'died' WHERE scope = ? AND state = 'trying' RETURNING id";

/** Counts the scopes of a ledger that runs write now. @throws Failure `storage` */
export const countWriters = (ledger: string): number => {
  const folder = lockFolder(ledger);
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return 0;
  }
  // The files of SQLite next to a lock have longer names.
  return names.filter((name) => /^[0-9a-f]{64}$/.test(name) && isLocked(join(folder, name))).length;
};

/** True if a process has the lock at a path. */
const isLocked = (path: string): boolean => {
  const lock = tryLock({ path, title: "a lock" });
  lock?.release();
  return lock === undefined;
};

/** The lock of a scope. */
export const lockOf = (ledger: string, scope: LedgerScope): TitledFile => ({
  path: join(lockFolder(ledger), scopeDigest(scope)),
  title: "the lock of the ledger",
});

/** Next to the file itself: the locks are the same, whatever link the ledger is opened by. */
const lockFolder = (ledger: string): string => `${realpathSync(ledger)}.locks`;
