/** Databases of rollcall's own: SQLite in a file, and PostgreSQL at an address. Both are asked in the same SQL. */
import { isDatabaseUrl } from "../files.ts";
import type { Host } from "../host.ts";
import type { Row } from "./row.ts";
import { openFile } from "./sqlite.ts";

export {
  type Lock,
  type LockWaitOptions,
  toFileFailure,
  tryLock,
  waitForLock,
} from "./own-file.ts";
export type { Row } from "./row.ts";
export { type DatabaseReport, examineFile } from "./sqlite.ts";

/** A value of a statement or a column. SQLite ends a text at a NUL and loses lone surrogates; in JSON both are kept. */
export type SqlValue = string | number | Uint8Array | null;

/** A statement. `?` is a value. Tables are named with the schema, as `rollcall.request`, in files too. */
export interface Statement {
  readonly sql: string;
  readonly values?: readonly SqlValue[];
}

/** An open database. Each method throws a Failure of code `storage`, `auth` or `unavailable` that names its path. */
export interface Database {
  readonly path: string;
  /** True for PostgreSQL, which several machines can use at the same time. */
  readonly isShared: boolean;
  /** Asks one statement in a transaction of its own. It must be repeatable: PostgreSQL gets it again if an answer is lost. */
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /**
   * Asks all statements in one transaction, or none; returns the rows of each. It must be repeatable, as for `ask`.
   * @param onUnknownCommit called if the answer to the commit is lost, so that the transaction may have been done
   */
  transact(questions: readonly Statement[], onUnknownCommit?: () => void): Promise<readonly (readonly Row[])[]>;
  /** True unless somebody deleted or replaced the file, or its log, since it was opened. */
  isUnchanged(): boolean;
  /** @param finish asks the last statements, which are not repeated: nobody waits for a database at the end of a run */
  close(finish?: () => Promise<unknown>): Promise<void>;
}

/** Tables that rollcall makes in a database. There are no migrations: other versions of them are refused. */
export interface DatabaseSchema {
  readonly name: "ledger" | "store";
  /** Its name for a person, such as "the ledger". */
  readonly title: string;
  readonly file: {
    /** Tells the files of this part from other files: a 32-bit number. */
    readonly applicationId: number;
    readonly version: number;
    /** The statements that make the tables. */
    readonly tables: readonly string[];
    /** When a commit moves from the log to the file. Default: with a commit, which takes twice as long then. */
    readonly checkpointTime?: "after answers";
  };
  readonly server: {
    readonly version: number;
    readonly tables: readonly string[];
    /** Connections of a process. Default: those of one run. */
    readonly maxConnections?: number;
  };
}

/** The location of a database: a file, or an address without its password. */
export interface DatabaseLocation {
  readonly path: string;
  readonly password?: string | undefined;
  /** Returns the password, if there is none and the database asks for one, or a new one, if the database refuses it. */
  readonly passwordCommand?: (() => Promise<string>) | undefined;
}

/** How long a database is waited for. */
export interface DatabaseWaitOptions {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** For other processes, which lock a file for half a minute at most, or for a server that does not answer. */
  readonly maxWaitMs: number;
  /** Called once per question that a server does not answer, with the code of the obstacle. */
  readonly onAway: (code: string) => void;
}

/** A database that was opened. */
export interface OpenedDatabase {
  readonly database: Database;
  /** True if it had no tables before. */
  readonly created: boolean;
  /** True if it is a copy, because the file cannot be written: what is written to it is lost. */
  readonly isCopy: boolean;
}

/** How a database is opened. */
export interface DatabaseOptions extends DatabaseLocation, DatabaseWaitOptions {
  /** Makes the tables if there are none. */
  readonly make: boolean;
  /** Opens a copy of a file that cannot be written. Default: false. */
  readonly toRead?: boolean;
}

/**
 * Opens a database; undefined if it has no tables and `make` is false.
 * @throws Failure of code `storage` (locked, damaged, of another program, of another version, no location to write to, disk
 *   full), `auth`, `unavailable`, `usage` (`invalid-database-url`)
 */
export const openDatabase = async (
  part: DatabaseSchema,
  options: DatabaseOptions,
): Promise<OpenedDatabase | undefined> =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openServer(part, options)
    : openFile(part, options);

/** Loads the driver of a database, before it is opened. */
export const loadDriver = async (path: string): Promise<void> => {
  if (isDatabaseUrl(path)) await import("./postgres.ts");
};
