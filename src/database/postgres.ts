/** Speaks to a PostgreSQL database: every question bounded in time, asked again where the connection was in the way, behind a transaction pooler too. */
import { isIP } from "node:net";
import postgres from "postgres";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import type { TitledFile } from "./file.ts";
import { type Row, rowOf, type Value } from "./open.ts";

/** A database at an address, and how it is asked. */
export interface RemoteOptions extends TitledFile {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** Asked for at each connection; undefined where there is none. */
  readonly password: () => Promise<string | undefined>;
  /** How long one that is away is waited for. */
  readonly maxWaitMs: number;
  /** Told once for each time that it is away, with what is in the way. */
  readonly onAway: (code: string) => void;
}

/** An open database. Every way of using it throws a Failure of code `storage`, `auth` or `unavailable` that names its address. */
export interface Remote {
  /** One statement, a transaction of its own. `?` stands for a value. Asked again where nobody knows whether it was done: let that change nothing. */
  ask(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  /** Statements without values in one transaction. */
  define(sql: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** How long an answer may take; a connection that lost its way says nothing. */
const answerMs = 10_000;
const connectS = 5;

/** How long is waited before another try: at random up to as long, twice as long each time, so that many do not come at once. */
const firstWaitMs = 200;
const longestWaitMs = 5000;

/** Opens a database; nothing is asked of it yet. @throws Failure `database-address` */
export const openPostgres = (options: RemoteOptions): Remote => {
  const { path, title, host, maxWaitMs, onAway } = options;
  const about = { path, title };
  let pool = poolOf(options);
  let isClosed = false;
  const once = async <Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> => {
    const own = pool;
    const done = new AbortController();
    const late = host.sleep(answerMs, done.signal).then(() => {
      // Whatever waits on its connections waits for ever: they are given up together.
      if (own === pool && !isClosed) pool = poolOf(options);
      void own.end({ timeout: 0 });
      throw Object.assign(new Error("no answer"), { code: "ETIMEDOUT" });
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([work(own), late]);
    } finally {
      done.abort();
    }
  };
  const persistently = async <Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> => {
    const from = host.elapsed();
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
      try {
        return await once(work);
      } catch (thrown) {
        const code = codeOf(thrown);
        if (thrown instanceof Failure || !mayPass(code)) throw failureOf(thrown, about);
        const waitedMs = host.elapsed() - from;
        if (isClosed || waitedMs >= maxWaitMs) throw new Failure("database-away", { ...about, code, waitedMs });
        if (wait === firstWaitMs && !isConflict(code)) onAway(code);
        await host.sleep(Math.min(host.random() * wait, maxWaitMs - waitedMs), host.signal);
      }
    }
  };
  return {
    ask: async (sql, values = []) => {
      const rows = await persistently(async (pooled) => await pooled.unsafe(numbered(sql), values.map(sent)));
      return rows.map((row) => rowOf(row, about));
    },
    define: async (statements) => {
      await persistently(async (pooled) => {
        await pooled.begin(async (transaction) => {
          for (const statement of statements) await transaction.unsafe(statement);
        });
      });
    },
    close: async () => {
      isClosed = true;
      await pool.end({ timeout: 1 });
    },
  };
};

const sent = (value: Value) => (value instanceof Uint8Array ? Buffer.from(value) : value);

/** PostgreSQL numbers its values. */
const numbered = (sql: string): string => {
  let count = 0;
  return sql.replaceAll("?", () => `$${++count}`);
};

const poolOf = ({ path, title, password }: RemoteOptions): postgres.Sql => {
  const url = addressOf({ path, title });
  return postgres({
    host: decodeURIComponent(url.hostname) || "localhost",
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username),
    username: decodeURIComponent(url.username),
    password: async () => (await password()) ?? "",
    ssl: isPlain(url) ? false : "verify-full",
    max: 3,
    connect_timeout: connectS,
    // A transaction pooler gives each statement another connection, which knows of none that were prepared.
    prepare: false,
    fetch_types: false,
    connection: { application_name: "rollcall" },
    onnotice: () => undefined,
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  });
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

/** States in which another try may get further: the server stops, starts or is full, two transactions stood in each other's way, the connection broke. */
const mayPass = (code: string): boolean =>
  isConflict(code) ||
  /^(08|57P0|53)/.test(code) ||
  /^(CONNECTION_|CONNECT_TIMEOUT|E(CONN|TIMEDOUT|PIPE|HOST|NET)|EAI_AGAIN|ENOTFOUND)/.test(code);

const isConflict = (code: string): boolean => code === "40001" || code === "40P01";

const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (thrown instanceof Failure) return thrown;
  const code = codeOf(thrown);
  if (code === "unknown") return thrown;
  return /^(28|3D|42501)/.test(code)
    ? new Failure("database-refused", { ...about, code })
    : new Failure("database-failed", { ...about, code });
};
