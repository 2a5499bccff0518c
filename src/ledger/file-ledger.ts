/** The ledger in a file of its own, which the processes of one machine share. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import {
  type Database,
  type DatabaseOptions,
  type Examined,
  examineDatabase,
  openDatabase,
  openToRead,
  systemFailure,
} from "../database/index.ts";
import {
  countsIn,
  countsSql,
  type EntryCounts,
  type EntryFilter,
  type EntryState,
  entriesOf,
  entriesWhere,
  type LedgerScope,
  rowIdOf,
} from "./entries.ts";
import type { Ledger, Waiting } from "./ledger.ts";
import { lockedScopes, tryScopeLock, waitForScopeLock } from "./lock.ts";
import { scopeDigest, scopeLedger } from "./scope.ts";

export { sqliteVersion } from "../database/index.ts";

/** What the file is, for a person. */
const title = "the ledger";

/** Marks a ledger's file as one: "rcLG". */
const applicationId = 0x72634c47;

/** The version of its tables: each change of them raises it. */
const version = 1;

const tables = [
  `CREATE TABLE scope (
     id INTEGER PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL,
     split TEXT NOT NULL, batch TEXT NOT NULL, has_batch INTEGER NOT NULL,
     UNIQUE (destination, account, model, split, batch, has_batch))`,
  `CREATE TABLE request (
     id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL REFERENCES scope (id), state TEXT NOT NULL,
     input TEXT NOT NULL, groups INTEGER NOT NULL, bytes INTEGER NOT NULL, key TEXT NOT NULL,
     first_tried INTEGER NOT NULL, last_tried INTEGER NOT NULL, attempts INTEGER NOT NULL,
     status INTEGER, cause TEXT, calls TEXT NOT NULL, marks BLOB NOT NULL, frame TEXT NOT NULL)`,
  "CREATE INDEX request_scope ON request (scope, id)",
  `CREATE TABLE address (
     destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes INTEGER, refused_bytes INTEGER, refused_at INTEGER,
     echoes_key INTEGER NOT NULL, PRIMARY KEY (destination, account))`,
  "CREATE TABLE written (path TEXT PRIMARY KEY, digest TEXT NOT NULL)",
];

const optionsOf = (path: string): DatabaseOptions => ({ path, title, applicationId, version, tables });

/**
 * Opens the ledger, and makes a new one where there is none.
 * @throws Failure `storage`: locked, corrupt, of another version, no place to write, disk full
 */
export const openFile = (path: string, { maxWaitMs }: Pick<Waiting, "maxWaitMs">): Ledger => {
  const created = !holdsAnything(path);
  const database = openDatabase({ ...optionsOf(path), lockTimeoutMs: lockTimeoutOf(maxWaitMs) });
  return { ...ledgerOf(database), created };
};

/** Nothing that a process does to the ledger takes longer; while it is waited for, no signal is heard. */
const longestLockMs = 30_000;

const lockTimeoutOf = (maxWaitMs: number): number => Math.min(longestLockMs, maxWaitMs);

const ledgerOf = (database: Database): Omit<Ledger, "created"> => {
  const entries = (filter: EntryFilter) =>
    entriesOf(filter, (condition, values) => entriesWhere(database, condition, values));
  return {
    path: database.path,
    isShared: false,
    isThere: database.isThere,
    changes: async () => database.prepare("PRAGMA data_version").get()?.integer("data_version") ?? 0,
    counted: async () => ({
      counts: countsIn(database.prepare(countsSql("request")).all()),
      writers: lockedScopes(database.path),
    }),
    scope: async (scope) => scopeLedger(database, scope),
    hold: async (scope, patience) => await waitForScopeLock(database.path, scope, patience),
    written: writtenFiles(database),
    entries,
    resolve: async (id, state) =>
      database.transaction(
        () =>
          database.prepare("UPDATE request SET state = ? WHERE id = ? AND state = 'unknown'").run(state, rowIdOf(id))
            .changes === 1,
      ),
    forget: async (filter) => {
      const ids: string[] = [];
      for await (const { id, state } of entries(filter)) {
        if (state !== "trying" && state !== "unknown") ids.push(id);
      }
      const forgetOne = "DELETE FROM request WHERE id = ? AND state NOT IN ('trying', 'unknown')";
      return database.transaction(() =>
        ids.reduce((sum, id) => sum + database.prepare(forgetOne).run(rowIdOf(id)).changes, 0),
      );
    },
    close: async () => database.close(),
  };
};

/** Whether there is a ledger already. @throws Failure `storage` where nobody can say */
export const holdsAnything = (path: string): boolean => {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  } catch (thrown) {
    throw systemFailure(thrown, { path, title });
  }
};

/**
 * Opens the ledger where there is one; undefined where there is none, which then is not made. What runs that died had in
 * flight is settled, unless the ledger is only read, from a place that can't be written.
 * @throws Failure `storage`
 */
export const openExistingFile = async (
  path: string,
  { maxWaitMs, toRead }: Pick<Waiting, "maxWaitMs"> & { readonly toRead: boolean },
): Promise<Ledger | undefined> => {
  if (!holdsAnything(path)) return undefined;
  const options = { ...optionsOf(path), lockTimeoutMs: lockTimeoutOf(maxWaitMs) };
  const { database, isCopy } = toRead ? openToRead(options) : { database: openDatabase(options), isCopy: false };
  const ledger = { ...ledgerOf(database), created: false };
  if (!isCopy) await recoverAll(ledger);
  return ledger;
};

/** Settles what runs that died had in flight as unknown; a run that is alive holds its scope's lock. */
const recoverAll = async (ledger: Ledger): Promise<void> => {
  const scopes = new Map<string, LedgerScope>();
  for await (const { scope } of ledger.entries({ states: ["trying"] })) scopes.set(scopeDigest(scope), scope);
  for (const scope of scopes.values()) {
    const lock = tryScopeLock(ledger.path, scope);
    if (lock !== undefined) await (await ledger.scope(scope)).recover();
    lock?.release();
  }
};

const writtenFiles = (database: Database): Ledger["written"] => ({
  digest: async (path) =>
    database.prepare("SELECT digest FROM written WHERE path = ?").get(resolve(path))?.text("digest"),
  remember: async (path, digest) =>
    database.transaction(() => {
      database
        .prepare(
          "INSERT INTO written (path, digest) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET digest = excluded.digest",
        )
        .run(resolve(path), digest);
    }),
});

/** What a look at a ledger shows. */
interface LedgerHealth extends Omit<Examined, "rows"> {
  readonly counts: EntryCounts;
  /** Runs that write it now. */
  readonly writers: number;
}

/** States that people ask about, in the order that they are told in. */
export const ledgerStates: readonly EntryState[] = [
  "logged",
  "assumed_logged",
  "unknown",
  "trying",
  "refused",
  "not_sent",
];

/** Looks at the ledger at a path without changing it; undefined where there is none. @throws Failure `storage` */
export const examineLedger = (path: string): LedgerHealth | undefined => {
  const examined = examineDatabase(optionsOf(path), countsSql("request"));
  if (examined === undefined) return undefined;
  const { rows, ...facts } = examined;
  return { ...facts, counts: countsIn(rows), writers: lockedScopes(path) };
};
