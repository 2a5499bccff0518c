/** rollcall's databases: SQLite files, and PostgreSQL by URL. Both run the same SQL. */
import { isDatabaseUrl } from "../files.ts";
import type { Host } from "../host.ts";
import type { Row } from "./row.ts";
import { openFile } from "./sqlite.ts";

export { type Lock, type LockWaitOptions, toFileFailure, tryLock, waitForLock } from "./own-file.ts";
export type { Row } from "./row.ts";
export { examineFile } from "./sqlite.ts";

/** SQLite cuts a text at a NUL and loses lone surrogates. Texts in JSON are safe, because JSON escapes both. */
export type SqlValue = string | number | Uint8Array | null;

/** `?` is a value. Tables are named with the schema, as `rollcall.request`, in files too. */
export type Statement = Readonly<{ sql: string; values?: readonly SqlValue[] }>;

export interface TransactionOptions {
  /** Called each time COMMIT fails or has no answer, so that it may have succeeded, before the next try. */
  readonly onUnknownCommit?: () => void;
  /** False undoes the statements. Default: true. */
  readonly shouldCommit?: (answers: readonly (readonly Row[])[]) => boolean;
}

/** Each method throws a Failure of code `storage`, `auth` or `unavailable` that names the path. */
export interface Database {
  readonly path: string;
  /** True for PostgreSQL, which several machines can use at the same time. */
  readonly isShared: boolean;
  /** Runs a statement in a transaction. It must be repeatable: PostgreSQL gets it again if an answer is lost. */
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Runs repeatable statements in one transaction; returns the rows of each. */
  transact(statements: readonly Statement[], options?: TransactionOptions): Promise<readonly (readonly Row[])[]>;
  /** False if the file or its write-ahead log was deleted or replaced. Always true for PostgreSQL. */
  isUnchanged(): boolean;
  /** @param finish runs the last statements. They are not repeated, so the run ends without a wait */
  close(finish?: () => Promise<unknown>): Promise<void>;
}

/** The tables of a database. There are no migrations: other versions are refused. */
export interface DatabaseSchema {
  readonly name: "ledger" | "store";
  readonly title: string;
  readonly file: {
    /** A 32-bit number that identifies the files of this schema. */
    readonly applicationId: number;
    readonly version: number;
    readonly tables: readonly string[];
    /** When commits move from the log to the file. Default: in the commit that makes the log too long (slow). */
    readonly checkpointTime?: "after answers";
  };
  readonly server: {
    readonly version: number;
    readonly tables: readonly string[];
    /** Connections of a process. Default: as many as one run needs. */
    readonly maxConnections?: number;
  };
}

export interface DatabaseLocation {
  readonly path: string;
  readonly password?: string | undefined;
  /** Returns a password. Called if the database refuses access and `password` is absent; may be called again. */
  readonly passwordCommand?: (() => Promise<string>) | undefined;
}

export interface DatabaseWaitOptions {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** Maximum wait for a server that does not answer, or for a file that other processes lock. */
  readonly maxWaitMs: number;
  /** Called once per statement that a server does not answer, with the code of the error. */
  readonly onUnavailable: (code: string) => void;
}

export interface DatabaseOptions extends DatabaseLocation, DatabaseWaitOptions {
  readonly make: boolean;
  /** True if nothing is written, so that a read-only file will do. */
  readonly toRead?: boolean;
}

/**
 * Opens a database; undefined if it has no tables and `make` is false. A read-only file is opened as a temporary copy
 * (`isCopy`). @throws Failure
 */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openServer(schema, options)
    : openFile(schema, options);
