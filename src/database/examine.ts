/** Looks at a file rollcall keeps, without changing it: its version, whether it is whole, what is in it. */
import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import Connection from "libsql";
import { Failure } from "../failure.ts";
import { failureOf, refuseForeign, requireOwnFile, systemFailure, type TitledFile } from "./file.ts";
import { type DatabaseOptions, type Row, requireVersion, rowOf } from "./open.ts";

/** What was found. */
export interface Examined {
  readonly bytes: number;
  /** The version of its tables; 0 for an empty file. */
  readonly version: number;
  /** The first damages; empty where it is whole, undefined where it is too large to be looked through at once. */
  readonly damages: readonly string[] | undefined;
  /** The rows of the query; none where the file is empty or damaged. */
  readonly rows: readonly Row[];
}

/** How long to wait for others: whoever looks can look again. */
const patienceMs = 2000;

/** Damages that are named. */
const mostDamages = 3;

/**
 * Examines a file; undefined where there is none.
 * @param query what to read of it, once it is known to be whole
 * @throws Failure `storage`: locked, not a database of this kind, of another version, can't be read
 */
export const examineDatabase = (options: DatabaseOptions, query: string): Examined | undefined => {
  const { path, title } = options;
  const about = { path, title };
  const bytes = sizeOf(about);
  if (bytes === undefined) return undefined;
  requireOwnFile(path);
  if (bytes === 0) return { bytes, version: 0, damages: [], rows: [] };
  refuseForeign(options);
  let connection: Connection.Database | undefined;
  try {
    connection = new Connection(resolve(path), { timeout: patienceMs });
    connection.exec("PRAGMA query_only = ON");
    const version = requireVersion(connection, options);
    const damages = bytes > mostBytes ? undefined : damagesIn(connection, about);
    const isReadable = (damages ?? []).length === 0 && version !== undefined;
    const found: readonly unknown[] = isReadable ? connection.prepare(query).all() : [];
    return { bytes, version: version ?? 0, damages, rows: found.map((row) => rowOf(row, about)) };
  } catch (thrown) {
    throw failureOf(thrown, about);
  } finally {
    connection?.close();
  }
};

/** Bytes that are looked through: a second's work. */
const mostBytes = 512 * 1024 * 1024;

const damagesIn = (connection: Connection.Database, about: TitledFile): readonly string[] => {
  const rows: readonly unknown[] = connection.prepare(`PRAGMA quick_check(${mostDamages})`).all();
  return rows.map((row) => rowOf(row, about).text("quick_check")).filter((line) => line !== "ok");
};

/** The version of SQLite that is inside. */
export const sqliteVersion = (): string => {
  const connection = new Connection(":memory:");
  try {
    const row: unknown = connection.prepare("SELECT sqlite_version() AS version").get();
    return rowOf(row, { path: "", title: "SQLite" }).text("version");
  } finally {
    connection.close();
  }
};

const sizeOf = (about: TitledFile): number | undefined => {
  let stats: Stats | undefined;
  try {
    stats = statSync(about.path, { throwIfNoEntry: false });
  } catch (thrown) {
    throw systemFailure(thrown, about);
  }
  // A device or a pipe may have no end, or wait for one.
  if (stats?.isFile() === false) {
    throw new Failure("folder-unusable", { ...about, code: "not-a-file" }, { where: { file: about.path } });
  }
  return stats?.size;
};
