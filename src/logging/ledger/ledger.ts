/** Opens the ledger, which stores each request before rollcall sends the request. */
import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import type {
  Database,
  DatabaseLocation,
  DatabaseOptions,
  DatabaseSchema,
  DatabaseWaitOptions,
} from "../../database/database.ts";
import { isReadOnly } from "../../database/failures.ts";
import { withFileFailures } from "../../database/own-file.ts";
import { openDatabase } from "../../database/sqlite.ts";
import { requireCreatable } from "../../system/files.ts";
import { isDatabaseUrl } from "../../system/host.ts";
import * as entries from "./entries.ts";
import { ledgerFile, ledgerMissing } from "./failures.ts";
import { createFileWriter, type ResolvedState, type Writer } from "./file-writer.ts";
import { createSharedWriter } from "./shared-writer.ts";

const createTableStatements = (id: string, { inScope = "", inRequest = "" }) => [
  `CREATE TABLE rollcall.scope (
     id ${id}, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL, split TEXT NOT NULL,
     batch TEXT NOT NULL, has_batch BIGINT NOT NULL, ${inScope} UNIQUE (destination, account, model, split, batch, has_batch))`,
  `CREATE TABLE rollcall.request (
     id ${id}, scope BIGINT NOT NULL REFERENCES rollcall.scope (id), ${inRequest}
     state TEXT NOT NULL, input TEXT NOT NULL, groups BIGINT NOT NULL, bytes BIGINT NOT NULL, key TEXT NOT NULL,
     first_tried BIGINT NOT NULL, last_tried BIGINT NOT NULL, attempts BIGINT NOT NULL, status BIGINT, cause TEXT,
     calls TEXT NOT NULL, marks BYTEA NOT NULL, frame TEXT NOT NULL, sampled BYTEA, checksum BIGINT)`,
  "CREATE INDEX request_scope ON rollcall.request (scope, id)",
  `CREATE TABLE rollcall.address (
     destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes BIGINT, refused_bytes BIGINT, refused_at BIGINT,
     echoes_key BIGINT NOT NULL, PRIMARY KEY (destination, account))`,
];

/** No single damaged bit makes 0 this number. */
const echoed = -1;

const upgradeOfVersion3 = [
  ...["sampled BYTEA", "checksum BIGINT"].map((column) => `ALTER TABLE rollcall.request ADD COLUMN ${column}`),
  `UPDATE rollcall.address SET echoes_key = ${echoed} WHERE echoes_key = 1`,
];

const runColumns = ["host TEXT", "username TEXT", "version TEXT", "started TIMESTAMPTZ"];

/** A change of the tables needs a new version, and an upgrade with which runs of the older version can continue. */
const ledgerSchema: DatabaseSchema = {
  file: ledgerFile,
  // "rcLG" in ASCII.
  applicationId: 0x72634c47,
  version: 4,
  upgrades: { 3: upgradeOfVersion3 },
  tables: createTableStatements("INTEGER PRIMARY KEY AUTOINCREMENT", {
    inScope: "generation BIGINT NOT NULL DEFAULT 0,",
  }),
  postgres: {
    upgrades: {
      3: [...upgradeOfVersion3, ...runColumns.map((column) => `ALTER TABLE rollcall.run ADD COLUMN ${column}`)],
    },
    tables: [
      `CREATE TABLE rollcall.run (
         id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, lease_until TIMESTAMPTZ NOT NULL,
         has_ended BOOLEAN NOT NULL DEFAULT false, ${runColumns.join(", ")})`,
      "CREATE INDEX run_open ON rollcall.run (lease_until) WHERE NOT has_ended",
      ...createTableStatements("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", {
        inRequest: `run BIGINT NOT NULL REFERENCES rollcall.run (id), token TEXT NOT NULL UNIQUE,
            generation TEXT NOT NULL, changed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),`,
      }),
      "CREATE INDEX request_changed ON rollcall.request (changed)",
      "CREATE INDEX request_run ON rollcall.request (run) WHERE state IN ('trying', 'not_sent', 'refused')",
      `CREATE TABLE rollcall.mark (
         scope BIGINT NOT NULL, generation TEXT NOT NULL, mark BYTEA NOT NULL, request BIGINT NOT NULL,
         PRIMARY KEY (scope, generation, mark))`,
      "CREATE INDEX mark_request ON rollcall.mark (request)",
    ],
  },
};

/** The methods throw the failures of `Database`. */
export type Ledger = NonNullable<Awaited<ReturnType<typeof openLedger>>>;

type LedgerOptions = Omit<DatabaseOptions, keyof DatabaseLocation> &
  // Sets requests of dead runs to `unknown`.
  Readonly<{ recovers?: boolean }>;

/** Returns undefined if the ledger does not exist. @throws as `openDatabase` */
export const openLedger = async (location: DatabaseLocation, options: LedgerOptions) => {
  const opened = await openDatabase(ledgerSchema, { ...options, ...location });
  if (!opened) return undefined;
  const { database, before, isCopy } = opened;
  const { path, isShared, isFileInPlace: isIntact } = database;
  const writer: Writer = isShared ? createSharedWriter(database, options.host) : createFileWriter(database);
  try {
    if (!isShared) await requireIntact(database);
    // In a shared ledger, the claims of dead runs block other runs.
    if (!isCopy && (options.recovers || isShared)) await recover(writer, options.isForReading);
    const now = await readClock(writer, options.host);
    return {
      path,
      created: before === undefined,
      /** Undefined if this rollcall did not upgrade the ledger. */
      upgradedFrom: isCopy || before === ledgerSchema.version ? undefined : before,
      isShared,
      isIntact,
      /** Returns the database's time in ms since 1970. Undefined for a file. */
      now,
      ...writer,
      ...openEntries(database),
      ...openFacts(database),
      resolve: async (id: string, state: ResolvedState) => await writer.recordResolution(entries.parseId(id), state),
      close: async () => await database.close(writer.end),
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
};

/** Finds damage that SQLite does not notice, such as an index that lacks a row, or that would crash libsql. */
const requireIntact = async (database: Database) => {
  for (const row of await database.query("SELECT integrity_check = 'ok' AS ok FROM pragma_integrity_check(1)"))
    row.requireIntact(row.integer("ok") === 1);
  const texts = await database.query(`
    SELECT CAST(destination || account || model || split || batch AS BLOB) AS bytes FROM rollcall.scope
    UNION ALL SELECT CAST(state || input || key || coalesce(cause, '') || calls || frame AS BLOB) FROM rollcall.request
    UNION ALL SELECT CAST(destination || account AS BLOB) FROM rollcall.address`);
  for (const row of texts) row.requireIntact(isUtf8(row.bytes("bytes")));
};

const recover = async (writer: Writer, isForReading: boolean | undefined) =>
  await writer.recover().catch((thrown: unknown) => {
    if (!isForReading || !isReadOnly(thrown)) throw thrown;
  });

/** The database provides the time, because the clocks of machines may differ. */
const readClock = async (writer: Writer, { elapsed }: DatabaseWaitOptions["host"]) => {
  const startMs = elapsed();
  const clockMs = await writer.readClockMs?.();
  return clockMs === undefined ? undefined : () => Math.floor(clockMs + elapsed() - startMs);
};

const openEntries = (database: Database) => ({
  entries: (filter: entries.EntryFilter) => entries.selectEntries(database, filter),
  scopeEntries: (scope: entries.LedgerScope, firstRow = 0) => {
    const values = [...entries.toScopeValues(scope), firstRow];
    const sql = `${entries.isScopeSql} AND request.id >= ?`;
    return entries.readEntries(database, { sql, values });
  },
  entriesOfOtherAccounts: (scope: entries.LedgerScope) => {
    const [destination, account, ...values] = entries.toScopeValues(scope);
    const sql = "(destination, model, split, batch, has_batch) = (?, ?, ?, ?, ?) AND account <> ?";
    return entries.readEntries(database, { sql, values: [destination ?? "", ...values, account ?? ""] });
  },
  /** Returns the row of the scope. */
  async makeScope(scope: entries.LedgerScope) {
    const values = entries.toScopeValues(scope);
    const make = `INSERT INTO rollcall.scope (${entries.scopeColumns}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
    const find = `SELECT id FROM rollcall.scope WHERE ${entries.isScopeSql}`;
    const [, [row] = []] = await database.transact([make, find].map((sql) => ({ sql, values })));
    return row?.integer("id") ?? 0;
  },
});

/** `echoes` names the row with the new value of `echoes_key`. */
const saveFactsSql = (echoes: "known" | "excluded") => `
  INSERT INTO rollcall.address AS known (destination, account, max_bytes, refused_bytes, refused_at, echoes_key)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (destination, account) DO UPDATE SET max_bytes = excluded.max_bytes,
    refused_bytes = excluded.refused_bytes, refused_at = excluded.refused_at,
    echoes_key = ${echoes}.echoes_key`;

/** The sizes are lengths of request bodies in bytes. `at` is in milliseconds since 1970. */
export type DestinationState = Readonly<{
  passed: number | undefined;
  refused: { bytes: number; at: number } | undefined;
  echoesKey: boolean;
}>;

const openFacts = (database: Database) => ({
  /** Without `echoesKey`, the ledger keeps what another run may have recorded. */
  async saveFacts({ destination, account }: entries.LedgerScope, facts: Partial<DestinationState>) {
    const { passed, refused, echoesKey } = facts;
    const sizes = [passed ?? null, refused?.bytes ?? null, refused?.at ?? null];
    const sql = saveFactsSql(echoesKey === undefined ? "known" : "excluded");
    await database.query(sql, [destination, account, ...sizes, echoesKey ? echoed : 0]);
  },
  async readFacts({ destination, account }: entries.LedgerScope): Promise<DestinationState> {
    const sql = `SELECT max_bytes, refused_bytes, refused_at, echoes_key FROM rollcall.address
      WHERE destination = ? AND account = ?`;
    const [row] = await database.query(sql, [destination, account]);
    const [passed, bytes, at] = ["max_bytes", "refused_bytes", "refused_at"].map((column) =>
      row?.isNull(column) === false ? row.integer(column) : undefined,
    );
    const refused = bytes === undefined || at === undefined ? undefined : { bytes, at };
    return { passed, refused, echoesKey: row?.integer("echoes_key") === echoed };
  },
});

/** Returns undefined if the ledger does not exist. @throws as `openDatabase` */
export const openExistingLedger = async (
  location: DatabaseLocation,
  options: DatabaseWaitOptions & { isForReading: boolean },
) => await openLedger(location, { ...options, canCreate: false, recovers: true });

/** Checks that a run can open or create the ledger's file, and leaves no change. @throws Failure `storage` */
export const requireLedger = async (
  location: DatabaseLocation & { require: boolean },
  options: DatabaseWaitOptions & { isWritten: boolean },
) => {
  const { path, require } = location;
  if (isDatabaseUrl(path)) return;
  const ledger = await openExistingLedger(location, { ...options, isForReading: true });
  await ledger?.close();
  if (!ledger && require) throw ledgerMissing(path, true);
  if (options.isWritten) withFileFailures({ path, ...ledgerFile }, () => requireCreatable(resolve(path)));
};
