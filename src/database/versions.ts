/** The tables of a part of rollcall in a PostgreSQL database: made by one process at a time, and refused if they are of another version. */
import { Failure } from "../failure.ts";
import type { TitledFile } from "./file.ts";
import type { DatabaseServer } from "./remote.ts";

/** A part of rollcall that has tables of its own in the schema `rollcall`. */
interface RemotePart extends TitledFile {
  readonly part: "ledger" | "store";
  /** The version of its tables. There are no migrations: tables of another version are refused. */
  readonly version: number;
  /** The statements that make them. */
  readonly tables: readonly string[];
}

/** Makes the tables of a part if there are none; true if there were none. @throws as `hasTables` */
export const makeTables = async (remote: DatabaseServer, of: RemotePart): Promise<boolean> => {
  if (await hasTables(remote, of)) return false;
  const { part, version, tables } = of;
  const added = `INSERT INTO rollcall.version (part, number) VALUES ('${part}', ${version})`;
  try {
    await remote.together([...before, added, ...tables].map((sql) => ({ sql })));
  } catch (thrown) {
    // Another process did it meanwhile, or this one, whose connection broke with the answer.
    if (!(await hasTables(remote, of))) throw thrown;
  }
  return true;
};

/** One process at a time makes tables; it finds the schema and the table of versions, or makes them. */
const before = [
  "SELECT 1::bigint AS locked FROM pg_advisory_xact_lock(1919114311)",
  "CREATE SCHEMA IF NOT EXISTS rollcall",
  "CREATE TABLE IF NOT EXISTS rollcall.version (part TEXT PRIMARY KEY, number BIGINT NOT NULL)",
];

/** Counts what is in the schema, and the columns of its table of versions. */
const schemaSql = `
  SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('rollcall')) AS relations,
    (SELECT count(*) FROM pg_attribute
     WHERE attrelid = to_regclass('rollcall.version') AND attname IN ('part', 'number')) AS columns`;

/** True if there are tables of a part, and this program can use them. @throws Failure `database-foreign`, `database-version`; what asking ends with */
export const hasTables = async (
  { ask }: Pick<DatabaseServer, "ask">,
  { part, version: expected, path, title }: RemotePart,
): Promise<boolean> => {
  const [schema] = await ask(schemaSql);
  if (schema?.integer("relations") === 0) return false;
  if (schema?.integer("columns") !== 2) throw new Failure("database-foreign", { path, title });
  const [row] = await ask("SELECT max(number) AS number FROM rollcall.version WHERE part = ?", [part]);
  if (row === undefined || row.isNull("number")) return false;
  const version = row.integer("number");
  if (version !== expected) throw new Failure("database-version", { path, title, version, expected });
  return true;
};
