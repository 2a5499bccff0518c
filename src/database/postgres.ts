/** Opens PostgreSQL databases: each question is bounded in time, and asked again if the connection failed. A transaction pooler may be between. */
import pg from "pg";
import { Failure } from "../failure.ts";
import type { Database, DatabaseOptions, DatabasePart, DatabaseWaiting, OpenedDatabase, Row, Value } from "./index.ts";
import type { TitledFile } from "./own-file.ts";
import { connectorOf, failureOf, obstacleOf } from "./postgres-connection.ts";
import { toRow } from "./row.ts";

/** The longest first wait before a question is repeated. It doubles each time; the wait is random, so that many runs do not come at once. */
const firstWaitMs = 200;
const maxRepeatWaitMs = 5000;

/** Opens a database, and its tables. @throws as `openDatabase` */
export const openServer = async (part: DatabasePart, options: DatabaseOptions): Promise<OpenedDatabase | undefined> => {
  const about = { path: options.path, title: part.title };
  const database = databaseOf(about, { ...options, connections: part.server.connections });
  try {
    const exist = await hasTables(database, { part, about });
    if (exist || options.make) {
      if (!exist) await makeTables(database, { part, about });
      return { database, created: !exist, isCopy: false };
    }
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
  await database.close();
  return undefined;
};

const databaseOf = (
  about: TitledFile,
  options: DatabaseOptions & { readonly connections: number | undefined },
): Database => {
  const connector = connectorOf(about, options);
  let isClosing = false;
  const connected = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> =>
    await persistently(async () => await withClient(await connector.connect(), work), {
      about,
      waiting: options,
      isClosing: () => isClosing,
    });
  return {
    path: about.path,
    isShared: true,
    ask: async (sql, values) => await connected(async (client) => await askOn(client, { sql, values, about })),
    together: async (questions, onDoubt = () => undefined) =>
      await connected(async (client) => {
        await client.query(begin);
        try {
          const answers: (readonly Row[])[] = [];
          for (const question of questions) answers.push(await askOn(client, { ...question, about }));
          await client.query("COMMIT").catch((thrown: unknown) => {
            onDoubt();
            throw thrown;
          });
          return answers;
        } catch (thrown) {
          // The database refused something. A connection that broke is given up, and its transaction with it.
          if (thrown instanceof pg.DatabaseError) await client.query("ROLLBACK").catch(() => undefined);
          throw thrown;
        }
      }),
    isThere: () => true,
    close: async (finish) => {
      isClosing = true;
      await finish?.().catch(() => undefined);
      await connector.close();
    },
  };
};

/** If a machine vanishes, others do not wait for long for the transaction that it began. */
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '15s'";

const askOn = async (
  client: pg.PoolClient,
  {
    sql,
    values = [],
    about,
  }: { readonly sql: string; readonly values?: readonly Value[] | undefined; readonly about: TitledFile },
): Promise<readonly Row[]> => {
  let count = 0;
  const numbered = sql.replaceAll("?", () => `$${++count}`);
  const { rows } = await client.query(
    numbered,
    values.map((value) =>
      value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length) : value,
    ),
  );
  return rows.map((row) => toRow(row, about));
};

/** Works with a connection, and gives up one that broke. */
const withClient = async <Result>(
  client: pg.PoolClient,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> => {
  // A connection that breaks reports it in addition to the error of its query.
  client.on("error", () => undefined);
  let isWhole = true;
  try {
    return await work(client);
  } catch (thrown) {
    isWhole = thrown instanceof pg.DatabaseError && obstacleOf(thrown)?.isConflict !== false;
    throw thrown;
  } finally {
    client.removeAllListeners("error");
    client.release(!isWhole);
  }
};

/** Repeats work until it is done, or the wait is over. @throws Failure `database-away`; other failures of the first try that cannot pass */
const persistently = async <Result>(
  work: () => Promise<Result>,
  {
    about,
    waiting: { host, maxWaitMs, onAway },
    isClosing,
  }: { readonly about: TitledFile; readonly waiting: DatabaseWaiting; readonly isClosing: () => boolean },
): Promise<Result> => {
  const from = host.elapsed();
  for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, maxRepeatWaitMs)) {
    try {
      return await work();
    } catch (thrown) {
      const obstacle = obstacleOf(thrown);
      if (obstacle === undefined) throw failureOf(thrown, about);
      const { code, isConflict } = obstacle;
      const waitedMs = host.elapsed() - from;
      if (isClosing() || waitedMs >= maxWaitMs) throw new Failure("database-away", { ...about, code, waitedMs });
      if (wait === firstWaitMs && !isConflict) onAway(code);
      await host.sleep(Math.min(host.random() * wait, maxWaitMs - waitedMs), host.signal);
    }
  }
};

interface PartTables {
  readonly part: DatabasePart;
  readonly about: TitledFile;
}

/** Counts the relations in the schema, and the columns of its table of versions. */
const schemaSql = `
  SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('rollcall')) AS relations,
    (SELECT count(*) FROM pg_attribute
     WHERE attrelid = to_regclass('rollcall.version') AND attname IN ('part', 'number')) AS columns`;

/** True if the tables of a part exist, and this program can use them. @throws Failure `database-foreign`, `database-version` */
const hasTables = async (database: Database, { part, about }: PartTables): Promise<boolean> => {
  const [schema] = await database.ask(schemaSql);
  if (schema?.integer("relations") === 0) return false;
  if (schema?.integer("columns") !== 2) throw new Failure("database-foreign", about);
  const [row] = await database.ask("SELECT max(number) AS number FROM rollcall.version WHERE part = ?", [part.name]);
  if (row === undefined || row.isNull("number")) return false;
  const version = row.integer("number");
  const expected = part.server.version;
  if (version !== expected) throw new Failure("database-version", { ...about, version, expected });
  return true;
};

const makeTables = async (database: Database, { part, about }: PartTables): Promise<void> => {
  const { version, tables } = part.server;
  const statements = [
    // One process at a time makes tables. It makes the schema and the table of versions if they do not exist.
    "SELECT 1::bigint AS locked FROM pg_advisory_xact_lock(1919114311)",
    "CREATE SCHEMA IF NOT EXISTS rollcall",
    "CREATE TABLE IF NOT EXISTS rollcall.version (part TEXT PRIMARY KEY, number BIGINT NOT NULL)",
    `INSERT INTO rollcall.version (part, number) VALUES ('${part.name}', ${version})`,
    ...tables,
  ];
  try {
    await database.together(statements.map((sql) => ({ sql })));
  } catch (thrown) {
    // Another process did it meanwhile, or this one did and lost the answer.
    if (!(await hasTables(database, { part, about }))) throw thrown;
  }
};
