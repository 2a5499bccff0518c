/** The ledger: one SQL text for both databases. Each request is in it, on disk, before its first byte is sent. */
import { resolve } from "node:path";
import {
  type Database,
  type DatabasePlace,
  type DatabaseWaiting,
  type ExaminedFile,
  examineFile,
  openDatabase,
  type Question,
} from "../database/index.ts";
import { isFailure } from "../failure.ts";
import type { Written } from "./earlier-runs.ts";
import {
  countsSql,
  type Entry,
  type EntryCounts,
  type EntryFilter,
  isUnknown,
  type LedgerScope,
  parseId,
  readEntries,
  scopeColumns,
  selectEntries,
  toCounts,
  toId,
} from "./entries.ts";
import { sharedWriter } from "./shared-writer.ts";
import { ledgerPart } from "./tables.ts";
import { countWriters, fileWriter, type NewEntry, type Settlement, type Writer } from "./writer.ts";

/** What runs found out about a log address. */
export interface AddressFacts {
  readonly sizes: FoundSizes;
  /** True if the service was seen to echo `Idempotency-Key`. */
  readonly echoesKey: boolean;
}

/** Sizes of bodies that an address accepts. */
export interface FoundSizes {
  /** The largest body that passed; undefined if none did, or it does not matter. */
  readonly passed: number | undefined;
  /** The smallest body that was too large (413), and when that was, in milliseconds since 1970. */
  readonly refused: { readonly bytes: number; readonly at: number } | undefined;
}

/** An open ledger. Each method throws a Failure of code `storage`, `auth` or `unavailable`. */
export type Ledger = ReturnType<typeof ledgerOf>;

/** The requests of one scope. A run that writes them holds the scope. */
export type ScopeLedger = Awaited<ReturnType<typeof openScope>>;

/** How a ledger is opened. */
interface OpenOptions extends DatabaseWaiting {
  readonly make: boolean;
  readonly toRead?: boolean;
  /** True if requests in flight of runs that died become unknown. */
  readonly recovers?: boolean;
}

/** Opens a ledger; undefined if there is none and `make` is false. @throws as `openDatabase` */
export const openLedger = async (place: DatabasePlace, options: OpenOptions): Promise<Ledger | undefined> => {
  const opened = await openDatabase(ledgerPart, { ...options, ...place });
  if (opened === undefined) return undefined;
  const { database, created, isCopy } = opened;
  const writer = database.isShared ? sharedWriter(database, { host: options.host }) : fileWriter(database);
  try {
    // In PostgreSQL, what dead runs left is also in the way of runs.
    if (!isCopy && (options.recovers === true || database.isShared)) await writer.recoverAll();
  } catch (thrown) {
    if (options.toRead !== true || !isReadOnly(thrown)) {
      await database.close();
      throw thrown;
    }
  }
  return ledgerOf(database, { created, writer });
};

/** Opens the ledger of a command; undefined if there is none. Requests of runs that died become unknown. */
export const openExistingLedger = async (
  place: DatabasePlace,
  options: DatabaseWaiting & { readonly toRead: boolean },
): Promise<Ledger | undefined> => await openLedger(place, { ...options, make: false, recovers: true });

/** The answers of a replica, or to a role that may only read, to a write. */
const readOnlyCodes: ReadonlySet<string> = new Set(["25006", "42501"]);

const isReadOnly = (thrown: unknown): boolean =>
  (isFailure(thrown, "database-failed") || isFailure(thrown, "database-refused")) &&
  readOnlyCodes.has(thrown.about.systemCode ?? "");

/** Requests of one statement. */
const maxForgotten = 500;

const ledgerOf = (database: Database, { created, writer }: { readonly created: boolean; readonly writer: Writer }) => ({
  path: database.path,
  /** True if there was no ledger before. An empty file is not a ledger. */
  created,
  /** True if runs write a scope at the same time, each groups of its own; otherwise one run at a time does. */
  isShared: database.isShared,
  /** True unless somebody deleted or replaced it since it was opened. */
  isThere: database.isThere,
  /** A number that changes when another process writes. */
  changes: writer.changes,
  /** Counts its requests, and the runs that write it now. */
  counted: async () => ({ counts: toCounts(await database.ask(countsSql)), writers: await writer.writers() }),
  scope: async (scope: LedgerScope) => await openScope(database, { scope, writer }),
  /** Waits until no other run may write the scope, and holds it; undefined if that takes too long. */
  hold: writer.hold,
  /** Digests of the files that runs wrote, by path. */
  written: writtenIn(database),
  /** The entries that a filter selects, oldest first. */
  entries: (filter: EntryFilter): AsyncIterable<Entry> => selectEntries(database, filter),
  /** Resolves an unknown request by hand; false if no request of this id is unknown. */
  async resolve(id: string, state: "assumed_logged" | "released"): Promise<boolean> {
    const sql = `UPDATE rollcall.request SET state = ?${writer.touched} WHERE id = ? AND state = 'unknown' RETURNING id`;
    const row = parseId(id);
    const [resolved] = await database.together([{ sql, values: [state, row] }, ...writer.unclaim([row])]);
    return resolved?.length === 1;
  },
  /** Deletes requests, except those in flight or unknown, which would be sent again without them; returns how many. */
  async forget(filter: EntryFilter): Promise<number> {
    const rows: number[] = [];
    for await (const { id, state } of selectEntries(database, filter)) if (!isUnknown(state)) rows.push(parseId(id));
    const questions: Question[] = [];
    for (let from = 0; from < rows.length; from += maxForgotten) {
      const some = rows.slice(from, from + maxForgotten);
      const sql = `DELETE FROM rollcall.request WHERE id IN (${some.map(() => "?").join(", ")})
        AND state NOT IN ('trying', 'unknown') RETURNING id`;
      // Requests first: a run that tries one of them again meanwhile either does not find it, or keeps its groups.
      questions.push({ sql, values: some }, ...writer.unclaim(some));
    }
    const answers = await database.together(questions);
    return answers.reduce((count, forgotten) => count + forgotten.length, 0);
  },
  close: async (): Promise<void> => await database.close(writer.end),
});

const writtenIn = (database: Database): Written => ({
  digest: async (path) =>
    (await database.ask("SELECT digest FROM rollcall.written WHERE path = ?", [resolve(path)]))[0]?.text("digest"),
  remember: async (path, digest) => {
    const sql = `INSERT INTO rollcall.written (path, digest) VALUES (?, ?)
      ON CONFLICT (path) DO UPDATE SET digest = excluded.digest`;
    await database.ask(sql, [resolve(path), digest]);
  },
});

const openScope = async (
  database: Database,
  { scope, writer }: { readonly scope: LedgerScope; readonly writer: Writer },
) => {
  const { destination, account, model, split, batch } = scope;
  const values = [destination, account, model, split, batch ?? "", batch === null ? 0 : 1];
  let known: number | undefined;
  /** The row of the scope; undefined if no run has recorded a request of it. */
  const find = async (): Promise<number | undefined> => {
    known ??= (await database.ask(findScopeSql, values))[0]?.integer("id");
    return known;
  };
  return {
    /** What is known of the log address when the scope is opened. */
    address: await readAddress(database, [destination, account]),
    /** Makes requests in flight of runs that died unknown; returns how many. */
    async recover(): Promise<number> {
      const row = await find();
      return row === undefined ? 0 : await writer.recover(row);
    },
    /** Its requests from a row on, oldest first. */
    async *entries(from = 0): AsyncGenerator<Entry, void> {
      const row = await find();
      if (row === undefined) return;
      yield* readEntries(database, { sql: "request.scope = ? AND request.id >= ?", values: [row, from] });
    },
    /** Records a request as being tried; returns its id, or the dedup keys of groups that other runs have. */
    async begin(entry: NewEntry): Promise<string | { readonly taken: Uint8Array }> {
      const row = (await find()) ?? (await database.ask(makeScopeSql, values))[0]?.integer("id") ?? 0;
      const begun = await writer.begin(row, entry);
      return typeof begun === "number" ? toId(begun) : begun;
    },
    /** Records another try; false if a person resolved the request meanwhile. */
    again: async (id: string, now: number) => await writer.again(parseId(id), now),
    settle: async (id: string, settlement: Settlement) => await writer.settle(parseId(id), settlement),
    async remember({ sizes: { passed, refused }, echoesKey }: AddressFacts): Promise<void> {
      const sizes = [passed ?? null, refused?.bytes ?? null, refused?.at ?? null];
      await database.ask(rememberSql, [destination, account, ...sizes, echoesKey ? 1 : 0]);
    },
  };
};

const findScopeSql = `SELECT id FROM rollcall.scope
  WHERE destination = ? AND account = ? AND model = ? AND split = ? AND batch = ? AND has_batch = ?`;

/** Returns the row also if another run made the scope meanwhile. */
const makeScopeSql = `INSERT INTO rollcall.scope (${scopeColumns}) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (${scopeColumns}) DO UPDATE SET destination = excluded.destination RETURNING id`;

const rememberSql = `
  INSERT INTO rollcall.address AS known (destination, account, max_bytes, refused_bytes, refused_at, echoes_key)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (destination, account) DO UPDATE SET max_bytes = excluded.max_bytes,
    refused_bytes = excluded.refused_bytes, refused_at = excluded.refused_at,
    echoes_key = CASE known.echoes_key WHEN 1 THEN 1 ELSE excluded.echoes_key END`;

const readAddress = async (database: Database, values: readonly string[]): Promise<AddressFacts> => {
  const [row] = await database.ask(readAddressSql, values);
  const [passed, bytes, at] = ["max_bytes", "refused_bytes", "refused_at"].map((column) =>
    row === undefined || row.isNull(column) ? undefined : row.integer(column),
  );
  const refused = bytes === undefined || at === undefined ? undefined : { bytes, at };
  return { sizes: { passed, refused }, echoesKey: row?.integer("echoes_key") === 1 };
};

const readAddressSql = `SELECT max_bytes, refused_bytes, refused_at, echoes_key FROM rollcall.address
  WHERE destination = ? AND account = ?`;

/** A ledger in a file that was examined. */
interface LedgerHealth extends Omit<ExaminedFile, "rows"> {
  readonly counts: EntryCounts;
  /** Runs that write it now. */
  readonly writers: number;
}

/** Examines the ledger in a file without changing it; undefined if there is none. @throws Failure `storage` */
export const examineLedger = async (path: string): Promise<LedgerHealth | undefined> => {
  const examined = await examineFile(ledgerPart, path, countsSql);
  if (examined === undefined) return undefined;
  const { rows, ...facts } = examined;
  return { ...facts, counts: toCounts(rows), writers: countWriters(path) };
};
