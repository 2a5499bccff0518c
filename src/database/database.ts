/** What SQLite and PostgreSQL have in common. */
import { isArrayBuffer, isUint8Array } from "node:util/types";
import type { Host } from "../system/host.ts";
import { type DescribedFile, databaseCorrupt } from "./failures.ts";

/** SQLite cuts a text at a NUL and loses lone surrogates, so callers store such a text as JSON. */
export type SqlValue = string | number | Uint8Array | null;

/** `sql` has a `?` for each value. Names of tables include the schema, as in `rollcall.request`. */
export type SqlStatement = Readonly<{ sql: string; values?: readonly SqlValue[] }>;

/**
 * Statements must be repeatable, because PostgreSQL's answer can be lost. Methods throw Failure `storage`, `auth` or
 * `unavailable`.
 */
export type Database = Readonly<{
  path: string;
  /** True for PostgreSQL. */
  isShared: boolean;
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Commits if `shouldCommit` returns true (the default). */
  transact(
    statements: readonly SqlStatement[],
    shouldCommit?: (answers: readonly (readonly Row[])[]) => boolean,
  ): Promise<readonly (readonly Row[])[]>;
  /** False if the file was deleted, replaced or emptied. @throws Failure `database-linked` */
  isFileInPlace(): boolean;
  /** @param finish runs the last statements, without retries */
  close(finish?: () => Promise<unknown>): Promise<void>;
}>;

/** An upgrade brings its version to the next, and lets runs of its version continue. */
export type Tables = Readonly<{ tables: readonly string[]; upgrades?: Readonly<Record<number, readonly string[]>> }>;

export type FileSchema = Tables &
  Readonly<Record<"applicationId" | "version", number>> &
  Readonly<{ file: Omit<DescribedFile, "path"> }>;

export type DatabaseSchema = FileSchema & Readonly<{ postgres: Tables }>;

/** Lists the statements that make the tables, or bring them to the current version. Undefined if there are none. */
export const listUpgrades = ({ tables, upgrades = {} }: Tables, from: number | undefined, to: number) => {
  if (from === undefined) return tables;
  const statements: string[] = [];
  for (let version = from; version !== to; version++) {
    const step = upgrades[version];
    if (!step) return undefined;
    statements.push(...step);
  }
  return statements;
};

export type DatabaseLocation = Readonly<{
  path: string;
  password?: string | undefined;
}>;

export type DatabaseWaitOptions = Readonly<{
  host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** Longest wait for a server that does not answer, or for a locked file. */
  maxWaitMs: number;
  /** Called once for each query or transaction that waits for an unavailable server. */
  onUnavailable: (code: string) => void;
}>;

export interface DatabaseOptions extends DatabaseLocation, DatabaseWaitOptions {
  canCreate: boolean;
  /** True if the caller writes nothing, so that a copy of a read-only file is enough. */
  isForReading?: boolean;
}

export type Row = ReturnType<typeof toRow>;

/** Reads the columns of a driver's row by name. The functions throw Failure `database-corrupt`. */
export const toRow = (row: unknown, about: DescribedFile) => {
  const damage = () => databaseCorrupt(about);
  if (typeof row !== "object" || row === null) throw damage();
  const column = <Kind>(name: string, parse: (value: unknown) => Kind | undefined): Kind => {
    const value = parse(Reflect.get(row, name));
    if (value === undefined) throw damage();
    return value;
  };
  return {
    text: (name: string) => column(name, (value) => (typeof value === "string" ? value : undefined)),
    integer: (name: string) => column(name, (value) => (typeof value === "number" ? value : undefined)),
    // libsql returns an `ArrayBuffer`, and pg returns a `Buffer`.
    bytes: (name: string) =>
      column<Uint8Array>(name, (value) =>
        isArrayBuffer(value) ? new Uint8Array(value) : isUint8Array(value) ? value : undefined,
      ),
    isNull: (name: string) => Reflect.get(row, name) === null,
    requireIntact: (isIntact: boolean) => {
      if (!isIntact) throw damage();
    },
  };
};
