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
import { keysIn } from "./file-keys.ts";
import { keepIn, readsOf } from "./file-queries.ts";
import type { Kept, Store, StoredRequest } from "./store.ts";

/** `rcls`: a rollcall local store. */
const applicationId = 0x72636c73;

/** The version of its tables: each change of them raises it. */
const version = 1;

const tables = [
  "CREATE TABLE identity (id TEXT NOT NULL) STRICT",
  "INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))))",
  `CREATE TABLE requests (
     id INTEGER PRIMARY KEY, project TEXT NOT NULL, key TEXT, digest BLOB, model TEXT NOT NULL, split TEXT NOT NULL,
     metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at INTEGER NOT NULL, calls INTEGER NOT NULL, UNIQUE (project, key)
   ) STRICT`,
  `CREATE TABLE groups (
     request INTEGER NOT NULL REFERENCES requests, position INTEGER NOT NULL, rest TEXT NOT NULL,
     PRIMARY KEY (request, position)
   ) STRICT, WITHOUT ROWID`,
  // A request of thousands of trajectories is a few rows: its body in pieces, and where each call stands in it.
  "CREATE TABLE bodies (piece INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
  `CREATE TABLE logged (
     request INTEGER PRIMARY KEY REFERENCES requests, first_id BLOB NOT NULL UNIQUE, ids BLOB NOT NULL, places BLOB NOT NULL
   ) STRICT`,
  // A model is a project's own: a key may be for some projects.
  `CREATE TABLE project_models (
     id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (id, project)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE keys (
     name TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
     created INTEGER NOT NULL, revoked INTEGER
   ) STRICT, WITHOUT ROWID`,
];

const title = "the store of the local service";

const optionsOf = (path: string): DatabaseOptions => ({
  path,
  title,
  applicationId,
  version,
  tables,
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
  const keeping = keepingOf(keepIn(database, reads.logged), tidying.soon);
  return {
    id: identity.get()?.text("id") ?? "",
    keep: keeping.keep,
    logged: async (under) => reads.logged(under),
    call: async (project, id) => reads.call(project, id),
    callIds: async (project) => reads.callIds(project),
    models: async (projects) => reads.models(projects),
    keys: keysIn(database),
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
