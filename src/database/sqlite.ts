/** Opens SQLite files with durable commits, and databases in PostgreSQL by URL. */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Database as Connection } from "libsql";
import { ignoreErrors } from "../system/files.ts";
import { isDatabaseUrl } from "../system/host.ts";
import {
  type Database,
  type DatabaseOptions,
  type DatabaseSchema,
  type FileSchema,
  listUpgrades,
  type SqlStatement,
  toRow,
} from "./database.ts";
import { type DescribedFile, databaseForeign, databaseLinked, databaseLocked, databaseVersion } from "./failures.ts";
import { loadSqlite, prepareFile, readFileIdentity, whileBusy } from "./own-file.ts";

/** 50 processes that commit at the same time wait less. */
const maxLockMs = 30_000;
/** The pages are large, because most values are long. */
const pageBytes = 16_384;

type SqliteOptions = Pick<DatabaseOptions, "path" | "host" | "canCreate" | "isForReading" | "maxWaitMs">;

/**
 * Without `canCreate`, returns undefined for a missing or empty database. `before` is the version that was found.
 * @throws Failure
 */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openPostgres(schema, options)
    : await openFile(schema, options);

export const openFile = async (schema: FileSchema, options: SqliteOptions) => {
  const { path, canCreate, isForReading = false } = options;
  const about = { path, ...schema.file };
  const open = await loadSqlite(about);
  const original = prepareFile(about, canCreate);
  if (original === undefined) return undefined;
  const waiting = { host: options.host, maxWaitMs: Math.min(maxLockMs, options.maxWaitMs) };
  const isCopy = isForReading && !isWritable(original);
  const folder = isCopy ? fs.mkdtempSync(join(tmpdir(), "rollcall-")) : undefined;
  try {
    return await whileBusy(about, waiting, () => {
      const file = folder ? copyDatabase(original, folder) : original;
      const connection = open(file);
      try {
        const tables = requireTables({ connection, about }, { schema, file, canCreate });
        if (tables) return { database: createDatabase({ connection, about }, waiting), ...tables, isCopy };
        connection.close();
        return undefined;
      } catch (thrown) {
        connection.close();
        throw thrown;
      }
    });
  } finally {
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  }
};

const isWritable = (path: string) =>
  ignoreErrors(() => {
    for (const neededPath of [path, dirname(path)]) fs.accessSync(neededPath, fs.constants.W_OK);
    return true;
  }) === true;

/** The journal of a killed process belongs to the file. */
const copyDatabase = (path: string, folder: string) => {
  const file = join(folder, "copy.db");
  for (const end of ["", "-journal"]) {
    if (!fs.existsSync(path + end)) continue;
    fs.copyFileSync(path + end, file + end);
    fs.chmodSync(file + end, 0o600);
  }
  return file;
};

type SqliteFile = Readonly<{ connection: Connection; about: DescribedFile }>;

/** Returns the version before; undefined without tables. @throws Failure `database-foreign`, `database-version` */
const requireTables = (
  opened: SqliteFile,
  { schema, file, canCreate }: { schema: FileSchema; file: string; canCreate: boolean },
) => {
  const { connection, about } = opened;
  const { applicationId, version } = schema;
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA page_size = ${pageBytes}`);
  const find = () => {
    const found = findVersion(opened, schema);
    const statements = listUpgrades(schema, found, version);
    if (!statements) throw databaseVersion(about, found ?? 0, version);
    // SQLite empties a file in which a killed process created the tables.
    if (found === undefined && fs.statSync(file).size > 0) throw databaseForeign(about);
    return { found, statements };
  };
  const change = () => {
    // Another process may have changed the tables.
    const { found, statements } = find();
    for (const sql of statements) connection.exec(stripSchema(sql));
    connection.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
    return found;
  };
  const { found } = transaction(connection, beginRead, find);
  if (found === undefined && !canCreate) return undefined;
  const before = found === version ? found : transaction(connection, beginWrite, change);
  // Commits in WAL mode can be lost before SQLite 3.51.3. The mode of another program's file stays.
  const mode = toRow(connection.prepare("PRAGMA journal_mode = TRUNCATE").get(), about).text("journal_mode");
  if (mode !== "truncate") throw databaseLocked(about);
  return { before };
};

const versionSql = `SELECT application_id AS owner, user_version AS version, count(own.sql) AS tables
  FROM pragma_application_id, pragma_user_version LEFT JOIN sqlite_master AS own`;

/** Returns undefined without tables. */
const findVersion = ({ connection, about }: SqliteFile, { applicationId }: FileSchema) => {
  const row = toRow(connection.prepare(versionSql).get(), about);
  const owner = row.integer("owner");
  if (owner === 0 && row.integer("tables") === 0) return undefined;
  if (owner !== applicationId) throw databaseForeign(about);
  return row.integer("version");
};

const stripSchema = (sql: string) => sql.replaceAll("rollcall.", "");

/**
 * Only BEGIN and COMMIT meet the lock of another connection. Another statement that met it would keep the next lock of
 * its connection until a garbage collection.
 */
const beginRead = "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1";
const beginWrite = "BEGIN IMMEDIATE";

const transaction = <Result>(
  connection: Connection,
  begin: string,
  work: () => Result,
  shouldCommit: (result: Result) => boolean = () => true,
) => {
  try {
    // Without cached pages, SQLite notices a replaced file with the same number of commits.
    connection.exec(`PRAGMA shrink_memory; ${begin}`);
    const result = work();
    connection.exec(shouldCommit(result) ? "COMMIT" : "ROLLBACK");
    return result;
  } catch (thrown) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw thrown;
  }
};

const isRead = ({ sql }: SqlStatement) => /^\s*(?:SELECT|WITH|PRAGMA)\b/.test(sql);

const createDatabase = (
  { connection, about }: SqliteFile,
  waiting: Pick<SqliteOptions, "host" | "maxWaitMs">,
): Database => {
  const atOpen = readFileIdentity(about.path);
  const runStatement = ({ sql, values = [] }: SqlStatement) => {
    const rows = connection.prepare(stripSchema(sql)).all([...values]);
    return rows.map((row) => toRow(row, about));
  };
  const transact: Database["transact"] = async (statements, shouldCommit) =>
    await whileBusy(about, waiting, () => {
      const begin = statements.every(isRead) ? beginRead : beginWrite;
      return transaction(connection, begin, () => statements.map(runStatement), shouldCommit);
    });
  return {
    path: about.path,
    isShared: false,
    transact,
    query: async (sql, values = []) => (await transact([{ sql, values }]))[0] ?? [],
    isFileInPlace() {
      const found = readFileIdentity(about.path);
      if (found && found.links > 1) throw databaseLinked(about, found.links);
      return found?.isEmpty === false && found.id === atOpen?.id;
    },
    close: async (finish) => {
      await finish?.().catch(() => undefined);
      // In this mode, SQLite removes its journal.
      if (connection.open) ignoreErrors(() => connection.exec("PRAGMA journal_mode = DELETE"));
      connection.close();
    },
  };
};
