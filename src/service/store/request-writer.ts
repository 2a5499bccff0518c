/** Saves a request and its idempotency key in one transaction. */

import type { Database, SqlValue, Statement } from "../../database/database.ts";
import { databaseFailed, type TitledFile } from "../../database/failures.ts";
import type { Row } from "../../database/row.ts";
import * as ids from "./call-ids.ts";

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

export const openRequestWriter = (database: Database, file: TitledFile, newestMs = 0) => {
  let lastMs = newestMs;
  return async (request: NewRequest) => {
    const { project, idempotency, loggedAt, spans } = request;
    // Later ids are greater, even if the clock runs backwards.
    const ms = Math.max(loggedAt, lastMs + 1);
    lastMs = ids.lastIdMs(ms, spans.length);
    const id = ids.makeFirstId(ms);
    const find = idempotency ? findByKey(project, idempotency.key) : findRequest("id = ?", id);
    const isNew = (row: Row | undefined) => row !== undefined && Buffer.compare(row.bytes("id"), id) === 0;
    const answers = await database.transact([...insertRequest(id, request), find], (all) => isNew(all.at(-1)?.[0]));
    const row = answers.at(-1)?.[0];
    // Without a row, the id conflicts with a saved id.
    if (!row) throw databaseFailed({ ...file, code: "SQLITE_CONSTRAINT" });
    return toLoggedRequest(row);
  };
};

const findRequest = (condition: string, ...values: readonly SqlValue[]) => {
  return { sql: `SELECT id, digest, metrics, calls FROM rollcall.logged WHERE ${condition}`, values };
};

export const findByKey = (project: string, key: string) => findRequest("project = ? AND key = ?", project, key);

export type LoggedRequest = ReturnType<typeof toLoggedRequest>;

export const toLoggedRequest = (row: Row) => ({
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
  return [
    ...insertRows(`rollcall.logged (${columns})`, [
      [id, ids.idTimeMs(id), project, key, digest, model, split, metrics, otherKeys, loggedAt, spans.length],
    ]),
    ...insertRows("rollcall.logged_body (logged, piece, bytes)", [
      ...pieces.map((piece, at) => [id, at, piece] as const),
      ...spanPieces.map((piece, at) => [id, ids.firstSpanPiece + at, piece] as const),
    ]),
    ...insertRows(
      "rollcall.logged_group (logged, position, rest)",
      Array.from(otherGroupKeys, ([position, rest]) => [id, position, rest] as const),
    ),
    ...insertRows("rollcall.logged_model (id, project, owner, created)", [
      [model, project, project, Math.floor(loggedAt / 1000)],
    ]),
  ];
};

const splitBytes = (bytes: Uint8Array, length: number) =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

/** A limit for memory, because drivers copy the values of a statement. */
const maxStatementBytes = 4 * 2 ** 20;
const maxStatementRows = 1000;

type InsertedRow = readonly [Uint8Array | string, SqlValue, Uint8Array | string, ...(readonly SqlValue[])];

const insertRows = (into: string, rows: readonly InsertedRow[]) => {
  const statements: Statement[] = [];
  for (let from = 0, to = 0, bytes = 0; from < rows.length; from = to, bytes = 0) {
    while (to < rows.length && to - from < maxStatementRows && bytes < maxStatementBytes) {
      bytes += rows[to++]?.[2].length ?? 0;
    }
    const values = rows.slice(from, to);
    const tuples = values.map((row) => `(${row.map(() => "?").join(", ")})`).join(", ");
    statements.push({ sql: `INSERT INTO ${into} VALUES ${tuples} ON CONFLICT DO NOTHING`, values: values.flat() });
  }
  return statements;
};
