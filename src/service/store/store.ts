/** Stores requests, each with its idempotency key in one transaction, and finds them. */
import { join } from "node:path";
import type {
  Database,
  DatabaseWaitOptions,
  FileSchema,
  Row,
  SqlStatement,
  SqlValue,
} from "../../database/database.ts";
import { type DescribedFile, databaseFailed } from "../../database/failures.ts";
import { openFile } from "../../database/sqlite.ts";
import { Failure } from "../../failure.ts";
import type { Span } from "../../json/json-bytes.ts";
import * as ids from "./call-ids.ts";

/** If you change the tables, increase `version`. */
const storeSchema: FileSchema = {
  file: { noun: "store of the local service", moveWith: "--store of `rollcall serve` or ROLLCALL_STORE" },
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
export interface Store {
  readonly id: string;
  /** Returns the saved request, or the earlier request with the idempotency key. */
  readonly saveRequest: (request: NewRequest) => Promise<LoggedRequest>;
  readonly findCall: (project: string, id: string) => Promise<StoredCall | undefined>;
  readonly listModels: () => Promise<readonly Readonly<{ id: string; owner: string; created: number }>[]>;
  readonly close: () => Promise<void>;
}

/** `callIds` is a JSON list. Without an idempotency key, `digest` is undefined. */
type LoggedRequest = Readonly<{ digest: Uint8Array | undefined; metrics: string; callIds: string }>;

/** The indexes of a trajectory in its request and group, and its bytes. The other keys are JSON objects. */
export type StoredCall = Pick<NewRequest, "model" | "split" | "loggedAt"> &
  Readonly<Record<"id" | "otherRequestKeys" | "otherGroupKeys", string>> &
  Readonly<Record<"group" | "position", number> & { bytes: Uint8Array }>;

export const openStore = async (location: StoreLocation, host: StoreHost): Promise<Store> => {
  const path = storePath(location);
  const opened = await openFile(storeSchema, { path, host, maxWaitMs, canCreate: true });
  if (!opened) throw new Error("openFile did not create the store");
  const { database } = opened;
  try {
    const [newest] = await database.query("SELECT id, calls FROM rollcall.logged ORDER BY id DESC LIMIT 1");
    const newestMs = newest && ids.lastIdMs(ids.idTimeMs(newest.bytes("id")), newest.integer("calls"));
    return {
      id: (await readIdentity(database)) ?? "",
      saveRequest: openRequestWriter(database, { path, ...storeSchema.file }, newestMs),
      findCall: async (project, id) => await findCall(database, project, id),
      listModels: async () => await listModels(database),
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

/** Returns true if the store failed and stored nothing. */
export const isStoreFailure = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure && thrown.code === "storage";

export const storePath = ({ dataDir, store }: StoreLocation) => store ?? join(dataDir, "local.db");

type NewRequest = Readonly<{
  model: string;
  project: string;
  split: string;
  loggedAt: number;
  metrics: string;
  otherKeys: string;
  otherGroupKeys: ReadonlyMap<number, string>;
  bytes: Uint8Array;
  spans: readonly ids.TrajectorySpan[];
  idempotency: { key: string; digest: Uint8Array } | undefined;
}>;

const openRequestWriter = (database: Database, file: DescribedFile, newestMs = 0) => {
  let lastMs = newestMs;
  return async (request: NewRequest) => {
    const { project, idempotency, loggedAt, spans } = request;
    // Later ids are greater, even if the clock runs backwards.
    const ms = Math.max(loggedAt, lastMs + 1);
    lastMs = ids.lastIdMs(ms, spans.length);
    const id = ids.makeFirstId(ms);
    const find = idempotency
      ? selectLogged("project = ? AND key = ?", project, idempotency.key)
      : selectLogged("id = ?", id);
    const isNew = (row: Row | undefined) => row !== undefined && Buffer.compare(row.bytes("id"), id) === 0;
    const answers = await database.transact([...insertRequest(id, request), find], (all) => isNew(all.at(-1)?.[0]));
    const row = answers.at(-1)?.[0];
    // Without a row, the id conflicts with a saved id.
    if (!row) throw databaseFailed({ ...file, code: "SQLITE_CONSTRAINT" });
    return toLoggedRequest(row);
  };
};

const selectLogged = (condition: string, ...values: readonly SqlValue[]) => {
  return { sql: `SELECT id, digest, metrics, calls FROM rollcall.logged WHERE ${condition}`, values };
};

const toLoggedRequest = (row: Row): LoggedRequest => ({
  digest: row.isNull("digest") ? undefined : row.bytes("digest"),
  metrics: row.text("metrics"),
  callIds: JSON.stringify(ids.formatIds(row.bytes("id"), row.integer("calls"))),
});

const insertRequest = (id: Uint8Array, request: NewRequest) => {
  const { project, idempotency, metrics, otherKeys, otherGroupKeys, loggedAt, bytes, spans } = request;
  const [model, split] = [JSON.stringify(request.model), JSON.stringify(request.split)];
  const { key = null, digest = null } = idempotency ?? {};
  const columns = "id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls";
  const pieces = spans.length === 0 ? [] : splitBytes(bytes, ids.pieceBytes);
  const spanPieces = splitBytes(ids.encodeSpans(spans), ids.idsPerMs * ids.spanBytes);
  const insertPiece = (piece: Uint8Array, at: number) => insertRow("logged_body (logged, piece, bytes)", id, at, piece);
  return [
    insertRow(
      `logged (${columns})`,
      ...[id, ids.idTimeMs(id), project, key, digest, model, split, metrics, otherKeys, loggedAt, spans.length],
    ),
    ...pieces.map(insertPiece),
    ...spanPieces.map((piece, at) => insertPiece(piece, ids.firstSpanPiece + at)),
    {
      sql: "INSERT INTO rollcall.logged_group (logged, position, rest) SELECT ?, key, value FROM json_each(?)",
      values: [id, JSON.stringify(Object.fromEntries(otherGroupKeys))],
    },
    insertRow("logged_model (id, project, owner, created)", model, project, project, Math.floor(loggedAt / 1000)),
  ];
};

const splitBytes = (bytes: Uint8Array, length: number) =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

const insertRow = (into: string, ...values: readonly SqlValue[]): SqlStatement => {
  const places = values.map(() => "?").join(", ");
  return { sql: `INSERT INTO rollcall.${into} VALUES (${places}) ON CONFLICT DO NOTHING`, values };
};

/** The owner is that of the first request. Times are in Unix seconds. */
const modelsSql = "SELECT id, owner, min(created) AS created FROM rollcall.logged_model GROUP BY id ORDER BY id";

const listModels = async (database: Database) =>
  (await database.query(modelsSql)).map((row) => {
    const [owner = ""] = row.text("owner").split("/");
    return { id: parseName(row.text("id")), owner, created: row.integer("created") };
  });

/** All ids of a request have the same end. */
const findCallSql = `
  SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${ids.spanBytes}) AS span
  FROM rollcall.logged JOIN rollcall.logged_body ON logged = id AND piece = ? - first_ms + ${ids.firstSpanPiece}
  WHERE substring(id, ${ids.idTailOffset + 1}) = ? AND project = ?
    AND ? BETWEEN first_ms AND first_ms + calls / ${ids.idsPerMs}`;

const findCall = async (database: Database, project: string, id: string): Promise<StoredCall | undefined> => {
  const uuid = ids.parseId(id);
  if (!uuid) return undefined;
  const ms = ids.idTimeMs(uuid);
  const values = [ids.idCounter(uuid) * ids.spanBytes + 1, ms, uuid.subarray(ids.idTailOffset), project, ms];
  const [row] = await database.query(findCallSql, values);
  const span = row && ids.decodeSpan(row.bytes("span"));
  if (!row || !span) return undefined;
  const request = row.bytes("id");
  const groupSql = "SELECT rest FROM rollcall.logged_group WHERE logged = ? AND position = ?";
  const [group] = await database.query(groupSql, [request, span.group]);
  return {
    id,
    group: span.group,
    position: span.position,
    bytes: await readBody(database, request, span),
    model: parseName(row.text("model")),
    split: parseName(row.text("split")),
    loggedAt: row.integer("logged_at"),
    otherRequestKeys: row.text("rest"),
    otherGroupKeys: group?.text("rest") ?? "{}",
  };
};

const readBody = async (database: Database, request: Uint8Array, { start, end }: Span) => {
  const first = Math.floor(start / ids.pieceBytes);
  const sql = "SELECT bytes FROM rollcall.logged_body WHERE logged = ? AND piece BETWEEN ? AND ? ORDER BY piece";
  const pieces = await database.query(sql, [request, first, Math.floor((end - 1) / ids.pieceBytes)]);
  const from = first * ids.pieceBytes;
  return Buffer.concat(pieces.map((row) => row.bytes("bytes"))).subarray(start - from, end - from);
};

/** Names are stored as JSON, because SQLite cannot store NUL or lone surrogates. */
const parseName = (text: string) => String(JSON.parse(text));
