/** Connects to PostgreSQL: address, TLS, password, and which errors may pass. */
import { isIP, Socket } from "node:net";
import pg from "pg";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { isLoopback } from "../host.ts";
import type { DatabasePlace } from "./index.ts";
import type { TitledFile } from "./own-file.ts";

const connectMs = 5000;

/** How long an answer may take: a connection to a machine that vanished says nothing. */
const answerMs = 10_000;

/** Connections of a run: one for its requests, and others for what it asks meanwhile. */
const defaultConnections = 3;

/** Opens connections to a database. */
interface Connector {
  connect(): Promise<pg.PoolClient>;
  close(): Promise<void>;
}

/** Makes a connector; nothing is connected yet. @throws Failure `database-address` */
export const connectorOf = (
  about: TitledFile,
  { connections, ...place }: Omit<DatabasePlace, "path"> & { readonly connections: number | undefined },
): Connector => {
  const sockets = new Set<Socket>();
  const password = passwordOf(place);
  const pool = new pg.Pool({
    ...addressOptions(about),
    // Without a password, the driver would look for one itself, and warn on standard error.
    password: async () => password.current() ?? "",
    max: connections ?? defaultConnections,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: "rollcall",
    // The driver waits until the other side closes, so that sockets are kept to give them up.
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
    types: {
      getTypeParser: (type: number, format?: "text" | "binary") =>
        type === bigintType ? Number : pg.types.getTypeParser(type, format),
    },
  });
  // A connection that breaks while it is idle is replaced when the next one is needed.
  pool.on("error", () => undefined);
  const connect = async (): Promise<pg.PoolClient> => {
    const used = password.current();
    try {
      const client = await pool.connect();
      password.accepted();
      return client;
    } catch (thrown) {
      const isRefused = thrown instanceof pg.DatabaseError ? /^28/.test(thrown.code ?? "") : isSasl(thrown);
      if (isRefused && (await password.renew(used))) return await connect();
      throw thrown;
    }
  };
  return {
    connect,
    close: async () => {
      void pool.end();
      // A server that does not hear the end of the connection is not waited for.
      for (const socket of sockets) socket.destroySoon();
      await new Promise((resolve) => setImmediate(resolve));
      for (const socket of sockets) socket.destroy();
    },
  };
};

/** Integers of eight bytes, which are numbers here as in SQLite. */
const bigintType = 20;

/** The error of the driver for a password that is empty or wrong, before the database refuses it. */
const isSasl = (thrown: unknown): boolean => thrown instanceof Error && thrown.message.startsWith("SASL");

interface Password {
  readonly current: () => string | undefined;
  /** Asks the command for a password, unless it did since `used`; false if there is no other password than `used`. */
  readonly renew: (used: string | undefined) => Promise<boolean>;
  /** Called when the database accepted the password. */
  readonly accepted: () => void;
}

/** Asks the command only if the database asks for a password, because the command may ask a person to touch a key. */
const passwordOf = ({ password, passwordCommand }: Omit<DatabasePlace, "path">): Password => {
  let known = password;
  let isNew = false;
  let asked: Promise<void> | undefined;
  return {
    current: () => known,
    renew: async (used) => {
      if (known !== used) return true;
      if (passwordCommand === undefined || password !== undefined || isNew) return false;
      asked ??= passwordCommand()
        .then((given) => {
          known = given;
          isNew = true;
        })
        .finally(() => {
          asked = undefined;
        });
      await asked;
      return true;
    },
    accepted: () => {
      isNew = false;
    },
  };
};

/** Reads an address. @throws Failure `database-address` */
const addressOptions = (about: TitledFile): pg.PoolConfig => {
  const url = URL.canParse(about.path) ? new URL(about.path) : undefined;
  const unknown = [...(url?.searchParams.keys() ?? [])].find((key) => key !== "sslmode");
  if (url === undefined || url.username === "" || unknown !== undefined) {
    const wanted = unknown === undefined ? "postgres://user@host/database" : `no ${unknown}, only sslmode`;
    throw new Failure("database-address", { ...about, wanted });
  }
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "") || "localhost";
  const user = decodeURIComponent(url.username);
  const mode = url.searchParams.get("sslmode");
  // Plain text stays on this machine, unless the address asks for it.
  const isPlain = mode === "disable" || (mode === null && isLoopback(url.hostname));
  return {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    user,
    ssl: isPlain ? false : { host, ...(isIP(host) === 0 ? { servername: host } : {}) },
  };
};

/** An error that may pass if the same is asked again. */
interface Obstacle {
  readonly code: string;
  /** True if another transaction is the obstacle, and not the way to the database. */
  readonly isConflict: boolean;
}

/** Two transactions in each other's way, a server that stops, starts or is full, a connection; undefined for an error that does not pass. */
export const obstacleOf = (thrown: unknown): Obstacle | undefined => {
  if (thrown instanceof pg.DatabaseError) {
    const code = thrown.code ?? "";
    const isConflict = code === "40001" || code === "40P01";
    return isConflict || /^(08|57P0|53)/.test(code) ? { code, isConflict } : undefined;
  }
  const isOfNetwork = thrown instanceof Error && thrown.constructor === Error && !/^SASL|SSL/.test(thrown.message);
  if (!isOfNetwork) return undefined;
  const own = codeOf(thrown);
  const code = own === "unknown" ? "ECONNRESET" : own;
  return /CERT|TLS|SSL/.test(code) ? undefined : { code, isConflict: false };
};

/** Converts an error that does not pass to a failure; returns other failures and defects as they are. */
export const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (!(thrown instanceof Error) || thrown instanceof Failure) return thrown;
  if (/does not support SSL/.test(thrown.message)) {
    return new Failure("database-address", { ...about, wanted: "sslmode=disable, where the server speaks no TLS" });
  }
  if (isSasl(thrown)) return new Failure("database-refused", { ...about, code: "28P01" });
  const code = codeOf(thrown);
  if (code === "unknown") return thrown;
  return new Failure(/^(28|3D|42501)/.test(code) ? "database-refused" : "database-failed", { ...about, code });
};
