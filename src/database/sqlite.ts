/** Opens SQLite files with durable commits. */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import Connection from "libsql";
import { ignoreErrors } from "../files.ts";
import type { Database, DatabaseOptions, DatabaseSchema, Statement } from "./database.ts";
import {
  databaseForeign,
  databaseIncomplete,
  databaseLocked,
  databaseVersion,
  folderUnusable,
  type TitledFile,
} from "./failures.ts";
import { ensurePrivateFile, isBusy, readFileIdentity, requireOwnFile, withFileFailures } from "./own-file.ts";
import { toRow } from "./row.ts";

/** 50 processes that commit at the same time wait less. A signal does not end this wait. */
const maxLockMs = 30_000;
const maxJournalTries = 200;
const journalWaitMs = 25;
const checkpointWaitMs = 100;
/** The pages are large, because most values are long. */
const pageBytes = 16_384;
/** SQLite moves all commits within this delay from its log to the file together. */
const checkpointDelayMs = 200;

type FileOptions = Pick<DatabaseOptions, "path" | "canCreate" | "isForReading" | "maxWaitMs">;

export const openFile = (schema: DatabaseSchema, options: FileOptions) => {
  const { path, canCreate, isForReading = false, maxWaitMs } = options;
  const about = { path, title: schema.title };
  return withFileFailures(about, () => {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    const isEmpty = !stats?.size;
    if (stats?.isFile() === false)
      throw folderUnusable({ ...about, code: stats.isDirectory() ? "EISDIR" : "not-a-file" });
    if (isEmpty && !canCreate) return undefined;
    requireOwnFile(path);
    const isCopy = isForReading && !isWritable(path);
    if (isEmpty) ensurePrivateFile(about);
    const folder = isCopy ? fs.mkdtempSync(join(tmpdir(), "rollcall-")) : undefined;
    let connection: Connection.Database | undefined;
    try {
      // An absolute path is never `:memory:` or a URL.
      const file = folder ? join(folder, "copy.db") : resolve(path);
      for (const suffix of folder ? ["", "-wal", "-journal"] : []) {
        if (!fs.existsSync(path + suffix)) continue;
        fs.copyFileSync(path + suffix, file + suffix);
        fs.chmodSync(file + suffix, 0o600);
      }
      const lockMs = Math.min(maxLockMs, maxWaitMs);
      connection = new Connection(file, { timeout: lockMs });
      const opened = { connection, about };
      const isNew = isWithoutTables(opened, { schema, file });
      if (isNew && !canCreate) {
        connection.close();
        return undefined;
      }
      connection.exec("PRAGMA synchronous = FULL");
      if (isNew) createTables(opened, schema);
      requireLog(opened, schema);
      // Moves SQLite's log into the copy, because the folder is deleted while the copy is open.
      if (isCopy) connection.exec("PRAGMA journal_mode = MEMORY");
      const { checkpointTime } = schema.file;
      if (checkpointTime === "after answers") connection.exec("PRAGMA wal_autocheckpoint = 0");
      return { database: createDatabase(opened, { checkpointTime, lockMs }), isNew, isCopy };
    } catch (thrown) {
      connection?.close();
      throw thrown;
    } finally {
      if (folder) fs.rmSync(folder, { recursive: true, force: true });
    }
  });
};

const isWritable = (path: string) =>
  ignoreErrors(() => {
    for (const neededPath of [path, dirname(path)]) fs.accessSync(neededPath, fs.constants.W_OK);
    return true;
  }) === true;

type SqliteFile = Readonly<{ connection: Connection.Database; about: TitledFile }>;

/** @throws Failure `database-incomplete`, `database-foreign` if a file without tables has content */
const isWithoutTables = (opened: SqliteFile, { schema, file }: { schema: DatabaseSchema; file: string }) => {
  if (hasTables(opened, schema)) return false;
  // SQLite empties a file in which a killed process created the tables.
  if (fs.statSync(file).size === 0) return true;
  // Another process may have created the tables.
  if (hasTables(opened, schema)) return false;
  throw (usesLog(opened) ? databaseIncomplete : databaseForeign)(opened.about);
};

/** Creates the tables before SQLite's log, so that a file without tables is never a database that lost its log. */
const createTables = (file: SqliteFile, schema: DatabaseSchema) => {
  const { connection } = file;
  const { applicationId, version, tables } = schema.file;
  connection.exec(`PRAGMA page_size = ${pageBytes}`);
  transaction(connection, () => {
    if (hasTables(file, schema)) return;
    for (const sql of tables) connection.exec(stripSchema(sql));
    connection.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
  });
};

const requireLog = (file: SqliteFile, schema: DatabaseSchema) => {
  if (usesLog(file)) return;
  enableWriteAheadLog(file.connection);
  // SQLite creates the log when it reads.
  hasTables(file, schema);
};

const usesLog = ({ connection, about }: SqliteFile) =>
  toRow(connection.prepare("PRAGMA journal_mode").get(), about).text("journal_mode") === "wal";

/** Retries, because SQLite does not wait if two processes change the journal of a new file. */
const enableWriteAheadLog = (connection: Connection.Database) => {
  for (let tries = 1; ; tries++) {
    try {
      return connection.exec("PRAGMA journal_mode = WAL");
    } catch (thrown) {
      if (tries === maxJournalTries || !isBusy(thrown)) throw thrown;
      pause(journalWaitMs);
    }
  }
};

const pause = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

/** Reads all values at once, because another process may be creating the tables. */
const versionSql = `SELECT application_id AS owner, user_version AS version, count(own.sql) AS tables
  FROM pragma_application_id, pragma_user_version LEFT JOIN sqlite_master AS own`;

const hasTables = ({ connection, about }: SqliteFile, schema: DatabaseSchema) => {
  const { applicationId, version: expected } = schema.file;
  const row = toRow(connection.prepare(versionSql).get(), about);
  const owner = row.integer("owner");
  if (owner === 0 && row.integer("tables") === 0) return false;
  if (owner !== applicationId) throw databaseForeign(about);
  const version = row.integer("version");
  if (version !== expected) throw databaseVersion(about, version, expected);
  return true;
};

const stripSchema = (sql: string) => sql.replaceAll("rollcall.", "");

const transaction = <Result>(
  connection: Connection.Database,
  work: () => Result,
  shouldCommit: (result: Result) => boolean = () => true,
) => {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec(shouldCommit(result) ? "COMMIT" : "ROLLBACK");
    return result;
  } catch (thrown) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw thrown;
  }
};

/** Moves all commits to the file. Returns false if another process uses the log. */
const emptyLog = ({ connection, about }: SqliteFile) =>
  toRow(connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get(), about).integer("busy") === 0;

/** Retries, because SQLite does not wait if another process moves commits at the same time. */
const waitForEmptyLog = (file: SqliteFile, lockMs: number) => {
  file.connection.exec(`PRAGMA busy_timeout = ${checkpointWaitMs}`);
  let isEmpty = emptyLog(file);
  for (let waited = 0; !isEmpty && waited < lockMs; waited += checkpointWaitMs) {
    pause(checkpointWaitMs);
    isEmpty = emptyLog(file);
  }
  file.connection.exec(`PRAGMA busy_timeout = ${lockMs}`);
  return isEmpty;
};

const createDatabase = (
  file: SqliteFile,
  { checkpointTime, lockMs }: { checkpointTime: DatabaseSchema["file"]["checkpointTime"]; lockMs: number },
): Database => {
  const { connection, about } = file;
  const identity = () => [about.path, `${about.path}-wal`].map(readFileIdentity).join();
  const identityAtOpen = identity();
  const runStatement = ({ sql, values = [] }: Statement) => {
    const rows = connection.prepare(stripSchema(sql)).all([...values]);
    return rows.map((row) => toRow(row, about));
  };
  let checkpoint: NodeJS.Timeout | undefined;
  const checkpointLog = () => {
    checkpoint = undefined;
    // A failed checkpoint loses no data, and the next commit reports a broken disk.
    ignoreErrors(() => connection.exec("PRAGMA wal_checkpoint(PASSIVE)"));
  };
  return {
    path: about.path,
    isShared: false,
    query: async (sql, values = []) => withFileFailures(about, () => runStatement({ sql, values })),
    transact: async (statements, { shouldCommit } = {}) =>
      withFileFailures(about, () => {
        const answers = transaction(connection, () => statements.map(runStatement), shouldCommit);
        if (checkpointTime === "after answers") checkpoint ??= setTimeout(checkpointLog, checkpointDelayMs).unref();
        if (checkpointTime === "in transactions" && !waitForEmptyLog(file, lockMs)) throw databaseLocked(about);
        return answers;
      }),
    isFileInPlace: () => identity() === identityAtOpen,
    close: async (finish) => {
      await finish?.().catch(() => undefined);
      clearTimeout(checkpoint);
      ignoreErrors(() => connection.exec("PRAGMA busy_timeout = 0"));
      // `close` does not checkpoint, because libsql keeps the file open until V8 collects the statements.
      if (checkpointTime === "in transactions") ignoreErrors(() => emptyLog(file));
      else checkpointLog();
      connection.close();
    },
  };
};

const examineWaitMs = 2000;
const maxDamages = 3;
/** Checking a file of this size takes a second. For larger files, `damages` is undefined. */
const maxExaminedBytes = 512 * 1024 * 1024;

/** Runs `sql` unless the file is damaged. @throws Failure `storage` */
export const examineFile = async (schema: DatabaseSchema, path: string, sql: string) => {
  const about = { path, title: schema.title };
  requireOwnFile(path);
  const bytes = withFileFailures(about, () => fs.statSync(path, { throwIfNoEntry: false }))?.size;
  if (bytes === undefined) return undefined;
  const opened = openFile(schema, { path, canCreate: false, isForReading: true, maxWaitMs: examineWaitMs });
  if (!opened) return { bytes, version: 0, damages: [], rows: [] };
  const { database } = opened;
  try {
    const checked = bytes <= maxExaminedBytes ? await database.query(`PRAGMA quick_check(${maxDamages})`) : undefined;
    const damages = checked?.map((row) => row.text("quick_check")).filter((line) => line !== "ok");
    const rows = damages?.length ? [] : await database.query(sql);
    return { bytes, version: schema.file.version, damages, rows };
  } finally {
    await database.close();
  }
};
