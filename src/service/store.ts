/** What the local service keeps: requests, the trajectories in them as calls, and the models they were logged to. */
import { join } from "node:path";
import {
  type Database,
  type DatabaseOptions,
  type Examined,
  examineDatabase,
  openDatabase,
} from "../database/index.ts";

/** Names that people chose are kept as JSON: SQLite ends a text at a NUL, and has no lone surrogates. */
const nameText = (name: string): string => JSON.stringify(name);

const nameOf = (text: string): string => String(JSON.parse(text));

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
];

/** A logged trajectory, as it is stored. */
export interface StoredTrajectory {
  readonly id: string;
  /** Position of its group in the request, and its own in the group. From 0. */
  readonly group: number;
  readonly position: number;
  /** ISO 8601. */
  readonly startedAt: string;
  /** As it was logged: JSON. */
  readonly bytes: Uint8Array;
}

/** A log request, as it is stored. */
export interface StoredRequest {
  readonly model: string;
  readonly project: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** JSON. */
  readonly metrics: string;
  /** The request's other keys: a JSON object. */
  readonly rest: string;
  /** The groups' other keys, where they have any: JSON objects by the group's position. */
  readonly groupRests: ReadonlyMap<number, string>;
  readonly trajectories: readonly StoredTrajectory[];
  /** What a request that is sent twice is known by. */
  readonly once: { readonly key: string; readonly digest: Uint8Array } | undefined;
}

/** What is known of a request that was logged. */
export interface LoggedRequest {
  readonly digest: Uint8Array;
  /** JSON. */
  readonly metrics: string;
  readonly callIds: readonly string[];
}

/** A trajectory as a call, with what its request says of it. */
export interface StoredCall extends StoredTrajectory {
  readonly model: string;
  readonly split: string;
  readonly loggedAt: number;
  readonly requestRest: string;
  readonly groupRest: string;
}

/** A model that was logged to. */
export interface StoredModel {
  readonly id: string;
  readonly owner: string;
  /** Unix seconds. */
  readonly created: number;
}

/** The store; everything in it is on disk before it is answered. */
export interface Store {
  /** Tells this store from one that takes its place. */
  readonly id: string;
  /** Keeps a request, unless one of the same key is there: that one is given instead. */
  keep(request: StoredRequest): LoggedRequest | undefined;
  /** The request that was logged under an `Idempotency-Key`. */
  logged(key: string): LoggedRequest | undefined;
  call(project: string, id: string): StoredCall | undefined;
  models(): readonly StoredModel[];
  close(): void;
}

const optionsOf = (dataDir: string): DatabaseOptions => ({
  path: join(dataDir, "local.db"),
  title: "the store of the local service",
  applicationId,
  migrations,
});

/** Looks at the store in a data folder without changing it; undefined where there is none. @throws Failure `storage` */
export const examineStore = (
  dataDir: string,
): (Omit<Examined, "rows"> & { readonly path: string; readonly calls: number | undefined }) | undefined => {
  const options = optionsOf(dataDir);
  const found = examineDatabase(options, "SELECT count(*) AS calls FROM calls");
  if (found === undefined) return undefined;
  const { rows, ...facts } = found;
  return { ...facts, path: options.path, calls: rows[0]?.integer("calls") };
};

/** Opens the store in a data folder. @throws Failure `storage` */
export const openStore = (dataDir: string): Store => {
  const database = openDatabase(optionsOf(dataDir));
  const reads = readsOf(database);
  const id = database.prepare("SELECT id FROM identity").get()?.text("id") ?? "";
  return { id, ...reads, keep: keepIn(database, reads.logged), close: () => database.close() };
};

const readsOf = (database: Database): Pick<Store, "logged" | "call" | "models"> => {
  const byKey = database.prepare("SELECT digest, metrics, calls, last_call FROM requests WHERE key = ?");
  const callIds = database.prepare("SELECT id FROM calls WHERE number > ? AND number <= ? ORDER BY number");
  const byId = database.prepare(
    `SELECT calls.id, calls.group_position, calls.position, calls.started_at, calls.trajectory,
       requests.model, requests.split, requests.logged_at, requests.rest, groups.rest AS group_rest
     FROM calls JOIN requests ON requests.id = calls.request
     LEFT JOIN groups ON groups.request = calls.request AND groups.position = calls.group_position
     WHERE calls.id = ? AND requests.project = ?`,
  );
  const models = database.prepare("SELECT id, owner, created FROM models ORDER BY id");
  return {
    logged: (key) => {
      const row = byKey.get(key);
      if (row === undefined) return undefined;
      const last = row.isNull("last_call") ? 0 : row.integer("last_call");
      return {
        digest: row.bytes("digest"),
        metrics: row.text("metrics"),
        callIds: callIds.all(last - row.integer("calls"), last).map((call) => call.text("id")),
      };
    },
    call: (project, id) => {
      const row = byId.get(id, project);
      if (row === undefined) return undefined;
      return {
        id: row.text("id"),
        group: row.integer("group_position"),
        position: row.integer("position"),
        startedAt: row.text("started_at"),
        bytes: row.bytes("trajectory"),
        model: nameOf(row.text("model")),
        split: nameOf(row.text("split")),
        loggedAt: row.integer("logged_at"),
        requestRest: row.text("rest"),
        groupRest: row.isNull("group_rest") ? "{}" : row.text("group_rest"),
      };
    },
    models: () =>
      models
        .all()
        .map((row) => ({ id: nameOf(row.text("id")), owner: row.text("owner"), created: row.integer("created") })),
  };
};

/** Calls that one statement adds: the way into the database costs more than adding one. */
const callsAtOnce = 50;

const insertCalls = (count: number): string => {
  const values = Array.from({ length: count }, () => "(?, ?, ?, ?, ?, ?)").join(", ");
  return `INSERT INTO calls (id, request, group_position, position, started_at, trajectory) VALUES ${values}`;
};

const keepIn = (database: Database, logged: Store["logged"]): Store["keep"] => {
  const insertRequest = database.prepare(
    `INSERT INTO requests (key, digest, model, project, split, metrics, rest, logged_at, calls)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertCall = database.prepare(insertCalls(1));
  const insertMany = database.prepare(insertCalls(callsAtOnce));
  const insertGroup = database.prepare("INSERT INTO groups (request, position, rest) VALUES (?, ?, ?)");
  const setLastCall = database.prepare("UPDATE requests SET last_call = ? WHERE id = ?");
  const insertModel = database.prepare(
    "INSERT INTO models (id, owner, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  return (request) =>
    database.transaction(() => {
      const { project, metrics, rest, loggedAt, once, trajectories } = request;
      const [model, split] = [nameText(request.model), nameText(request.split)];
      // Asked inside the transaction: the same request may be on its way twice.
      const before = once === undefined ? undefined : logged(once.key);
      if (before !== undefined) return before;
      const key = once?.key ?? null;
      const digest = once?.digest ?? null;
      const { rowId } = insertRequest.run(
        key,
        digest,
        model,
        project,
        split,
        metrics,
        rest,
        loggedAt,
        trajectories.length,
      );
      for (const [position, text] of request.groupRests) insertGroup.run(rowId, position, text);
      const rows = trajectories.map(({ id, group, position, startedAt, bytes }) => {
        return [id, rowId, group, position, startedAt, bytes];
      });
      let lastCall = 0;
      const many = rows.length - (rows.length % callsAtOnce);
      for (let at = 0; at < many; at += callsAtOnce) {
        lastCall = insertMany.run(...rows.slice(at, at + callsAtOnce).flat()).rowId;
      }
      for (const row of rows.slice(many)) lastCall = insertCall.run(...row).rowId;
      if (trajectories.length > 0) setLastCall.run(lastCall, rowId);
      insertModel.run(model, project.split("/")[0] ?? project, Math.floor(loggedAt / 1000));
      return undefined;
    });
};
