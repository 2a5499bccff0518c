/** Writes the ledger in a file. */
import { randomInt } from "node:crypto";
import type { Database, SqlStatement, SqlValue } from "../../database/database.ts";
import { findOwnPath, type Lock, type LockWaitOptions, tryLock, waitForLock } from "../../database/own-file.ts";
import { isFailure } from "../../failure.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import * as entries from "./entries.ts";
import { ledgerFile, ledgerReplaced } from "./failures.ts";

export type NewEntry = entries.RequestContent &
  Readonly<{
    checksum: number;
    /** Unique for each run with `--resend-logged`; empty for other runs. */
    nonce: string;
  }>;

export const toContentValues = (entry: NewEntry) => {
  const { input, bytes, key, envelopeDigest, sampled, checksum, firstTried } = entry;
  return [input, bytes, key, envelopeDigest, sampled, checksum, firstTried];
};

export type RecordedOutcome = Readonly<{
  state: Exclude<entries.EntryState, "trying">;
  status: number | null;
  /** The code of a transport error; null after an answer. */
  cause: string | null;
  /** The number of calls that the service named. */
  calls: number;
}>;

export type ResolvedState = "assumed_logged" | "released";

/** In a file, one run per scope writes at a time. In PostgreSQL, concurrent runs write different groups. */
export type Writer = Readonly<{
  /** Returns undefined after the maximum wait. */
  acquireScope(scope: entries.LedgerScope, waiting: LockWaitOptions): Promise<Lock | undefined>;
  /** Sets requests of dead runs to `unknown`. */
  recover(scope?: entries.LedgerScope): Promise<void>;
  /** Returns the id of the request, or the dedup keys that other runs claim. */
  recordRequest(scope: number, entry: NewEntry): Promise<number | { claimed: Uint8Array }>;
  /** Returns false if the request was resolved, or if another run logged or retries the request. */
  recordRetry(request: number, now: number): Promise<boolean>;
  recordOutcome(request: number, outcome: RecordedOutcome): Promise<void>;
  readClockMs?(): Promise<number | undefined>;
  readOtherLeaseMs?(): Promise<number | undefined>;
  /** Returns a number that changes when another process changes the ledger. */
  readRevision(): Promise<number>;
  /** Returns false if the request was not `unknown`. A released request claims no groups. */
  recordResolution(request: number, state: ResolvedState): Promise<boolean>;
  end?(): Promise<void>;
}>;

export const outcomeSql = "state = ?, status = ?, cause = ?, calls = ?";

export const toOutcomeValues = ({ state, status, cause, calls }: RecordedOutcome) => [
  ...[state, status, cause],
  String(calls),
];

export const createFileWriter = (database: Database): Writer => {
  const recoverScope = async (scope: entries.LedgerScope) =>
    void (await database.query(recoverSql, entries.toScopeValues(scope)));
  const held = openHeldScope(database);
  return {
    async acquireScope(scope, waiting) {
      const lock = await waitForLock({ ...toScopeLock(database.path, scope), ...waiting });
      if (lock) await held.read(scope);
      return lock;
    },
    async recover(onlyScope) {
      if (onlyScope) return await recoverScope(onlyScope);
      for (const row of await database.query(scopesInFlightSql)) {
        const scope = entries.toScope(row);
        // A live run may hold the lock.
        const lock = await tryLock(toScopeLock(database.path, scope));
        if (lock) await recoverScope(scope);
        lock?.release();
      }
    },
    async recordRequest(scope, entry) {
      const { dedupKeys, firstTried } = entry;
      const values = [scope, dedupKeys.length / dedupKeyBytes, dedupKeys, ...toContentValues(entry), firstTried];
      const [row] = await held.write(recordRequestSql, values);
      return row?.integer("id") ?? 0;
    },
    recordRetry: async (request, now) => (await held.write(recordRetrySql, [now, request])).length === 1,
    async recordOutcome(request, outcome) {
      const sql = `UPDATE rollcall.request SET ${outcomeSql} WHERE id = ? RETURNING id`;
      await held.write(sql, [...toOutcomeValues(outcome), request]);
    },
    readRevision: async () => (await database.query("PRAGMA data_version"))[0]?.integer("data_version") ?? 0,
    recordResolution: async (request, state) => (await database.query(resolveSql, [state, request])).length === 1,
  };
};

const maxGenerationStep = 2 ** 20;

/**
 * Each write of a run adds a random number to the generation of its scope, so that copies of a ledger that continued
 * differently have different generations.
 */
const openHeldScope = (database: Database) => {
  let generation = 0;
  let scopeValues: ReturnType<typeof entries.toScopeValues> = [];
  let last: Promise<unknown> = Promise.resolve();
  const replaced = () => ledgerReplaced(`the ledger ${database.path}`);
  const advance = async ({ sql, values = [] }: SqlStatement) => {
    const next = generation + randomInt(1, maxGenerationStep);
    const advanced = { sql: advanceSql, values: [next, ...scopeValues, generation] };
    const [found, rows = []] = await database
      .transact([advanced, { sql, values }], ([own]) => own?.length === 1)
      .catch((thrown: unknown) => {
        const isOther = isFailure(thrown, "database-corrupt") || isFailure(thrown, "database-foreign");
        throw isOther || !database.isFileInPlace() ? replaced() : thrown;
      });
    if (found?.length !== 1) throw replaced();
    generation = next;
    return rows;
  };
  return {
    /** @throws Failure `ledger-replaced` */
    async read(scope: entries.LedgerScope) {
      scopeValues = entries.toScopeValues(scope);
      const [row] = await database.query(generationSql, scopeValues);
      const found = row?.integer("generation") ?? 0;
      if (found < generation) throw replaced();
      generation = found;
    },
    /** Writes one after the other, because each needs the generation of the one before. */
    write(sql: string, values: readonly SqlValue[]) {
      const written = last.then(async () => await advance({ sql, values }));
      last = written.catch(() => undefined);
      return written;
    },
  };
};

const generationSql = `SELECT generation FROM rollcall.scope WHERE ${entries.isScopeSql}`;

const advanceSql = `UPDATE rollcall.scope SET generation = ?
  WHERE ${entries.isScopeSql} AND generation = ? RETURNING id`;

/** `marks` contains the dedup keys. `frame` contains the digest of the envelope. */
const recordRequestSql = `INSERT INTO rollcall.request (state, attempts, calls, scope, groups, marks,
    input, bytes, key, frame, sampled, checksum, first_tried, last_tried)
  VALUES ('trying', 1, '0', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`;

const recordRetrySql = `UPDATE rollcall.request SET state = 'trying', last_tried = ?, attempts = attempts + 1
  WHERE id = ? AND state NOT IN ('assumed_logged', 'released') RETURNING id`;

const resolveSql = "UPDATE rollcall.request SET state = ? WHERE id = ? AND state = 'unknown' RETURNING id";

const scopesInFlightSql = `SELECT DISTINCT ${entries.scopeColumns} FROM ${entries.scopedRequestsSql}
  WHERE state = 'trying'`;

const recoverSql = `UPDATE rollcall.request SET state = 'unknown', cause = 'died'
  WHERE state = 'trying' AND scope IN (SELECT id FROM rollcall.scope WHERE ${entries.isScopeSql})`;

const maxHashLength = 16;

/** The lock is next to the ledger, because the runs of several containers may share only its folder. */
export const toScopeLock = (ledger: string, scope: entries.LedgerScope) =>
  describeLock(lockPrefix(ledger) + entries.hashScope(scope).slice(0, maxHashLength));

const describeLock = (path: string) => ({ path, noun: "lock of the ledger", moveWith: ledgerFile.moveWith });

const lockPrefix = (ledger: string) => `${findOwnPath({ path: ledger, ...ledgerFile })}.lock-`;
