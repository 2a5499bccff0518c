/** Opens and versions the files rollcall keeps: SQLite, durable at every commit, shared by as many processes as like. */
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isArrayBuffer, isUint8Array } from "node:util/types";
import Connection from "libsql";
import { Failure } from "../failure.ts";
import {
  failureOf,
  identityOf,
  isBusy,
  isWritable,
  makeFile,
  refuseForeign,
  requireOwnFile,
  systemFailure,
  type TitledFile,
} from "./file.ts";

/** What a database is opened with. */
export interface DatabaseOptions extends TitledFile {
  /** Tells rollcall's files from other people's: a 32-bit number, another one for each kind of file. */
  readonly applicationId: number;
  /** The version of its tables. There are no migrations: a file of another version is refused. */
  readonly version: number;
  /** The statements that make its tables. */
  readonly tables: readonly string[];
  /** When what was committed is moved from the write-ahead log to the file: with commits, where nothing is said. */
  readonly checkpoints?: "with commits" | "asked for";
  /** How long to wait for other processes; half a minute where nothing is said. */
  readonly lockTimeoutMs?: number;
}

/** What a column can be given. A text ends at a NUL, and lone surrogates in it are lost: JSON keeps both. */
export type Value = string | number | Uint8Array | null;

/** One row; a column that is not of the type asked for is a defect of the file. */
export interface Row {
  /** @throws Failure `database-corrupt` */
  text(column: string): string;
  /** @throws Failure `database-corrupt` */
  integer(column: string): number;
  /** @throws Failure `database-corrupt` */
  bytes(column: string): Uint8Array;
  isNull(column: string): boolean;
}

/** A prepared statement. */
export interface Statement {
  /** How many rows were changed, and the number of the last one added. */
  run(...values: readonly Value[]): { readonly changes: number; readonly rowId: number };
  get(...values: readonly Value[]): Row | undefined;
  all(...values: readonly Value[]): readonly Row[];
}

/** An open database. Every way of using it throws a Failure of code `storage` that names its path. */
export interface Database {
  readonly path: string;
  prepare(sql: string): Statement;
  /** Runs `work` in a transaction that may write; what it did is on disk when this returns, and undone when it throws. */
  transaction<Result>(work: () => Result): Result;
  /** Moves what was committed, and is on disk, from the write-ahead log to the file, as far as nobody reads it. */
  checkpoint(): void;
  /** Whether the file, and its log, are those that were opened: nobody deleted or replaced them since. */
  isThere(): boolean;
  close(): void;
}

/** How long to wait for other processes: 50 at once, each with a commit that waits for the disk. */
const defaultLockTimeoutMs = 30_000;

/** How often, and how far apart, a new file's journal is tried: seconds in all, where it takes milliseconds. */
const journalTries = 200;
const journalWaitMs = 25;

/** Larger than SQLite's own: most of what is stored is long. */
const pageBytes = 16_384;

/**
 * Opens a database, and makes it, in a folder of its owner's alone, where there is none.
 * @throws Failure `storage`: locked, corrupt, not a database of this kind, of another version, no place to write, disk full
 */
export const openDatabase = (options: DatabaseOptions): Database => {
  const { path, title, lockTimeoutMs = defaultLockTimeoutMs } = options;
  const about = { path, title };
  requireOwnFile(path);
  refuseForeign(options);
  makeFile(about);
  return guard(about, () => {
    // As a whole path: `:memory:` and what looks like an address are files here too.
    const connection = new Connection(resolve(path), { timeout: lockTimeoutMs });
    try {
      prepareFile(connection, options);
      if (options.checkpoints === "asked for") connection.exec("PRAGMA wal_autocheckpoint = 0");
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
    return databaseOf(connection, about);
  });
};

/**
 * Opens a database that is only read: where it can't be written, as a copy that is gone once it is open.
 * @throws as `openDatabase`
 */
export const openToRead = (options: DatabaseOptions): { readonly database: Database; readonly isCopy: boolean } => {
  const { path, title } = options;
  if (isWritable(path)) return { database: openDatabase(options), isCopy: false };
  requireOwnFile(path);
  refuseForeign(options);
  const folder = mkdtempSync(join(tmpdir(), "rollcall-"));
  try {
    const copy = join(folder, "copy.db");
    for (const end of ["", "-wal"]) if (end === "" || existsSync(path + end)) copyFileSync(path + end, copy + end);
    for (const end of ["", "-wal"]) if (existsSync(copy + end)) chmodSync(copy + end, 0o600);
    const connection = new Connection(copy);
    prepareFile(connection, options);
    // What is in its log moves into the file, which needs no name from then on.
    connection.exec("PRAGMA journal_mode = MEMORY");
    return { database: databaseOf(connection, { path, title }), isCopy: true };
  } catch (thrown) {
    throw systemFailure(failureOf(thrown, { path, title }), { path, title });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Makes the tables in an empty file, and refuses a file that is not this program's own. */
const prepareFile = (connection: Connection.Database, options: DatabaseOptions): void => {
  const { applicationId, version, tables } = options;
  const isEmpty = checkedIsEmpty(connection, options);
  connection.exec("PRAGMA synchronous = FULL");
  if (!isEmpty) return;
  connection.exec(`PRAGMA page_size = ${pageBytes}`);
  useWriteAheadLog(connection);
  connection.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been here since the first look.
    if (checkedIsEmpty(connection, options)) for (const statement of tables) connection.exec(statement);
    connection.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}; COMMIT`);
  } catch (thrown) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw thrown;
  }
};

/** SQLite does not wait where two processes change the journal of a new file at once, so this does. */
const useWriteAheadLog = (connection: Connection.Database): void => {
  for (let tries = 1; ; tries++) {
    try {
      connection.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (thrown) {
      if (tries === journalTries || !isBusy(thrown)) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, journalWaitMs);
    }
  }
};

/** True if the file has no tables yet, as it was at one moment. @throws as `requireVersion` */
const checkedIsEmpty = (connection: Connection.Database, options: DatabaseOptions): boolean => {
  if (connection.inTransaction) return requireVersion(connection, options) === undefined;
  // Else a file that another process sets up meanwhile has tables, but nobody's name on it yet.
  connection.exec("BEGIN");
  try {
    return requireVersion(connection, options) === undefined;
  } finally {
    if (connection.inTransaction) connection.exec("COMMIT");
  }
};

/** The file's version, which is this program's; undefined if it has no tables yet. @throws Failure `database-foreign`, `database-version` */
export const requireVersion = (connection: Connection.Database, options: DatabaseOptions): number | undefined => {
  const { path, title, applicationId, version: expected, tables } = options;
  const number = (sql: string, column: string): number => {
    const row: unknown = connection.prepare(sql).get();
    return rowOf(row, { path, title }).integer(column);
  };
  const owner = number("PRAGMA application_id", "application_id");
  const version = number("PRAGMA user_version", "user_version");
  const made: readonly unknown[] = connection.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").all();
  if (owner === 0 && made.length === 0) return undefined;
  const where = { file: path };
  if (owner !== applicationId) throw new Failure("database-foreign", { path, title }, { where });
  const known = new Set(made.map((row) => oneLine(rowOf(row, { path, title }).text("sql"))));
  // Development versions before 0.1.0 counted from 1 as well: their tables tell them from version 1.
  const isEarlier = tables.some((sql) => sql.startsWith("CREATE ") && !known.has(oneLine(sql)));
  const found = isEarlier && version === expected ? 0 : version;
  if (found !== expected) throw new Failure("database-version", { path, title, version: found, expected }, { where });
  return version;
};

const oneLine = (sql: string): string => sql.replaceAll(/\s+/g, " ");

const databaseOf = (connection: Connection.Database, about: TitledFile) => {
  const identity = (): string => [about.path, `${about.path}-wal`].map(identityOf).join();
  const opened = identity();
  const run = <Result>(work: () => Result): Result => guard(about, work);
  const database: Database = {
    path: about.path,
    prepare: (sql) => {
      const statement = run(() => connection.prepare(sql));
      return {
        run: (...values) =>
          run(() => {
            const { changes, lastInsertRowid } = statement.run([...values]);
            return { changes, rowId: Number(lastInsertRowid) };
          }),
        get: (...values) =>
          run(() => {
            const row: unknown = statement.get([...values]);
            return row === undefined || row === null ? undefined : rowOf(row, about);
          }),
        all: (...values) => run(() => statement.all([...values]).map((row: unknown) => rowOf(row, about))),
      };
    },
    transaction: (work) =>
      run(() => {
        connection.exec("BEGIN IMMEDIATE");
        try {
          const result = work();
          connection.exec("COMMIT");
          return result;
        } catch (thrown) {
          if (connection.inTransaction) connection.exec("ROLLBACK");
          throw thrown;
        }
      }),
    checkpoint: () => run(() => void connection.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()),
    isThere: () => identity() === opened,
    close: () => connection.close(),
  };
  return database;
};

/** Runs `work`; what SQLite throws becomes a failure that names the file. */
const guard = <Result>(about: TitledFile, work: () => Result): Result => {
  try {
    return work();
  } catch (thrown) {
    throw failureOf(thrown, about);
  }
};

/** A row as libsql gives it. */
export const rowOf = (row: unknown, about: TitledFile): Row => {
  if (typeof row !== "object" || row === null)
    throw new Failure("database-corrupt", about, { where: { file: about.path } });
  const column = <Kind>(name: string, parse: (value: unknown) => Kind | undefined): Kind => {
    const value = parse(Reflect.get(row, name));
    if (value === undefined) throw new Failure("database-corrupt", about, { where: { file: about.path } });
    return value;
  };
  return {
    text: (name) => column(name, (value) => (typeof value === "string" ? value : undefined)),
    integer: (name) => column(name, (value) => (typeof value === "number" ? value : undefined)),
    bytes: (name) => column(name, bytesOf),
    isNull: (name) => Reflect.get(row, name) === null,
  };
};

/** libsql gives a buffer for one row and an `ArrayBuffer` for several. */
const bytesOf = (value: unknown): Uint8Array | undefined => {
  if (isUint8Array(value)) return value;
  return isArrayBuffer(value) ? new Uint8Array(value) : undefined;
};
