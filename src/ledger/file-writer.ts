/** Writes the ledger in a file. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import * as db from "../database/index.ts";
import { ignoreErrors } from "../files.ts";
import { dedupKeyBytes } from "../index/dedup-keys.ts";
import * as entries from "./entries.ts";

export type NewEntry = Readonly<{
  dedupKeys: Uint8Array;
  key: string;
  input: string;
  bytes: number;
  envelopeDigest: string;
  /** The result of `collectContents`. Default: unknown. */
  contents?: Uint8Array;
  /** Milliseconds since 1970. */
  now: number;
  /** Unique for each run with `--resend-logged`; empty for other runs. */
  generation: string;
}>;

export type RecordedOutcome = Readonly<{
  state: Exclude<entries.EntryState, "trying">;
  status: number | null;
  /** The code of a transport error; null after an answer. */
  cause: string | null;
  /** A JSON list of call ids. */
  calls: string;
}>;

/** In a file, one run per scope writes at a time. In PostgreSQL, concurrent runs write different groups. */
export type Writer = Readonly<{
  /** The end of a `SET` clause that updates the column `changed`. Empty for a file. */
  changedSql: string;
  /** Returns undefined after the maximum wait. */
  acquireScope(scope: entries.LedgerScope, waiting: db.LockWaitOptions): Promise<db.Lock | undefined>;
  /** Sets requests of dead runs to `unknown`. */
  recover(scope?: entries.LedgerScope): Promise<void>;
  /** Returns the id of the request, or the dedup keys that other runs claim. */
  recordRequest(scope: number, entry: NewEntry): Promise<number | { taken: Uint8Array }>;
  /** Returns false if the request was resolved, or if another run logged or retries the request. */
  recordRetry(request: number, now: number): Promise<boolean>;
  recordOutcome(request: number, outcome: RecordedOutcome): Promise<void>;
  countRuns?(): Promise<number>;
  readClockMs?(): Promise<number | undefined>;
  readOtherLeaseMs?(): Promise<number | undefined>;
  /** Returns a number that changes when another process changes the ledger. */
  readRevision(): Promise<number>;
  /** Returns SQL that deletes the claims of released or deleted requests. */
  releaseClaims(requests: readonly number[]): readonly db.Statement[];
  end?(): Promise<void>;
}>;

export const outcomeSql = "state = ?, status = ?, cause = ?, calls = ?";

export const toOutcomeValues = ({ state, status, cause, calls }: RecordedOutcome) => [state, status, cause, calls];

export const createFileWriter = (database: db.Database): Writer => {
  const recoverScope = async (scope: entries.LedgerScope) =>
    void (await database.query(recoverSql, entries.toScopeValues(scope)));
  return {
    changedSql: "",
    acquireScope: async (scope, waiting) => await db.waitForLock({ ...toScopeLock(database.path, scope), ...waiting }),
    async recover(onlyScope) {
      if (onlyScope) return await recoverScope(onlyScope);
      for (const row of await database.query(scopesInFlightSql)) {
        const scope = entries.toScope(row);
        // A live run may hold the lock.
        const lock = db.tryLock(toScopeLock(database.path, scope));
        if (lock) await recoverScope(scope);
        lock?.release();
      }
    },
    async recordRequest(scope, { dedupKeys, key, input, bytes, envelopeDigest, contents, now }) {
      const values = [scope, input, dedupKeys.length / dedupKeyBytes, bytes, key, now, now, dedupKeys, envelopeDigest];
      const statements = [{ sql: recordRequestSql, values }, ...recordContents(contents, "last_insert_rowid()")];
      const [[row] = []] = await database.transact(statements);
      return row?.integer("id") ?? 0;
    },
    async recordRetry(request, now) {
      const [rows = []] = await database.transact([{ sql: recordRetrySql, values: [now, request] }]);
      return rows.length === 1;
    },
    async recordOutcome(request, outcome) {
      const values = [...toOutcomeValues(outcome), request];
      await database.query(`UPDATE rollcall.request SET ${outcomeSql} WHERE id = ?`, values);
    },
    readRevision: async () => (await database.query("PRAGMA data_version"))[0]?.integer("data_version") ?? 0,
    releaseClaims: () => [],
  };
};

/** `marks` contains the dedup keys. `frame` contains the digest of the envelope. */
const recordRequestSql = `INSERT INTO rollcall.request
    (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
  VALUES (?, 'trying', ?, ?, ?, ?, ?, ?, 1, '[]', ?, ?) RETURNING id`;

/** @param request SQL that finds the request */
export const recordContents = (contents: Uint8Array | undefined, request: string, ...values: readonly string[]) =>
  !contents?.length
    ? []
    : [{ sql: `UPDATE rollcall.request SET contents = ? WHERE id = ${request}`, values: [contents, ...values] }];

const recordRetrySql = `UPDATE rollcall.request SET state = 'trying', last_tried = ?, attempts = attempts + 1
  WHERE id = ? AND state NOT IN ('assumed_logged', 'released') RETURNING id`;

const scopesInFlightSql = `SELECT DISTINCT ${entries.scopeColumns} FROM ${entries.scopedRequestsSql}
  WHERE state = 'trying'`;

const recoverSql = `UPDATE rollcall.request SET state = 'unknown', cause = 'died'
  WHERE state = 'trying' AND scope IN (SELECT id FROM rollcall.scope WHERE ${entries.isScopeSql})`;

/** @throws Failure `storage` */
export const countWriters = (ledger: string) => {
  const folder = lockFolderPath(ledger);
  const names = ignoreErrors(() => readdirSync(folder)) ?? [];
  // Skips SQLite's files, which have longer names.
  return names.filter((name) => {
    if (!/^[0-9a-f]{64}$/.test(name)) return false;
    const lock = db.tryLock({ path: join(folder, name), title: "a lock" });
    lock?.release();
    return !lock;
  }).length;
};

export const toScopeLock = (ledger: string, scope: entries.LedgerScope) => ({
  path: join(lockFolderPath(ledger), entries.hashScope(scope)),
  title: "the lock of the ledger",
});

/** All links to a ledger have the same locks. */
const lockFolderPath = (ledger: string) => `${realpathSync(ledger)}.locks`;
