/** Opens SQLite files: durable at each commit, and shared by any number of processes. */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import Connection from "libsql";
import { databaseForeign, databaseVersion, folderUnusable, type TitledFile } from "./failures.ts";
import type { Database, DatabaseOptions, DatabaseSchema, OpenedDatabase, SqlValue, Statement } from "./index.ts";
import { createFile, isBusy, readFileIdentity, requireOwnFile, withFileFailures } from "./own-file.ts";
import { type Row, toRow } from "./row.ts";

/** The longest wait for a file: 50 processes at once, each with a commit. No signal is heard meanwhile. */
const maxLockMs = 30_000;

/** How often, and how far apart, the journal of a new file is tried: 5 s in all, although it takes milliseconds. */
const maxJournalTries = 200;
const journalWaitMs = 25;

/** Larger than the default of SQLite, because most values are long. */
const pageBytes = 16_384;

/** Statements that stay prepared, so that thousands need no memory. They keep their values: few and short ones. */
const maxPrepared = 64;
const maxPreparedValues = 32;
const maxPreparedValueLength = 4096;

/** How long after a commit its pages move from the log to the file. Many small commits move at once. */
const checkpointAfterMs = 200;

/** Opens a file, and makes it in a folder that is its owner's alone. @throws as `openDatabase` */
export const openFile = (
  part: DatabaseSchema,
  { path, make, toRead = false, maxWaitMs }: Pick<DatabaseOptions, "path" | "make" | "toRead" | "maxWaitMs">,
): OpenedDatabase | undefined => {
  const about = { path, title: part.title };
  return withFileFailures(about, () => {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    const created = (stats?.size ?? 0) === 0;
    if (stats !== undefined && !stats.isFile()) {
      // A device or a pipe may have no end, or wait for one.
      throw folderUnusable(
        { ...about, code: stats.isDirectory() ? "EISDIR" : "not-a-file" },
        { where: { file: path } },
      );
    }
    if (created && !make) return undefined;
    requireOwnFile(path);
    const isCopy = toRead && !isWritable(path);
    if (created) createFile(about);
    const folder = isCopy ? fs.mkdtempSync(join(tmpdir(), "rollcall-")) : undefined;
    let connection: Connection.Database | undefined;
    try {
      // As an absolute path: `:memory:` and an address are names of files here.
      const file = folder === undefined ? resolve(path) : copyDatabase(folder, path);
      connection = new Connection(file, { timeout: Math.min(maxLockMs, maxWaitMs) });
      prepareTables({ connection, about }, part);
      // It is rollcall's own. By its name: the system frees SQLite's locks if a descriptor of the file is closed.
      if (!toRead && ((stats?.mode ?? 0) & 0o077) !== 0) fs.chmodSync(path, 0o600);
      // The log of a copy moves into the file, which needs no name from then on.
      if (isCopy) connection.exec("PRAGMA journal_mode = MEMORY");
      const isLate = !isCopy && part.file.checkpointTime === "after answers";
      if (isLate) connection.exec("PRAGMA wal_autocheckpoint = 0");
      return { database: createDatabase({ connection, about }, { isLate }), created, isCopy };
    } catch (thrown) {
      connection?.close();
      throw thrown;
    } finally {
      if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
    }
  });
};

/** True if a file and its folder can be written. */
const isWritable = (path: string): boolean => {
  try {
    for (const needed of [path, dirname(path)]) fs.accessSync(needed, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Copies a file that cannot be written, with its log; returns the copy. */
const copyDatabase = (folder: string, path: string): string => {
  const copy = join(folder, "copy.db");
  for (const end of ["", "-wal"].filter((end) => fs.existsSync(path + end))) {
    fs.copyFileSync(path + end, copy + end);
    fs.chmodSync(copy + end, 0o600);
  }
  return copy;
};

interface OpenFile {
  readonly connection: Connection.Database;
  readonly about: TitledFile;
}

/** Makes the tables in an empty file, and refuses a file of another program or version. */
const prepareTables = (file: OpenFile, part: DatabaseSchema): void => {
  const { connection } = file;
  const { applicationId, version, tables } = part.file;
  const has = hasTables(file, part);
  connection.exec("PRAGMA synchronous = FULL");
  if (has) return;
  connection.exec(`PRAGMA page_size = ${pageBytes}`);
  enableWriteAheadLog(connection);
  transaction(connection, () => {
    // Another process may have made them since the first look.
    if (!hasTables(file, part)) for (const sql of tables) connection.exec(stripSchema(sql));
    connection.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
  });
};

/** SQLite does not wait if two processes change the journal of a new file at once, so this does. */
const enableWriteAheadLog = (connection: Connection.Database): void => {
  for (let tries = 1; ; tries++) {
    try {
      connection.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (thrown) {
      if (tries === maxJournalTries || !isBusy(thrown)) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, journalWaitMs);
    }
  }
};

/** One statement, so that it sees the tables of another process with its application id. */
const versionSql = `SELECT application_id AS owner, user_version AS version, own.sql AS sql
  FROM pragma_application_id, pragma_user_version LEFT JOIN sqlite_master AS own ON own.sql IS NOT NULL`;

/** True if a file has tables, and this program can use them. @throws Failure `database-foreign`, `database-version` */
const hasTables = ({ connection, about }: OpenFile, part: DatabaseSchema): boolean => {
  const { applicationId, version: expected, tables } = part.file;
  const rows = rowsOf(connection.prepare(versionSql).all(), about);
  const [owner = 0, version = 0] = ["owner", "version"].map((column) => rows[0]?.integer(column));
  const made = rows.filter((row) => !row.isNull("sql")).map((row) => oneLine(row.text("sql")));
  if (owner === 0 && made.length === 0) return false;
  const where = { file: about.path };
  if (owner !== applicationId) throw databaseForeign(about, { where });
  // Development versions before 0.1.0 counted from 1 as well, but their tables are others.
  const isEarly = tables.some((sql) => sql.startsWith("CREATE ") && !made.includes(oneLine(stripSchema(sql))));
  const found = isEarly && version === expected ? 0 : version;
  if (found !== expected) throw databaseVersion({ ...about, version: found, expected }, { where });
  return true;
};

const rowsOf = (rows: readonly unknown[], about: TitledFile): readonly Row[] => rows.map((row) => toRow(row, about));

const oneLine = (sql: string): string => sql.replaceAll(/\s+/g, " ");

/** A file has no schemas. */
const stripSchema = (sql: string): string => sql.replaceAll("rollcall.", "");

const transaction = <Result>(connection: Connection.Database, work: () => Result): Result => {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (thrown) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw thrown;
  }
};

const createDatabase = (
  { connection, about }: OpenFile,
  { isLate: isCheckpointDelayed }: { readonly isLate: boolean },
): Database => {
  const identity = (): string => [about.path, `${about.path}-wal`].map(readFileIdentity).join();
  const opened = identity();
  const prepared = new Map<string, Connection.Statement<unknown[]>>();
  const isLong = (value: SqlValue): boolean =>
    typeof value !== "number" && (value?.length ?? 0) > maxPreparedValueLength;
  const runStatement = ({ sql, values = [] }: Statement): readonly Row[] => {
    const statement = prepared.get(sql) ?? connection.prepare(stripSchema(sql));
    if (values.length > maxPreparedValues || values.some(isLong)) prepared.delete(sql);
    else if (prepared.size < maxPrepared) prepared.set(sql, statement);
    return rowsOf(statement.all([...values]), about);
  };
  let checkpoint: NodeJS.Timeout | undefined;
  const checkpointLog = (): void => {
    checkpoint = undefined;
    try {
      connection.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The log has the commits on disk. If nothing can be written any more, the next commit fails.
    }
  };
  return {
    path: about.path,
    isShared: false,
    query: async (sql, values = []) => withFileFailures(about, () => runStatement({ sql, values })),
    transact: async (questions) =>
      withFileFailures(about, () => {
        const answers = transaction(connection, () => questions.map(runStatement));
        if (isCheckpointDelayed) checkpoint ??= setTimeout(checkpointLog, checkpointAfterMs).unref();
        return answers;
      }),
    isUnchanged: () => identity() === opened,
    close: async (finish) => {
      await finish?.().catch(() => undefined);
      clearTimeout(checkpoint);
      connection.close();
    },
  };
};

/** A file that was examined. */
export interface DatabaseReport {
  readonly bytes: number;
  /** The version of its tables; 0 for an empty file. */
  readonly version: number;
  /** The first damages; undefined if the file is too large to examine all of it. */
  readonly damages: readonly string[] | undefined;
  /** The rows of the query; none if the file is empty or damaged. */
  readonly rows: readonly Row[];
}

/** How long an examination waits for other processes. */
const examineWaitMs = 2000;

/** Damages that are named. */
const maxDamages = 3;

/** Bytes that are examined: the work of a second. */
const maxExaminedBytes = 512 * 1024 * 1024;

/** Examines a file, and asks `sql` if it is not damaged; undefined if there is no file. @throws Failure `storage` */
export const examineFile = async (
  part: DatabaseSchema,
  path: string,
  sql: string,
): Promise<DatabaseReport | undefined> => {
  const about = { path, title: part.title };
  const stats = withFileFailures(about, () => fs.statSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return undefined;
  const { size: bytes } = stats;
  const opened = openFile(part, { path, make: false, toRead: true, maxWaitMs: examineWaitMs });
  if (opened === undefined) return { bytes, version: 0, damages: [], rows: [] };
  const { database } = opened;
  try {
    const isSmall = bytes <= maxExaminedBytes;
    const checked = isSmall ? await database.query(`PRAGMA quick_check(${maxDamages})`) : undefined;
    const damages = checked?.map((row) => row.text("quick_check")).filter((line) => line !== "ok");
    const rows = (damages ?? []).length === 0 ? await database.query(sql) : [];
    return { bytes, version: part.file.version, damages, rows };
  } finally {
    await database.close();
  }
};
