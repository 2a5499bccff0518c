/** Opens the store. Files and PostgreSQL use the same SQL. */
import { join } from "node:path";
import { databaseFailed } from "../../database/failures.ts";
import * as db from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { isDatabaseUrl } from "../../files.ts";
import { idTimeMs, lastIdMs } from "./call-ids.ts";
import { createQueries } from "./queries.ts";
import { openRequestWriter } from "./request-writer.ts";

/** Stores of earlier builds also have the table `access_key`, which has no reader. */
const createTableStatements = (identity: string, modelIndexExpression: string) => [
  "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
  `INSERT INTO rollcall.store (id) VALUES (${identity})`,
  `CREATE TABLE rollcall.logged (
     id BYTEA PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BYTEA, model TEXT NOT NULL,
     split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
     UNIQUE (project, key))`,
  "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id, 9))",
  "CREATE INDEX logged_project ON rollcall.logged (project, id)",
  `CREATE TABLE rollcall.logged_group (
     logged BYTEA, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))`,
  `CREATE TABLE rollcall.logged_body (
     logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))`,
  `CREATE TABLE rollcall.logged_model (
     id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)`,
  `CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (${modelIndexExpression}, project)`,
];

/** If you change the tables, increase `version`. */
const storeSchema: db.DatabaseSchema = {
  name: "store",
  title: "the store of the local service",
  file: {
    applicationId: 0x72636c73,
    version: 2,
    tables: createTableStatements("lower(hex(randomblob(16)))", "id"),
    checkpointTime: "after answers",
  },
  postgres: {
    version: 1,
    tables: [
      // `logged_model_once` indexes digests, because a name can be too long for an index of PostgreSQL.
      ...createTableStatements("replace(gen_random_uuid()::text, '-', '')", "md5(id)"),
      // Without compression, PostgreSQL can read a part of a value.
      "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    ],
    // In `serve`, the thread for log requests has as many.
    maxConnections: 4,
  },
};

export type StoreLocation = Readonly<{ dataDir: string; store: db.DatabaseLocation | undefined }>;

/** A short wait is enough, because clients of the service retry. */
const maxServerWaitMs = 5000;
/** This wait is enough for parallel commits of 50 processes. */
const maxLockMs = 30_000;

/** If the store cannot be used, methods throw a Failure. After `saveRequest`, the request is on disk. */
export type Store = Awaited<ReturnType<typeof openStore>>;

export const openStore = async (location: StoreLocation, host: db.DatabaseWaitOptions["host"]) => {
  const path = storePath(location);
  const opened = await openTables(location, host, { maxWaitMs: maxServerWaitMs, canCreate: true });
  if (!opened) throw new Error("openDatabase did not create the store");
  const { database } = opened;
  const file = { path, title: storeSchema.title };
  try {
    const [newest] = await database.query("SELECT id, calls FROM rollcall.logged ORDER BY id DESC LIMIT 1");
    const newestMs = newest && lastIdMs(idTimeMs(newest.bytes("id")), newest.integer("calls"));
    return {
      id: (await readIdentity(database)) ?? "",
      saveRequest: openRequestWriter(database, file, newestMs),
      ...createQueries(database),
      check: async () => {
        if (!database.isFileInPlace()) throw databaseFailed({ ...file, code: "ENOENT" });
        await readIdentity(database);
      },
      close: () => database.close(),
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
};

const openTables = async (
  location: StoreLocation,
  host: db.DatabaseWaitOptions["host"],
  options: Pick<db.DatabaseOptions, "maxWaitMs" | "canCreate" | "isForReading">,
) => {
  const path = storePath(location);
  const maxWaitMs = isDatabaseUrl(path) ? options.maxWaitMs : maxLockMs;
  const onUnavailable = () => undefined;
  return await db.openDatabase(storeSchema, { ...location.store, ...options, path, host, maxWaitMs, onUnavailable });
};

const readIdentity = async (database: db.Database) =>
  (await database.query("SELECT id FROM rollcall.store"))[0]?.text("id");

export const storeIdentity = async (location: StoreLocation, { host }: Pick<db.DatabaseWaitOptions, "host">) => {
  const opened = await openTables(location, host, { maxWaitMs: 0, canCreate: false, isForReading: true });
  return opened && (await readIdentity(opened.database).finally(opened.database.close));
};

export const examineStore = async (location: StoreLocation, waiting: Pick<db.DatabaseWaitOptions, "host">) => {
  const path = storePath(location);
  if (isDatabaseUrl(path))
    return (await storeIdentity(location, waiting)) === undefined ? undefined : { path, isRemote: true as const };
  const sql = "SELECT coalesce(sum(calls), 0) AS calls FROM rollcall.logged";
  const examined = await db.examineFile(storeSchema, path, sql);
  if (!examined) return undefined;
  const { rows, ...facts } = examined;
  return { ...facts, path, calls: rows[0]?.integer("calls") };
};

/** Returns true if the store failed and stored nothing. */
export const isStoreFailure = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure &&
  (thrown.code === "storage" || isFailure(thrown, "database-unavailable") || isFailure(thrown, "database-refused"));

export const storePath = ({ dataDir, store }: StoreLocation) => store?.path ?? join(dataDir, "local.db");
