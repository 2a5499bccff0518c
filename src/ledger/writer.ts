/** How runs write the requests of a scope. In a file, a run holds a lock, which is released when its process ends. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { TitledFile } from "../database/failures.ts";
import {
  type Database,
  type Lock,
  type LockWaitOptions,
  type SqlValue,
  type Statement,
  tryLock,
  waitForLock,
} from "../database/index.ts";
import { dedupKeyBytes } from "../groups/index.ts";
import {
  type EntryState,
  hashScope,
  type LedgerScope,
  requestsWithScopesSql,
  scopeColumns,
  toScope,
} from "./entries.ts";

/** A request that is recorded, before its first byte is sent. */
export interface NewEntry {
  readonly marks: Uint8Array;
  readonly key: string;
  readonly input: string;
  readonly bytes: number;
  /** Digest of the request envelope. */
  readonly frame: string;
  readonly now: number;
  /** Tells a deliberate second logging of the same groups from the first; empty for the first. */
  readonly generation: string;
}

/** The outcome of a request. */
export interface RecordedOutcome {
  readonly state: Exclude<EntryState, "trying">;
  readonly status: number | null;
  readonly cause: string | null;
  /** Ids of the calls in the answer: a JSON array. */
  readonly calls: string;
}

/** Writes requests. In a file, one run of a scope writes at a time; in PostgreSQL each run writes groups of its own. */
export interface Writer {
  /** What a statement that changes a request sets in addition. */
  readonly changedSql: string;
  /** Waits until no other run may write the scope; undefined if another run does all the time. */
  acquireScope(scope: LedgerScope, waiting: LockWaitOptions): Promise<Lock | undefined>;
  /** Makes the requests in flight of runs that died unknown; returns how many. */
  recoverScope(scope: number): Promise<number>;
  /** Records a request; returns its row, or the dedup keys of groups that other runs have. */
  recordRequest(scope: number, entry: NewEntry): Promise<number | { readonly taken: Uint8Array }>;
  /** Records another try of a request; false if a person resolved it meanwhile. */
  recordRetry(request: number, now: number): Promise<boolean>;
  recordOutcome(request: number, settlement: RecordedOutcome): Promise<void>;
  /** Runs that write the ledger now. */
  countRuns(): Promise<number>;
  /** A number that changes when another process writes. */
  countChanges(): Promise<number>;
  /** Deletes the claims of requests that are released or deleted, so that other runs can have their groups. */
  releaseClaims(requests: readonly number[]): readonly Statement[];
  /** Recovers the requests of all scopes whose runs died. */
  recoverAll(): Promise<void>;
  end(): Promise<void>;
}

/** Sets an outcome, by `toOutcomeValues`. */
export const outcomeSql = "state = ?, status = ?, cause = ?, calls = ?";

export const toOutcomeValues = ({ state, status, cause, calls }: RecordedOutcome): readonly SqlValue[] => [
  state,
  status,
  cause,
  calls,
];

/** Makes the writer of a ledger in a file. */
export const makeFileWriter = (database: Database): Writer => {
  const recover: Writer["recoverScope"] = async (scope) => (await database.query(recoverSql, [scope])).length;
  return {
    changedSql: "",
    acquireScope: async (scope, waiting) => await waitForLock({ ...toScopeLock(database.path, scope), ...waiting }),
    recoverScope: recover,
    recoverAll: async () => {
      for (const row of await database.query(scopesInFlightSql)) {
        // A run that is alive holds the lock of its scope.
        const lock = tryLock(toScopeLock(database.path, toScope(row)));
        if (lock !== undefined) await recover(row.integer("id"));
        lock?.release();
      }
    },
    recordRequest: async (scope, { marks, key, input, bytes, frame, now }) => {
      const values = [scope, input, marks.length / dedupKeyBytes, bytes, key, now, now, marks, frame];
      return (await database.query(recordRequestSql, values))[0]?.integer("id") ?? 0;
    },
    recordRetry: async (request, now) => (await database.query(recordRetrySql, [now, request])).length === 1,
    recordOutcome: async (request, settlement) => {
      const values = [...toOutcomeValues(settlement), request];
      await database.query(`UPDATE rollcall.request SET ${outcomeSql} WHERE id = ?`, values);
    },
    countRuns: async () => countWriters(database.path),
    countChanges: async () => (await database.query("PRAGMA data_version"))[0]?.integer("data_version") ?? 0,
    releaseClaims: () => [],
    end: async () => undefined,
  };
};

const recordRequestSql = `INSERT INTO rollcall.request
    (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
  VALUES (?, 'trying', ?, ?, ?, ?, ?, ?, 1, '[]', ?, ?) RETURNING id`;

const recordRetrySql = `UPDATE rollcall.request SET state = 'trying', last_tried = ?, attempts = attempts + 1
  WHERE id = ? AND state NOT IN ('assumed_logged', 'released') RETURNING id`;

/** Finds the scopes with requests in flight. */
const scopesInFlightSql = `SELECT DISTINCT scope.id AS id, ${scopeColumns} FROM ${requestsWithScopesSql} WHERE state = 'trying'`;

const recoverSql =
  "UPDATE rollcall.request SET state = 'unknown', cause = 'died' WHERE scope = ? AND state = 'trying' RETURNING id";

/** Counts the scopes of a ledger that runs write now. @throws Failure `storage` */
export const countWriters = (ledger: string): number => {
  const folder = lockFolderPath(ledger);
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return 0;
  }
  // The files of SQLite next to a lock have longer names.
  return names.filter((name) => {
    if (!/^[0-9a-f]{64}$/.test(name)) return false;
    const lock = tryLock({ path: join(folder, name), title: "a lock" });
    lock?.release();
    return lock === undefined;
  }).length;
};

/** The lock of a scope. */
export const toScopeLock = (ledger: string, scope: LedgerScope): TitledFile => ({
  path: join(lockFolderPath(ledger), hashScope(scope)),
  title: "the lock of the ledger",
});

/** Next to the file itself: the locks are the same, whatever link the ledger is opened by. */
const lockFolderPath = (ledger: string): string => `${realpathSync(ledger)}.locks`;
