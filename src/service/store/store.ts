/** The store of the local service: one SQL text for a file and for PostgreSQL. */

import { join } from "node:path";
import { databaseFailed } from "../../database/failures.ts";
import {
  type Database,
  type DatabaseLocation,
  type DatabaseReport,
  type DatabaseSchema,
  type DatabaseWaitOptions,
  examineFile,
  openDatabase,
} from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { isDatabaseUrl } from "../../files.ts";
import { idTimeMs, lastIdMs } from "./ids.ts";
import { storeQueries } from "./queries.ts";
import { openRequestWriter } from "./request-writer.ts";

export type { ProjectRequest as RequestOfProject, StoredCall, StoredKey, StoredKeys } from "./queries.ts";
export type { LoggedRequest } from "./request-writer.ts";

/** @param identity makes an identity; @param modelName a key of a model in an index */
const createTableStatements = ({
  identity,
  modelName,
}: {
  readonly identity: string;
  readonly modelName: string;
}): string[] => [
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
  // The pieces of a request's body, and after them the pieces with the places of its calls.
  `CREATE TABLE rollcall.logged_body (
     logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))`,
  `CREATE TABLE rollcall.logged_model (
     id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)`,
  `CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (${modelName}, project)`,
  `CREATE TABLE rollcall.access_key (
     name TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
     created BIGINT NOT NULL, revoked BIGINT)`,
];

/** The store as a part of a database. Each change of its tables raises the version. */
const storePart: DatabaseSchema = {
  name: "store",
  title: "the store of the local service",
  file: {
    // "rcls"
    applicationId: 0x72636c73,
    version: 2,
    tables: createTableStatements({ identity: "lower(hex(randomblob(16)))", modelName: "id" }),
    checkpointTime: "after answers",
  },
  server: {
    version: 1,
    tables: [
      // A name may be longer than a key of an index.
      ...createTableStatements({ identity: "replace(gen_random_uuid()::text, '-', '')", modelName: "md5(id)" }),
      // A part of a value that is not compressed is read without the rest.
      "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    ],
    // Those that write, and those that read meanwhile.
    maxConnections: 8,
  },
};

/** The location of a store. */
export interface StoreLocation {
  /** The folder of its file, if no other location is given. */
  readonly dataDir: string;
  readonly store: DatabaseLocation | undefined;
}

/** How long a database that is unavailable is waited for: whoever asks the service asks it again. */
const maxServerWaitMs = 5000;

/** How long the processes that use a file are waited for: 50 at once, each with a commit. */
const maxLockMs = 30_000;

/** An open store. A request is on disk before it is answered. Each method throws a Failure if the store cannot be used. */
export type Store = Awaited<ReturnType<typeof openStore>>;

/** Opens the store, and makes it if there is none. @throws as `openDatabase` */
export const openStore = async (
  location: StoreLocation,
  waiting: Omit<DatabaseWaitOptions, "maxWaitMs"> & { readonly maxWaitMs?: number },
) => {
  const path = storePath(location);
  const serverMs = Math.min(waiting.maxWaitMs ?? maxServerWaitMs, maxServerWaitMs);
  const opened = await openDatabase(storePart, {
    ...location.store,
    ...waiting,
    path,
    maxWaitMs: isDatabaseUrl(path) ? serverMs : maxLockMs,
    make: true,
  });
  if (opened === undefined) throw new Error("a store that is missing is made");
  const { database } = opened;
  const file = { path, title: storePart.title };
  try {
    const [newest] = await database.query("SELECT id, calls FROM rollcall.logged ORDER BY id DESC LIMIT 1");
    const newestMs = newest === undefined ? 0 : lastIdMs(idTimeMs(newest.bytes("id")), newest.integer("calls"));
    return {
      /** Tells this store from another one that takes its place. */
      id: (await readIdentity(database)) ?? "",
      /** Keeps a request, unless a request with its key exists: then returns that one. */
      saveRequest: openRequestWriter(database, { file, newestMs }),
      ...storeQueries(database),
      /** Throws if the store does not exist any more, or does not answer. */
      check: async (): Promise<void> => {
        if (!database.isUnchanged()) throw databaseFailed({ ...file, code: "ENOENT" });
        await readIdentity(database);
      },
      close: async (): Promise<void> => await database.close(),
    };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
};

const readIdentity = async (database: Database): Promise<string | undefined> =>
  (await database.query("SELECT id FROM rollcall.store"))[0]?.text("id");

/** Returns what tells a store from others; undefined if there is none. @throws as `openDatabase` */
export const storeIdentity = async (
  place: StoreLocation,
  { host }: Pick<DatabaseWaitOptions, "host">,
): Promise<string | undefined> => {
  const path = storePath(place);
  const opened = await openDatabase(storePart, {
    ...place.store,
    path,
    host,
    maxWaitMs: isDatabaseUrl(path) ? 0 : maxLockMs,
    onAway: () => undefined,
    make: false,
    toRead: true,
  });
  if (opened === undefined) return undefined;
  const { database } = opened;
  return await readIdentity(database).finally(database.close);
};

/** A store in a file that was examined. */
type ExaminedStore = Omit<DatabaseReport, "rows"> & { readonly path: string; readonly calls: number | undefined };

/** Examines a store without changing it; undefined if there is none. A database is only asked whether it answers. @throws as `openDatabase` */
export const examineStore = async (
  place: StoreLocation,
  waiting: Pick<DatabaseWaitOptions, "host">,
): Promise<ExaminedStore | { readonly path: string; readonly isRemote: true } | undefined> => {
  const path = storePath(place);
  if (isDatabaseUrl(path)) {
    return (await storeIdentity(place, waiting)) === undefined ? undefined : { path, isRemote: true };
  }
  const found = await examineFile(storePart, path, "SELECT coalesce(sum(calls), 0) AS calls FROM rollcall.logged");
  if (found === undefined) return undefined;
  const { rows, ...facts } = found;
  return { ...facts, path, calls: rows[0]?.integer("calls") };
};

/** True if something is a failure of the store: nothing was stored. */
export const isStoreFailure = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure &&
  (thrown.code === "storage" || isFailure(thrown, "database-unavailable") || isFailure(thrown, "database-refused"));

/** The file of a store, or its address. */
export const storePath = ({ dataDir, store }: StoreLocation): string => store?.path ?? join(dataDir, "local.db");
