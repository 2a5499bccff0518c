/** Opens SQLite files, and PostgreSQL databases by URL. Both run the same SQL. */
import { isDatabaseUrl } from "../files.ts";
import type { Host } from "../host.ts";
import type { Row } from "./row.ts";
import { openFile } from "./sqlite.ts";

export { type Lock, type LockWaitOptions, toFileFailure, tryLock, waitForLock } from "./own-file.ts";
export type { Row } from "./row.ts";
export { examineFile } from "./sqlite.ts";

/** SQLite cuts a text at a NUL and loses lone surrogates. JSON escapes both. */
export type SqlValue = string | number | Uint8Array | null;

/** `sql` has a `?` for each value. Names of tables include the schema, as in `rollcall.request`. */
export type Statement = Readonly<{ sql: string; values?: readonly SqlValue[] }>;

/** Each method throws a Failure of code `storage`, `auth` or `unavailable` that names the path. */
export type Database = Readonly<{
  path: string;
  /** True for PostgreSQL, which several machines can use. */
  isShared: boolean;
  /** The statement must be repeatable, because it runs again if PostgreSQL's answer is lost. */
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** The statements must be repeatable, too. */
  transact(
    statements: readonly Statement[],
    options?: {
      /** Called if COMMIT fails or is not answered, although the transaction may be committed. */
      onUnknownCommit?: () => void;
      /** Returns false to undo the statements. */
      shouldCommit?: (answers: readonly (readonly Row[])[]) => boolean;
    },
  ): Promise<readonly (readonly Row[])[]>;
  /** False if the file or its write-ahead log was deleted or replaced. Always true for PostgreSQL. */
  isFileInPlace(): boolean;
  /** @param finish runs the last statements, without retries */
  close(finish?: () => Promise<unknown>): Promise<void>;
}>;

/** rollcall refuses tables of another version, because it cannot migrate them. */
export type DatabaseSchema = Readonly<{
  name: "ledger" | "store";
  title: string;
  file: {
    /** A 32-bit number that identifies the files of this schema. */
    applicationId: number;
    version: number;
    tables: readonly string[];
    /** When SQLite moves its log to the file. Default: in the commit that fills the log, which is slow. */
    checkpointTime?: "after answers";
  };
  postgres: {
    version: number;
    tables: readonly string[];
    maxConnections?: number;
  };
}>;

export type DatabaseLocation = Readonly<{
  path: string;
  password?: string | undefined;
  /** Called each time that the database refuses access, unless `password` is given. */
  passwordCommand?: (() => Promise<string>) | undefined;
}>;

export type DatabaseWaitOptions = Readonly<{
  host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** For a server that does not answer, or a file that other processes lock. */
  maxWaitMs: number;
  /** Called once per statement that a server does not answer. */
  onUnavailable: (code: string) => void;
}>;

export interface DatabaseOptions extends DatabaseLocation, DatabaseWaitOptions {
  make: boolean;
  /** True if the caller writes nothing. Then a copy of a read-only file is opened. */
  toRead?: boolean;
}

/** Returns undefined if the file or its tables are missing and `make` is false. @throws Failure */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openPostgres(schema, options)
    : openFile(schema, options);
