/** PostgreSQL for the tests: one server for all files of a run, which starts when the first test needs it. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { type OwnPostgres, postgresAt, startPostgres } from "../../bench/postgres.js";
import { openLedger } from "../../src/logging/ledger/ledger.ts";
import { usualDelivery } from "./inputs.ts";

export { hasPostgres } from "../../bench/postgres.js";

/** Returns the URL of a new database. The user `guarded` needs a password. @throws if there is no PostgreSQL */
export const newDatabase = async (user: "rollcall" | "guarded" = "rollcall"): Promise<string> => {
  server ??= sharedServer();
  return (await server).newDatabase(`tests_${randomUUID()}`, user);
};

/** Queries a database without rollcall. */
export const ask = async (address: string, sql: string): Promise<readonly unknown[]> => {
  const client = new pg.Client(address);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
};

/** Returns the URL of a new database with a ledger. */
export const newLedger = async (): Promise<string> => await makeLedger(await newDatabase());

/** Makes a ledger in the database at this URL. Returns the URL. */
export const makeLedger = async (path: string, password?: string): Promise<string> => {
  await (await openLedger({ path, password }, { ...usualDelivery(), canCreate: true }))?.close();
  return path;
};

/** A server that the test can stop and start. It ends with the test. */
export const startOwnServer = async (
  { onTestFinished }: { onTestFinished(work: () => void): void },
  options: Parameters<typeof startPostgres>[0] = {},
): Promise<OwnPostgres> => {
  const own = await startPostgres({ ...options, isDurable: false });
  onTestFinished(own.stop);
  return own;
};

let server: Promise<OwnPostgres> | undefined;

/** The time limit for the process that starts the server. */
const startMs = 60_000;

/** Starts the server, or waits for the process that does. The global setup (`build/setup.ts`) stops it. */
const sharedServer = async (): Promise<OwnPostgres> => {
  const folder = join(tmpdir(), "postgres");
  const place = join(folder, "place.json");
  if (isMade(folder)) {
    const { folder: own, port } = await startPostgres({ isDurable: false });
    writeFileSync(`${place}.new`, JSON.stringify({ folder: own, port }));
    renameSync(`${place}.new`, place);
  }
  for (let waitedMs = 0; !existsSync(place); waitedMs += 50) {
    if (waitedMs > startMs) throw new Error("PostgreSQL did not start");
    await setTimeout(50);
  }
  return postgresAt(JSON.parse(readFileSync(place, "utf8")));
};

/** Creates the folder. Returns true in only one process, because the folder then exists. */
const isMade = (folder: string): boolean => {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
};
