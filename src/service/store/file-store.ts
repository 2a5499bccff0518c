/** The store in a file: requests, the trajectories in them as calls, and the models they were logged to. */
import { existsSync } from "node:fs";
import {
  type Database,
  type DatabaseOptions,
  type Examined,
  examineDatabase,
  openDatabase,
  openToRead,
} from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { copyingIn } from "./file-copying.ts";
import { keysIn } from "./file-keys.ts";
import { keepIn, readsOf } from "./file-queries.ts";
import type { Kept, Store, StoredRequest } from "./store.ts";

/** `rcls`: a rollcall local store. */
const applicationId = 0x72636c73;

const migrations = [
  `CREATE TABLE requests (
     id INTEGER PRIMARY KEY,
     key TEXT UNIQUE,
     digest BLOB,
     model TEXT NOT NULL,
     project TEXT NOT NULL,
     split TEXT NOT NULL,
     metrics TEXT NOT NULL,
     rest TEXT NOT NULL,
     logged_at INTEGER NOT NULL,
     calls INTEGER NOT NULL,
     last_call INTEGER
   ) STRICT;
   CREATE TABLE groups (
     request INTEGER NOT NULL REFERENCES requests,
     position INTEGER NOT NULL,
     rest TEXT NOT NULL,
     PRIMARY KEY (request, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE calls (
     number INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     request INTEGER NOT NULL REFERENCES requests,
     group_position INTEGER NOT NULL,
     position INTEGER NOT NULL,
     started_at TEXT NOT NULL,
     trajectory BLOB NOT NULL
   ) STRICT;
   CREATE TABLE models (
     id TEXT PRIMARY KEY,
     owner TEXT NOT NULL,
     created INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE identity (id TEXT NOT NULL) STRICT;
   INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));`,
  // A request of thousands of trajectories is a few rows: its body in pieces, and where each call stands in it.
  // Requests that were logged before have a row in `calls` for each instead.
  `CREATE TABLE bodies (piece INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
   CREATE TABLE logged (
     request INTEGER PRIMARY KEY REFERENCES requests,
     first_id BLOB NOT NULL UNIQUE,
     ids BLOB NOT NULL,
     places BLOB NOT NULL
   ) STRICT;`,
  // Names that were stored before they were kept as JSON.
  `INSERT OR IGNORE INTO models SELECT json_quote(id), owner, created FROM models WHERE id NOT LIKE '"%';
   DELETE FROM models WHERE id NOT LIKE '"%';
   UPDATE requests SET model = json_quote(model) WHERE model NOT LIKE '"%';
   UPDATE requests SET split = json_quote(split) WHERE split NOT LIKE '"%';`,
  // A key is a project's own.
  "UPDATE requests SET key = project || char(10) || key WHERE key IS NOT NULL",
  // A model is a project's too: a key may be for some projects.
  `CREATE TABLE project_models (
     id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (id, project)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO project_models
     SELECT model, project, substr(project, 1, instr(project || '/', '/') - 1), min(logged_at) / 1000
     FROM requests GROUP BY model, project;
   DROP TABLE models;
   CREATE TABLE keys (
     name TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
     created INTEGER NOT NULL, revoked INTEGER
   ) STRICT, WITHOUT ROWID;`,
];

const title = "the store of the local service";

const optionsOf = (path: string): DatabaseOptions => ({
  path,
  title,
  applicationId,
  migrations,
  checkpoints: "asked for",
});

/** What was found of a store in a file. */
export type ExaminedStore = Omit<Examined, "rows"> & { readonly path: string; readonly calls: number | undefined };

/** Looks at a store without changing it; undefined where there is none. @throws Failure `storage` */
export const examineFileStore = (path: string): ExaminedStore | undefined => {
  const options = optionsOf(path);
  const found = examineDatabase(options, "SELECT coalesce(sum(calls), 0) AS calls FROM requests");
  if (found === undefined) return undefined;
  const { rows, ...facts } = found;
  return { ...facts, path, calls: rows[0]?.integer("calls") };
};

/** What tells a store from others; undefined where there is none. @throws Failure `storage` */
export const fileStoreIdentity = (path: string): string | undefined => {
  const options = optionsOf(path);
  if (!existsSync(path)) return undefined;
  const { database } = openToRead(options);
  try {
    return database.prepare("SELECT id FROM identity").get()?.text("id");
  } finally {
    database.close();
  }
};

/** Opens the store in a file. @throws Failure `storage` */
export const openFileStore = (path: string): Store => {
  const database = openDatabase(optionsOf(path));
  const identity = database.prepare("SELECT id FROM identity");
  const reads = readsOf(database);
  const tidying = tidyingOf(database);
  const keep = keepIn(database, reads.logged);
  const keeping = keepingOf(keep, tidying.soon);
  return {
    id: identity.get()?.text("id") ?? "",
    keep: keeping.keep,
    logged: async (under) => reads.logged(under),
    call: async (project, id) => reads.call(project, id),
    callIds: async (project) => reads.callIds(project),
    models: async (projects) => reads.models(projects),
    keys: keysIn(database),
    copying: copyingIn(database, keep),
    check: async () => {
      if (!database.isThere()) throw new Failure("database-failed", { path, title, code: "ENOENT" });
      identity.get();
    },
    close: async () => {
      keeping.stop();
      tidying.stop();
      database.close();
    },
  };
};

/** A request that waits to be kept. */
interface Waiting {
  readonly request: StoredRequest;
  readonly resolve: (kept: Kept) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Keeps the requests that wait together in one commit: what waits for the disk is the commit, however much is in it. */
const keepingOf = (
  keep: ReturnType<typeof keepIn>,
  onKept: (bytes: number) => void,
): Pick<Store, "keep"> & { stop(): void } => {
  let waiting: Waiting[] = [];
  const keepSome = (some: readonly Waiting[]): void => {
    try {
      const kept = keep(some.map(({ request }) => request));
      for (const [at, one] of kept.entries()) some[at]?.resolve(one);
      onKept(some.reduce((sum, { request }) => sum + request.bytes.length, 0));
    } catch (thrown) {
      // Nothing of it was kept: what is wrong with one is not the others' failure.
      if (some.length > 1) for (const one of some) keepSome([one]);
      else some[0]?.reject(thrown);
    }
  };
  const keepAll = (): void => {
    const all = waiting;
    waiting = [];
    if (all.length > 0) keepSome(all);
  };
  return {
    keep: (request) =>
      new Promise((resolve, reject) => {
        // All that came in this turn of the event loop is there when the next phase of it begins.
        if (waiting.push({ request, resolve, reject }) === 1) setImmediate(keepAll);
      }),
    stop: keepAll,
  };
};

/** How long after a request what is on disk twice is tidied up: its answer goes first, and many small ones are tidied up at once. */
const tidyAfterMs = 200;

/** Bytes that wait for that at most: then the next request waits instead. */
const mostUntidy = 256 * 1024 * 1024;

/**
 * Moves what was committed from the write-ahead log, which has it on disk already, to the file itself. It takes as long
 * as the commit did, so that no answer waits for it.
 */
const tidyingOf = (database: Database): { soon(bytes: number): void; stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  let waiting = 0;
  const tidy = (): void => {
    timer = undefined;
    waiting = 0;
    try {
      database.checkpoint();
    } catch (thrown) {
      // What was answered is on disk; what can't be written any more the next request says.
      if (!(thrown instanceof Failure)) throw thrown;
    }
  };
  return {
    soon: (bytes) => {
      waiting += bytes;
      if (waiting > mostUntidy) {
        clearTimeout(timer);
        tidy();
      } else timer ??= setTimeout(tidy, tidyAfterMs).unref();
    },
    stop: () => clearTimeout(timer),
  };
};
