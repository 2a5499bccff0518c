/** Speaks to a PostgreSQL database: every question bounded in time, asked again where the connection was in the way, behind a transaction pooler too. */
import { isIP, Socket } from "node:net";
import pg from "pg";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import type { TitledFile } from "./file.ts";
import { type Row, rowOf, type Value } from "./open.ts";

/** A database at an address, and how it is asked. */
export interface RemoteOptions extends TitledFile {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** Undefined where there is none. */
  readonly password: string | undefined;
  /** How long one that is away is waited for. */
  readonly maxWaitMs: number;
  /** Told once for each time that it is away, with what is in the way. */
  readonly onAway: (code: string) => void;
  /** How many connections there are at most; a run's where nothing is said. */
  readonly connections?: number;
}

/** Asks one statement; `?` stands for a value. */
export type Ask = (sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** An open database. Every way of using it throws a Failure of code `storage`, `auth` or `unavailable` that names its address. */
export interface Remote {
  /** One statement, a transaction of its own. Asked again where nobody knows whether it was done: let that change nothing. */
  ask: Ask;
  /** Several statements in one transaction; all of `work` again where nobody knows whether it was done: let that change nothing. */
  transaction<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result>;
  /** From here on nothing is asked twice: nobody waits at the end of a run for a database that is away. */
  hasten(): void;
  /** Statements without values in one transaction. */
  define(sql: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** How long an answer may take; a connection that lost its way says nothing. */
const answerMs = 10_000;
const connectMs = 5000;

/** Connections of a process: one for what it does, and others for what goes on meanwhile. */
const mostConnections = 3;

/** How long is waited before another try: at random up to as long, twice as long each time, so that many do not come at once. */
const firstWaitMs = 200;
const longestWaitMs = 5000;

/** Opens a database; nothing is asked of it yet. @throws Failure `database-address` */
export const openPostgres = (options: RemoteOptions): Remote => {
  const { path, title, host, maxWaitMs, onAway } = options;
  const about = { path, title };
  const sockets = new Set<Socket>();
  const pool = new pg.Pool(poolOptions(options, sockets));
  // What breaks while nobody uses it is replaced when somebody does.
  pool.on("error", () => undefined);
  let isHasty = false;
  const once = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect();
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
  const persistently = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
    const from = host.elapsed();
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
      try {
        return await once(work);
      } catch (thrown) {
        const code = passing(thrown);
        if (code === undefined) throw failureOf(thrown, about);
        const waitedMs = host.elapsed() - from;
        if (isHasty || waitedMs >= maxWaitMs) throw new Failure("database-away", { ...about, code, waitedMs });
        if (wait === firstWaitMs && !isConflict(code)) onAway(code);
        await host.sleep(Math.min(host.random() * wait, maxWaitMs - waitedMs), host.signal);
      }
    }
  };
  return {
    ask: async (sql, values) => await persistently(async (client) => await askerOf(client, about)(sql, values)),
    transaction: async (work) =>
      await persistently(async (client) => {
        await client.query(begin);
        try {
          const result = await work(askerOf(client, about));
          await client.query("COMMIT");
          return result;
        } catch (thrown) {
          // What the database refused ends here; a connection that is not whole is given up with its transaction.
          if (thrown instanceof pg.DatabaseError) await client.query("ROLLBACK").catch(() => undefined);
          throw thrown;
        }
      }),
    define: async (statements) => {
      // Several statements without values, in one message, are one transaction.
      await persistently(async (client) => await client.query(statements.join(";\n")));
    },
    hasten: () => {
      isHasty = true;
    },
    close: async () => {
      isHasty = true;
      void pool.end();
      // Nothing waits for a server that does not hear the parting.
      for (const socket of sockets) socket.destroySoon();
      await new Promise((resolve) => setImmediate(resolve));
      for (const socket of sockets) socket.destroy();
    },
  };
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

const poolOptions = ({ path, title, password, connections }: RemoteOptions, sockets: Set<Socket>): pg.PoolConfig => {
  const url = addressOf({ path, title });
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "") || "localhost";
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    user,
    // Without one the driver would look for it itself, and say on standard error that it will not in times to come.
    password: async () => password ?? "",
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
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const isLoopback = name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
  return mode === "disable" || (mode === null && isLoopback);
};

/** What is in the way of what may go through at another try: two transactions in each other's way, a server that stops, starts or is full, a connection; undefined for what will not pass. */
const passing = (thrown: unknown): string | undefined => {
  if (thrown instanceof pg.DatabaseError) {
    const code = thrown.code ?? "";
    return isConflict(code) || isGone(code) ? code : undefined;
  }
  const isOfNetwork = thrown instanceof Error && thrown.constructor === Error && !/^SASL|SSL/.test(thrown.message);
  if (!isOfNetwork) return undefined;
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : "ECONNRESET";
  return /CERT|TLS|SSL/.test(code) ? undefined : code;
};

const isConflict = (code: string): boolean => code === "40001" || code === "40P01";

const isGone = (code: string): boolean => /^(08|57P0|53)/.test(code);

const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (!(thrown instanceof Error)) return thrown;
  if (/does not support SSL/.test(thrown.message)) {
    return new Failure("database-address", { ...about, wanted: "sslmode=disable, where the server speaks no TLS" });
  }
  if (thrown.message.startsWith("SASL")) return new Failure("database-refused", { ...about, code: "28P01" });
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  if (code === undefined) return thrown;
  return /^(28|3D|42501)/.test(code)
    ? new Failure("database-refused", { ...about, code })
    : new Failure("database-failed", { ...about, code });
};
