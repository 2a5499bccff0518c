/** Versions of what rollcall keeps in a database at an address: its tables are made and brought up by one process at a time. */
import { Failure } from "../failure.ts";
import type { TitledFile } from "./file.ts";
import type { Remote } from "./postgres.ts";

/** A part of rollcall that has tables of its own. */
export interface RemotePart extends TitledFile {
  readonly part: string;
  /** The statements that take it from version n (from 0, none of its tables) to version n + 1. */
  readonly migrations: readonly (readonly string[])[];
}

/** Brings a part's tables to this program's version. @throws Failure `database-newer` and what asking ends with */
export const bringUp = async (remote: Remote, of: RemotePart): Promise<void> => {
  const { part, migrations } = of;
  const version = await versionOf(remote, of);
  if (version === migrations.length) return;
  const steps = migrations
    .slice(version)
    .flatMap((statements, at) => [
      `INSERT INTO rollcall.version (part, number) VALUES ('${part}', ${version + at + 1})`,
      ...statements,
    ]);
  try {
    await remote.define([
      "SELECT pg_advisory_xact_lock(1919114311)",
      "CREATE SCHEMA IF NOT EXISTS rollcall",
      "CREATE TABLE IF NOT EXISTS rollcall.version (part TEXT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (part, number))",
      ...steps,
    ]);
  } catch (thrown) {
    // Another process did it meanwhile, or this one, whose connection broke with the answer.
    if ((await versionOf(remote, of)) !== migrations.length) throw thrown;
  }
};

const versionOf = async (remote: Remote, { part, migrations, path, title }: RemotePart): Promise<number> => {
  const [there] = await remote.ask("SELECT (to_regclass('rollcall.version') IS NOT NULL)::int::bigint AS there");
  if (there?.integer("there") !== 1) return 0;
  const [row] = await remote.ask(
    "SELECT coalesce(max(number), 0)::bigint AS number FROM rollcall.version WHERE part = ?",
    [part],
  );
  const version = row?.integer("number") ?? 0;
  if (version <= migrations.length) return version;
  throw new Failure("database-newer", { path, title, version, newest: migrations.length });
};
