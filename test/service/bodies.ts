/** The places that a store may be kept at, for tests that hold of each: a new store every time. */
import { onTestFinished } from "vitest";
import { hasLibsql, startLibsql } from "../../bench/libsql-server.js";
import { hasPostgres, postgresForFile } from "../support/postgres.ts";

/** A server that goes away, and comes back. */
interface OwnServer {
  readonly port: number;
  stopNow(): Promise<void> | void;
  start(): Promise<void> | void;
}

/** A body of the store at an address. */
export interface SharedBody {
  readonly body: string;
  /** Whether it can't be had here. */
  readonly skip: boolean;
  /** The address of a new store of it, and the server that it is on. */
  readonly open: () => Promise<{ readonly address: string; readonly server: OwnServer }>;
}

/** A body of the store. */
interface Body {
  readonly body: string;
  readonly skip: boolean;
  /** Where a new store of it is; undefined for the data folder's own file. */
  readonly place: () => Promise<{ readonly path: string; readonly password: undefined } | undefined>;
}

/** The bodies that services share; PostgreSQL is started before the tests of a file, and stopped behind them. */
export const sharedBodies = (): readonly SharedBody[] => {
  const { server, newDatabase } = postgresForFile();
  return [
    {
      body: "PostgreSQL",
      skip: !hasPostgres,
      open: async () => ({ address: newDatabase(), server: server() }),
    },
    {
      body: "a libSQL server",
      skip: !hasLibsql,
      open: async () => {
        const own = await startLibsql();
        onTestFinished(own.stop);
        return { address: own.address, server: own };
      },
    },
  ];
};

/** Asks a database something, as somebody else; the first value of the first row, where that is a number. */
export const query = async (address: string, sql: string): Promise<number> => {
  if (address.startsWith("libsql")) {
    const requests = [{ type: "execute", stmt: { sql } }, { type: "close" }];
    const pipeline = `${address.replace("libsql", "http")}/v2/pipeline`;
    const asked = await fetch(pipeline, { method: "POST", body: JSON.stringify({ requests }) });
    const [answer] = ((await asked.json()) as { results: { response: { result: { rows: { value: string }[][] } } }[] })
      .results;
    return Number(answer?.response.result.rows[0]?.[0]?.value);
  }
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const answer = [await client.query({ text: sql, rowMode: "array" })].flat().at(-1);
  await client.end();
  return Number(answer?.rows[0]?.[0]);
};

/** All bodies. */
export const storeBodies = (): readonly Body[] => [
  { body: "a file", skip: false, place: async () => undefined },
  ...sharedBodies().map(({ body, skip, open }) => ({
    body,
    skip,
    place: async () => ({ path: (await open()).address, password: undefined }),
  })),
];
