/** Versions of what rollcall keeps in a database at an address: its tables are made and brought up by one process at a time. */
import { Failure } from "../failure.ts";
import type { TitledFile } from "./file.ts";
import type { DatabaseServer } from "./remote.ts";

/** A part of rollcall that has tables of its own. */
interface RemotePart extends TitledFile {
  readonly part: string;
  /** The statements that take it from version n (from 0, none of its tables) to version n + 1. */
  readonly migrations: readonly (readonly string[])[];
}

/** Brings a part's tables to this program's version; the one that they had, 0 where there were none. @throws Failure `database-newer` and what asking ends with */
export const bringUp = async (remote: DatabaseServer, of: RemotePart): Promise<number> => {
  const { part, migrations } = of;
  const { name, before } = remote.versions;
  const version = await versionOf(remote, of);
  if (version === migrations.length) return version;
  const steps = migrations
    .slice(version)
    .flatMap((statements, at) => [
      `INSERT INTO ${name} (part, number) VALUES ('${part}', ${version + at + 1})`,
      ...statements,
    ]);
  try {
    await remote.together([...before, ...steps].map((sql) => ({ sql })));
  } catch (thrown) {
    // Another process did it meanwhile, or this one, whose connection broke with the answer.
    if ((await versionOf(remote, of)) !== migrations.length) throw thrown;
  }
  return version;
};

/** The version that a part's tables have; 0 where there are none. @throws Failure `database-newer` */
export const versionOf = async (
  { ask, versions: { name, thereSql } }: Pick<DatabaseServer, "ask" | "versions">,
  { part, migrations, path, title }: RemotePart,
): Promise<number> => {
  const [there] = await ask(thereSql);
  if (there?.integer("there") !== 1) return 0;
  const [row] = await ask(`SELECT coalesce(max(number), 0) AS number FROM ${name} WHERE part = ?`, [part]);
  const version = row?.integer("number") ?? 0;
  if (version <= migrations.length) return version;
  throw new Failure("database-newer", { path, title, version, newest: migrations.length });
};
