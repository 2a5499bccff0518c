/** Waiting requests share a transaction. The store keeps only one of several requests with the same key. */
import { databaseFailed, type TitledFile } from "../../database/failures.ts";
import type { Database, Row, SqlValue, Statement } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { storeOutcomeUnknown } from "../failures.ts";
import * as ids from "./ids.ts";

export interface NewRequest {
  readonly model: string;
  readonly project: string;
  readonly split: string;
  readonly loggedAt: number;
  readonly metrics: string;
  readonly otherKeys: string;
  readonly otherGroupKeys: ReadonlyMap<number, string>;
  readonly bytes: Uint8Array;
  readonly spans: readonly ids.TrajectorySpan[];
  /** Requests with the same key must have the same digest. */
  readonly idempotency: { readonly key: string; readonly digest: Uint8Array } | undefined;
}

/** The limits of a batch, which is one transaction. */
const maxBatchRequests = 256;
const maxBatchBytes = 32 * 2 ** 20;
/** While one transaction waits for the disk, another one is written. */
const maxParallelWrites = 2;

interface WaitingRequest {
  readonly request: NewRequest;
  readonly id: Uint8Array;
  readonly resolve: (saved: LoggedRequest) => void;
  readonly reject: (thrown: unknown) => void;
}

/** @param newestMs the time of the newest id in the store */
export const openRequestWriter = (
  database: Database,
  { file, newestMs }: { readonly file: TitledFile; readonly newestMs: number },
): ((request: NewRequest) => Promise<LoggedRequest>) => {
  const waiting: WaitingRequest[] = [];
  let activeWrites = 0;
  let lastMs = newestMs;
  const startWrites = (): void => {
    while (activeWrites < maxParallelWrites && waiting.length > 0) {
      activeWrites++;
      void saveBatch(database, file, takeBatch(waiting)).finally(() => {
        activeWrites--;
        startWrites();
      });
    }
  };
  return (request) =>
    new Promise((resolve, reject) => {
      // The calls of a request sort after the calls of earlier requests, even if the clock runs backwards.
      const ms = Math.max(request.loggedAt, lastMs + 1);
      lastMs = ids.lastIdMs(ms, request.spans.length);
      // Requests of the same turn of the event loop share a batch.
      if (waiting.push({ request, id: ids.makeFirstId(ms), resolve, reject }) === 1) setImmediate(startWrites);
    });
};

const takeBatch = (waiting: WaitingRequest[]): readonly WaitingRequest[] => {
  let bytes = 0;
  const end = waiting.findIndex(({ request }, at) => {
    bytes += request.bytes.length;
    return at > 0 && (at >= maxBatchRequests || bytes > maxBatchBytes);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
};

const saveBatch = async (database: Database, file: TitledFile, batch: readonly WaitingRequest[]): Promise<void> => {
  try {
    const saved = await saveInTransaction(database, file, batch);
    for (const [at, request] of saved.entries()) batch[at]?.resolve(request);
  } catch (thrown) {
    // Nothing was saved. Retries each request alone, so that the fault of one request does not fail all.
    if (batch.length > 1 && thrown instanceof Failure && thrown.code === "storage") {
      for (const waiting of batch) await saveBatch(database, file, [waiting]);
    } else for (const { reject } of batch) reject(thrown);
  }
};

const saveInTransaction = async (database: Database, file: TitledFile, batch: readonly WaitingRequest[]) => {
  let isOutcomeUnknown = false;
  const onUnknownCommit = (): void => {
    isOutcomeUnknown = true;
  };
  const answers = await database.transact(batchStatements(batch), { onUnknownCommit }).catch((cause: unknown) => {
    throw isOutcomeUnknown ? storeOutcomeUnknown(file, cause) : cause;
  });
  const rows = answers.at(-1) ?? [];
  return batch.map(({ id, request: { project, idempotency } }) => {
    const inserted = rows.find((row) => Buffer.compare(row.bytes("id"), id) === 0);
    const hasKey = (row: Row) =>
      !row.isNull("key") && row.text("key") === idempotency?.key && row.text("project") === project;
    const saved = inserted ?? rows.find(hasKey);
    // The SQLSTATE of a unique violation.
    if (saved === undefined) throw databaseFailed({ ...file, code: "23505" });
    return toLoggedRequest(saved, inserted !== undefined);
  });
};

export type LoggedRequest = ReturnType<typeof toLoggedRequest>;

export const toLoggedRequest = (row: Row, isNew: boolean) => ({
  digest: row.isNull("digest") ? undefined : row.bytes("digest"),
  metrics: row.text("metrics"),
  callIds: JSON.stringify(ids.formatIds(row.bytes("id"), row.integer("calls"))),
  isNew,
});

const batchStatements = (batch: readonly WaitingRequest[]): readonly Statement[] => {
  const newIds = batch.map(({ id }) => id);
  const list = `(${newIds.map(() => "?").join(", ")})`;
  const keys = batch.flatMap(({ request: { project, idempotency } }) =>
    idempotency === undefined ? [] : [project, idempotency.key],
  );
  const orphaned = `WHERE logged IN ${list} AND logged NOT IN (SELECT id FROM rollcall.logged WHERE id IN ${list})`;
  const select = "SELECT id, project, key, digest, metrics, calls FROM rollcall.logged";
  const keyed = `UNION ALL ${select} WHERE (project, key) IN (VALUES ${tuples(keys.length / 2, 2)})`;
  return [
    ...insertStatements("rollcall.logged_body (logged, piece, bytes)", batch.flatMap(bodyRows)),
    ...insertStatements(`rollcall.logged (${requestColumns})`, requestRows(batch)),
    ...insertStatements("rollcall.logged_group (logged, position, rest)", batch.flatMap(groupRows)),
    ...(keys.length === 0 ? [] : ["body", "group"]).map((part) => ({
      sql: `DELETE FROM rollcall.logged_${part} ${orphaned}`,
      values: [...newIds, ...newIds],
    })),
    {
      sql: `INSERT INTO rollcall.logged_model (id, project, owner, created)
        SELECT model, project, project, min(logged_at) / 1000 FROM rollcall.logged WHERE id IN ${list}
        GROUP BY model, project ORDER BY model, project ON CONFLICT DO NOTHING`,
      values: newIds,
    },
    { sql: `${select} WHERE id IN ${list} ${keys.length === 0 ? "" : keyed}`, values: [...newIds, ...keys] },
  ];
};

const tuples = (rows: number, columns: number): string =>
  Array<string>(rows)
    .fill(`(${Array<string>(columns).fill("?").join(", ")})`)
    .join(", ");

const requestColumns = "id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls";

const requestRows = (batch: readonly WaitingRequest[]): readonly InsertedRow[] => {
  // Without an order of keys, two transactions could wait for each other.
  const keyOf = ({ request: { project, idempotency } }: WaitingRequest) => `${project}\n${idempotency?.key ?? ""}`;
  const ordered = batch.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return ordered.map(({ id, request }): InsertedRow => {
    const { project, idempotency, metrics, otherKeys, loggedAt, spans } = request;
    const [model, split] = [JSON.stringify(request.model), JSON.stringify(request.split)];
    const [key, digest] = [idempotency?.key ?? null, idempotency?.digest ?? null];
    return [id, ids.idTimeMs(id), project, key, digest, model, split, metrics, otherKeys, loggedAt, spans.length];
  });
};

type InsertedRow = readonly [Uint8Array, number, Uint8Array | string, ...(readonly SqlValue[])];

const bodyRows = ({ id, request: { bytes, spans } }: WaitingRequest): readonly InsertedRow[] => {
  if (spans.length === 0) return [];
  const body = splitBytes(bytes, ids.pieceBytes).map((piece, at): InsertedRow => [id, at, piece]);
  const encoded = splitBytes(ids.encodeSpans(spans), ids.idsPerMs * ids.spanBytes);
  return [...body, ...encoded.map((piece, at): InsertedRow => [id, ids.firstSpanPiece + at, piece])];
};

const splitBytes = (bytes: Uint8Array, length: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

const groupRows = ({ id, request }: WaitingRequest): readonly InsertedRow[] =>
  Array.from(request.otherGroupKeys, ([position, rest]): InsertedRow => [id, position, rest]);

/** The limits of a statement, whose values are in memory three times. */
const maxStatementBytes = 4 * 2 ** 20;
const maxStatementRows = 1000;

const insertStatements = (into: string, rows: readonly InsertedRow[]): readonly Statement[] => {
  const statements: Statement[] = [];
  for (let from = 0, to = 0, bytes = 0; from < rows.length; from = to, bytes = 0) {
    while (to < rows.length && to - from < maxStatementRows && bytes < maxStatementBytes) {
      bytes += rows[to++]?.[2].length ?? 0;
    }
    const sql = `INSERT INTO ${into} VALUES ${tuples(to - from, rows[from]?.length ?? 0)} ON CONFLICT DO NOTHING`;
    statements.push({ sql, values: rows.slice(from, to).flat() });
  }
  return statements;
};
