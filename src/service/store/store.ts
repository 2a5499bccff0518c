/** Opens the store. */
import { join } from "node:path";
import type { Database, DatabaseWaitOptions, FileSchema } from "../../database/database.ts";
import { examineFile, openFile } from "../../database/sqlite.ts";
import { Failure } from "../../failure.ts";
import { idTimeMs, lastIdMs } from "./call-ids.ts";
import { createQueries } from "./queries.ts";
import { openRequestWriter } from "./request-writer.ts";

/** If you change the tables, increase `version`. */
const storeSchema: FileSchema = {
  title: "the store of the local service",
  applicationId: 0x72636c73,
  version: 3,
  tables: [
    "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
    "INSERT INTO rollcall.store (id) VALUES (lower(hex(randomblob(16))))",
    `CREATE TABLE rollcall.logged (
       id BLOB PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BLOB, model TEXT NOT NULL,
       split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
       UNIQUE (project, key))`,
    "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id, 9))",
    "CREATE INDEX logged_project ON rollcall.logged (project, id)",
    `CREATE TABLE rollcall.logged_group (
       logged BLOB, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))`,
    "CREATE TABLE rollcall.logged_body (logged BLOB, piece BIGINT, bytes BLOB NOT NULL, PRIMARY KEY (logged, piece))",
    `CREATE TABLE rollcall.logged_model (
       id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL, UNIQUE (id, project))`,
  ],
};

/** `store` is a file. Default: `local.db` in `dataDir`. */
export type StoreLocation = Readonly<{ dataDir: string; store: string | undefined }>;

type StoreHost = DatabaseWaitOptions["host"];

/** This wait is enough for parallel commits of 50 processes. */
const maxWaitMs = 30_000;

/** If the store cannot be used, methods throw a Failure. After `saveRequest`, the request is on disk. */
export type Store = Awaited<ReturnType<typeof openStore>>;

export const openStore = async (location: StoreLocation, host: StoreHost) => {
  const path = storePath(location);
  const opened = await openFile(storeSchema, { path, host, maxWaitMs, canCreate: true });
  if (!opened) throw new Error("openFile did not create the store");
  const { database } = opened;
  const file = { path, title: storeSchema.title };
  try {
    const [newest] = await database.query("SELECT id, calls FROM rollcall.logged ORDER BY id DESC LIMIT 1");
    const newestMs = newest && lastIdMs(idTimeMs(newest.bytes("id")), newest.integer("calls"));
    return {
      id: (await readIdentity(database)) ?? "",
      saveRequest: openRequestWriter(database, file, newestMs),
      ...createQueries(database),
      close: () => database.close(),
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
};

const readIdentity = async (database: Database) =>
  (await database.query("SELECT id FROM rollcall.store"))[0]?.text("id");

export const storeIdentity = async (location: StoreLocation, { host }: { host: StoreHost }) => {
  const options = { path: storePath(location), host, maxWaitMs, canCreate: false, isForReading: true };
  const opened = await openFile(storeSchema, options);
  return opened && (await readIdentity(opened.database).finally(opened.database.close));
};

export const examineStore = async (location: StoreLocation, { host }: { host: StoreHost }) => {
  const path = storePath(location);
  const sql = "SELECT coalesce(sum(calls), 0) AS calls FROM rollcall.logged";
  const examined = await examineFile(storeSchema, { path, host, sql });
  if (!examined) return undefined;
  const { rows, ...facts } = examined;
  return { ...facts, path, calls: rows[0]?.integer("calls") };
};

/** Returns true if the store failed and stored nothing. */
export const isStoreFailure = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure && thrown.code === "storage";

export const storePath = ({ dataDir, store }: StoreLocation) => store ?? join(dataDir, "local.db");
