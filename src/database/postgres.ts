/** Opens PostgreSQL databases, directly or through a transaction pooler. */
import { isIP, Socket } from "node:net";
import pg from "pg";
import { Failure } from "../failure.ts";
import { getErrorCode } from "../system/files.ts";
import { isLoopback } from "../system/host.ts";
import {
  type Database,
  type DatabaseOptions,
  type DatabaseSchema,
  listUpgrades,
  type Row,
  type SqlStatement,
  toRow,
} from "./database.ts";
import * as failures from "./failures.ts";

export const openPostgres = async (schema: DatabaseSchema, options: DatabaseOptions) => {
  const database = createDatabase(schema, options);
  let isOpened = false;
  try {
    const before = await findVersion(database, schema);
    if (before === undefined && !options.canCreate) return undefined;
    if (before !== schema.version) await changeTables(database, schema, before);
    isOpened = true;
    return { database, before, isCopy: false };
  } finally {
    if (!isOpened) await database.close();
  }
};

const schemaSql = `
  SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('rollcall')) AS relations,
    (SELECT count(*) FROM pg_attribute
     WHERE attrelid = to_regclass('rollcall.version') AND attname IN ('part', 'number')) AS columns`;

/** Returns undefined without tables. @throws Failure `database-foreign`, `database-version` */
const findVersion = async (database: Database, { file, postgres, version }: DatabaseSchema) => {
  const about = { path: database.path, ...file };
  const [counts] = await database.query(schemaSql);
  if (counts?.integer("relations") === 0) return undefined;
  if (counts?.integer("columns") !== 2) throw failures.databaseForeign(about);
  const [row] = await database.query("SELECT number FROM rollcall.version WHERE part = 'ledger'");
  const found = row?.integer("number");
  if (!listUpgrades(postgres, found, version)) throw failures.databaseVersion(about, found ?? 0, version);
  return found;
};

const tablesLock = 1919114311;

/** Another process may change the tables at the same time. */
const changeTables = async (database: Database, schema: DatabaseSchema, before: number | undefined) => {
  const { postgres, version } = schema;
  const start = `
      CREATE SCHEMA IF NOT EXISTS rollcall;
      CREATE TABLE IF NOT EXISTS rollcall.version (part TEXT PRIMARY KEY, number BIGINT NOT NULL);`;
  const found = "SELECT FROM rollcall.version WHERE part = 'ledger'";
  const sql = `
    DO $$ BEGIN
      PERFORM pg_advisory_xact_lock(${tablesLock});${before === undefined ? start : ""}
      IF ${before === undefined ? `NOT EXISTS (${found})` : `EXISTS (${found} AND number = ${before})`} THEN
        ${(listUpgrades(postgres, before, version) ?? []).join(";\n")};
        INSERT INTO rollcall.version (part, number) VALUES ('ledger', ${version})
          ON CONFLICT (part) DO UPDATE SET number = excluded.number;
      END IF;
    END $$`;
  await database.transact([{ sql }]);
  await findVersion(database, schema);
};

const firstWaitMs = 200;
const maxRetryWaitMs = 5000;

/** PostgreSQL ends an idle transaction after 15 s, because other runs may wait for its locks. */
const beginSql = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '15s'";

const withClient = async <Result>(pool: PgPool, work: (client: pg.PoolClient) => Promise<Result>) => {
  const client = await pool.connect();
  // Without a listener, the error event of a broken connection would end the process.
  client.on("error", () => undefined);
  let isReusable = false;
  try {
    const result = await work(client);
    isReusable = true;
    return result;
  } finally {
    client.removeAllListeners("error");
    // Closing the connection ends its transaction.
    client.release(!isReusable);
  }
};

const runStatement = async (client: pg.PoolClient, { sql, values = [] }: SqlStatement) => {
  let count = 0;
  const numbered = sql.replaceAll("?", () => `$${++count}`);
  return (await client.query(numbered, [...values])).rows;
};

const withRetries = async <Result>(
  { pool, about }: { pool: PgPool; about: failures.DescribedFile },
  { host, maxWaitMs, onUnavailable }: DatabaseOptions,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> => {
  const from = host.elapsed();
  for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, maxRetryWaitMs)) {
    try {
      return await withClient(pool, work);
    } catch (thrown) {
      const code = findRetryableCode(thrown);
      if (!code) throw toFailure(thrown, about);
      const waitedMs = host.elapsed() - from;
      if (pool.isClosing || waitedMs >= maxWaitMs) throw failures.databaseUnavailable({ ...about, code, waitedMs });
      if (wait === firstWaitMs && !conflictCodes.test(code)) onUnavailable(code);
      await host.sleep(Math.min(host.random() * wait, maxWaitMs - waitedMs), host.signal);
    }
  }
};

const createDatabase = ({ file }: DatabaseSchema, options: DatabaseOptions): Database => {
  const { path } = options;
  const about = { path, ...file };
  const state = { pool: openPool(options), about };
  const queryOn = async (client: pg.PoolClient, statement: SqlStatement) =>
    (await runStatement(client, statement)).map((row) => toRow(row, about));
  return {
    path,
    isShared: true,
    query: async (sql, values = []) =>
      await withRetries(state, options, async (client) => await queryOn(client, { sql, values })),
    transact: async (statements, shouldCommit = () => true) =>
      await withRetries(state, options, async (client) => {
        await client.query(beginSql);
        const answers: (readonly Row[])[] = [];
        for (const statement of statements) answers.push(await queryOn(client, statement));
        await client.query(shouldCommit(answers) ? "COMMIT" : "ROLLBACK");
        return answers;
      }),
    isFileInPlace: () => true,
    close: async (finish) => {
      state.pool.isClosing = true;
      await finish?.().catch(() => undefined);
      await state.pool.close();
    },
  };
};

const bigintType = 20;

const poolOptions = {
  max: 3,
  connectionTimeoutMillis: 5000,
  // The connection to a vanished server stays open, so queries need this limit.
  query_timeout: 10_000,
  keepAlive: true,
  application_name: "rollcall",
  types: {
    getTypeParser: (type: number, format?: "text" | "binary") =>
      type === bigintType ? Number : pg.types.getTypeParser(type, format),
  },
};

type PgPool = ReturnType<typeof openPool>;

const openPool = ({ path, password = "" }: DatabaseOptions) => {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    ...toPoolOptions(path),
    // Without this function, the driver searches for a password, and warns on standard error.
    password: () => password,
    // `close` ends the sockets, because the driver would wait until the server closes them.
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
  });
  pool.on("error", () => undefined);
  return {
    isClosing: false,
    connect: () => pool.connect(),
    async close() {
      void pool.end();
      for (const socket of sockets) socket.destroySoon();
      await new Promise((resolve) => setImmediate(resolve));
      for (const socket of sockets) socket.destroy();
    },
  };
};

const isSaslError = (thrown: unknown) => thrown instanceof Error && thrown.message.startsWith("SASL");

const toPoolOptions = (text: string) => {
  const url = new URL(text);
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "") || "localhost";
  const user = decodeURIComponent(url.username);
  const mode = url.searchParams.get("sslmode");
  const disablesTls = mode === "disable" || (mode === null && isLoopback(url.hostname));
  const ssl = disablesTls ? false : { host, ...(isIP(host) === 0 ? { servername: host } : {}) };
  const database = decodeURIComponent(url.pathname.slice(1)) || user;
  return { ...poolOptions, host, port: Number(url.port || 5432), database, user, ssl };
};

/** Codes of serialization failures and deadlocks. */
const conflictCodes = /^(40001|40P01)$/;

/** Returns the code of a conflict, a broken connection or a busy server. */
const findRetryableCode = (thrown: unknown) => {
  if (thrown instanceof pg.DatabaseError) {
    const { code = "" } = thrown;
    return conflictCodes.test(code) || /^(08(?!P01)|57P0|53(?!100))/.test(code) ? code : undefined;
  }
  const mayBeNetwork = thrown instanceof Error && thrown.constructor === Error && !/^SASL|SSL/.test(thrown.message);
  const code = getErrorCode(thrown);
  if (!mayBeNetwork || /CERT|TLS|SSL/.test(code)) return undefined;
  return code === "unknown" ? "ECONNRESET" : code;
};

const toFailure = (thrown: unknown, about: failures.DescribedFile) => {
  if (!(thrown instanceof Error) || thrown instanceof Failure) return thrown;
  if (/does not support SSL/.test(thrown.message)) return failures.tlsMissing(about);
  const code = isSaslError(thrown) ? "28P01" : getErrorCode(thrown);
  if (code === "unknown") return thrown;
  return code === "3D000" ? failures.databaseMissing(about) : failures.databaseRefused({ ...about, code });
};
