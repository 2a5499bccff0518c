/** Speaks to a PostgreSQL database: every question bounded in time, asked again where the connection was in the way, behind a transaction pooler too. */
import { isIP, Socket } from "node:net";
import pg from "pg";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { isLoopback } from "../host.ts";
import type { TitledFile } from "./file.ts";
import { type Row, rowOf, type Value } from "./open.ts";
import {
  type Ask,
  type DatabaseServer,
  type InTheWay,
  type Password,
  passwordOf,
  persistence,
  type RemoteOptions,
} from "./remote.ts";

const connectMs = 5000;

/** How long an answer may take; a connection that lost its way says nothing. */
const answerMs = 10_000;

/** Connections of a process: one for what it does, and others for what goes on meanwhile. */
const mostConnections = 3;

/** Opens a database; nothing is asked of it yet. @throws Failure `database-address` */
export const openPostgres = (options: RemoteOptions): DatabaseServer => {
  const about = { path: options.path, title: options.title };
  const sockets = new Set<Socket>();
  const password = passwordOf(options);
  const pool = new pg.Pool(poolOptions(options, { sockets, password }));
  // What breaks while nobody uses it is replaced when somebody does.
  pool.on("error", () => undefined);
  const { persistently, hasten } = persistence(options, {
    passing,
    failureOf: (thrown) => failureOf(thrown, about),
  });
  const connected = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> =>
    await persistently(async () => await withClient(await connection(pool, password), work));
  return {
    ask: async (sql, values) => await connected(async (client) => await askerOf(client, about)(sql, values)),
    together: async (questions, onDoubt) =>
      await connected(async (client) => {
        const work = async (): Promise<readonly (readonly Row[])[]> => {
          const answers: (readonly Row[])[] = [];
          for (const { sql, values } of questions) answers.push(await askerOf(client, about)(sql, values));
          return answers;
        };
        return await inTransaction(client, work, onDoubt);
      }),
    hasten,
    close: async () => {
      hasten();
      void pool.end();
      // Nothing waits for a server that does not hear the parting.
      for (const socket of sockets) socket.destroySoon();
      await new Promise((resolve) => setImmediate(resolve));
      for (const socket of sockets) socket.destroy();
    },
  };
};

/** Connects, with another password where the database refuses the one that a command gave. */
const connection = async (pool: pg.Pool, password: Password): Promise<pg.PoolClient> => {
  const used = password.current();
  try {
    const client = await pool.connect();
    password.taken();
    return client;
  } catch (thrown) {
    const isAsked = thrown instanceof pg.DatabaseError ? /^28/.test(thrown.code ?? "") : isSasl(thrown);
    if (isAsked && (await password.renew(used))) return await connection(pool, password);
    throw thrown;
  }
};

/** What the driver says of a password that is empty or wrong before the database does. */
const isSasl = (thrown: unknown): boolean => thrown instanceof Error && thrown.message.startsWith("SASL");

/** Works with a connection, and gives up one that broke. */
const withClient = async <Result>(
  client: pg.PoolClient,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> => {
  // A connection that breaks says so also where nobody waits for an answer.
  client.on("error", () => undefined);
  let isWhole = true;
  try {
    return await work(client);
  } catch (thrown) {
    isWhole = thrown instanceof pg.DatabaseError && !isGone(thrown.code ?? "");
    throw thrown;
  } finally {
    client.removeAllListeners("error");
    client.release(!isWhole);
  }
};

const inTransaction = async <Result>(
  client: pg.PoolClient,
  work: () => Promise<Result>,
  onDoubt: () => void = () => undefined,
): Promise<Result> => {
  await client.query(begin);
  try {
    const result = await work();
    await client.query("COMMIT").catch((thrown: unknown) => {
      onDoubt();
      throw thrown;
    });
    return result;
  } catch (thrown) {
    // What the database refused ends here; a connection that is not whole is given up with its transaction.
    if (thrown instanceof pg.DatabaseError) await client.query("ROLLBACK").catch(() => undefined);
    throw thrown;
  }
};

/** Nobody waits for long for what a machine that vanished had begun. */
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '15s'";

const askerOf =
  (client: pg.PoolClient, about: TitledFile): Ask =>
  async (sql, values = []) => {
    const { rows } = await client.query(numbered(sql), values.map(sent));
    return rows.map((row) => rowOf(row, about));
  };

const sent = (value: Value) =>
  value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length) : value;

/** PostgreSQL numbers its values. */
const numbered = (sql: string): string => {
  let count = 0;
  return sql.replaceAll("?", () => `$${++count}`);
};

/** Whole numbers of eight bytes, which are numbers here as in SQLite. */
const bigintType = 20;

const poolOptions = (
  { path, title, connections }: RemoteOptions,
  { sockets, password }: { readonly sockets: Set<Socket>; readonly password: Password },
): pg.PoolConfig => {
  const url = addressOf({ path, title });
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "") || "localhost";
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    user,
    // Without one the driver would look for it itself, and say on standard error that it will not in times to come.
    password: async () => password.current() ?? "",
    ssl: isPlain(url) ? false : { host, ...(isIP(host) === 0 ? { servername: host } : {}) },
    max: connections ?? mostConnections,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: "rollcall",
    // The driver waits for the other side to close: they are remembered, to be given up.
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
    types: {
      getTypeParser: (type: number, format?: "text" | "binary") =>
        type === bigintType ? Number : pg.types.getTypeParser(type, format),
    },
  };
};

/** Reads an address. @throws Failure `database-address` */
const addressOf = ({ path, title }: TitledFile): URL => {
  const url = URL.canParse(path) ? new URL(path) : undefined;
  const unknown = [...(url?.searchParams.keys() ?? [])].find((key) => key !== "sslmode");
  if (url === undefined || url.username === "" || unknown !== undefined) {
    const wanted = unknown === undefined ? "postgres://user@host/database" : `no ${unknown}, only sslmode`;
    throw new Failure("database-address", { path, title, wanted });
  }
  return url;
};

/** Whether it goes unencrypted: on the machine itself, or where that was said. */
const isPlain = (url: URL): boolean => {
  const mode = url.searchParams.get("sslmode");
  return mode === "disable" || (mode === null && isLoopback(url.hostname));
};

/** What is in the way of what may go through at another try: two transactions in each other's way, a server that stops, starts or is full, a connection; undefined for what will not pass. */
const passing = (thrown: unknown): InTheWay | undefined => {
  if (thrown instanceof pg.DatabaseError) {
    const code = thrown.code ?? "";
    return isConflict(code) || isGone(code) ? { code, isConflict: isConflict(code) } : undefined;
  }
  const isOfNetwork = thrown instanceof Error && thrown.constructor === Error && !/^SASL|SSL/.test(thrown.message);
  if (!isOfNetwork) return undefined;
  const own = codeOf(thrown);
  const code = own === "unknown" ? "ECONNRESET" : own;
  return /CERT|TLS|SSL/.test(code) ? undefined : { code, isConflict: false };
};

const isConflict = (code: string): boolean => code === "40001" || code === "40P01";

const isGone = (code: string): boolean => /^(08|57P0|53)/.test(code);

const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (!(thrown instanceof Error) || thrown instanceof Failure) return thrown;
  if (/does not support SSL/.test(thrown.message)) {
    return new Failure("database-address", { ...about, wanted: "sslmode=disable, where the server speaks no TLS" });
  }
  if (isSasl(thrown)) return new Failure("database-refused", { ...about, code: "28P01" });
  const code = codeOf(thrown);
  if (code === "unknown") return thrown;
  return /^(28|3D|42501)/.test(code)
    ? new Failure("database-refused", { ...about, code })
    : new Failure("database-failed", { ...about, code });
};
