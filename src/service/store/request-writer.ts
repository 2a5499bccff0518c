/** Keeps requests: those that wait are kept in one transaction, and each once, whichever service keeps it. */

import { databaseFailed, type TitledFile } from "../../database/failures.ts";
import type { Database, Row, SqlValue, Statement } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { storeOutcomeUnknown } from "../failures.ts";
import {
  encodeSpans,
  firstSpanPiece,
  formatIds,
  idsPerMs,
  idTimeMs,
  lastIdMs,
  makeFirstId,
  pieceBytes,
  spanBytes,
  type TrajectorySpan,
} from "./ids.ts";

/** A log request as it is stored. */
interface NewRequest {
  readonly model: string;
  readonly project: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** JSON. */
  readonly metrics: string;
  /** The request's other keys: a JSON object. */
  readonly otherKeys: string;
  /** The other keys of groups that have any: JSON objects, by the position of the group. */
  readonly otherGroupKeys: ReadonlyMap<number, string>;
  /** Its body, and the positions of its trajectories in the body. */
  readonly bytes: Uint8Array;
  readonly spans: readonly TrajectorySpan[];
  /** Its `Idempotency-Key`, and the digest that another request with this key must have. */
  readonly idempotency: { readonly key: string; readonly digest: Uint8Array } | undefined;
}

/** The answer to a request that was logged. */
export interface LoggedRequest {
  /** Undefined for a request without a key. */
  readonly digest: Uint8Array | undefined;
  /** JSON. */
  readonly metrics: string;
  /** The ids of its calls: a JSON array. */
  readonly callIds: string;
}

/** A request that was kept, or was there before. */
interface SavedRequest {
  readonly logged: LoggedRequest;
  readonly isNew: boolean;
}

/** Requests, and bytes of their bodies, that are kept in one transaction. */
const maxBatchRequests = 256;
const maxBatchBytes = 32 * 2 ** 20;

/** Transactions that are written at the same time: while one waits for the disk, another one is written. */
const maxParallelWrites = 2;

/** A request that waits. */
interface WaitingRequest {
  readonly request: NewRequest;
  /** The id of its first call. */
  readonly id: Uint8Array;
  readonly resolve: (kept: SavedRequest) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Makes the function that keeps requests. It throws Failures of code `storage`, `auth`, `unavailable`, and `store-outcome-unknown`.
 * @param newestMs the time of the newest id in the store
 */
export const openRequestWriter = (
  database: Database,
  { file, newestMs }: { readonly file: TitledFile; readonly newestMs: number },
): ((request: NewRequest) => Promise<SavedRequest>) => {
  const waiting: WaitingRequest[] = [];
  let writing = 0;
  let lastMs = newestMs;
  const next = (): void => {
    while (writing < maxParallelWrites && waiting.length > 0) {
      writing++;
      void saveBatch(database, file, takeBatch(waiting)).finally(() => {
        writing--;
        next();
      });
    }
  };
  return (request) =>
    new Promise((resolve, reject) => {
      // The calls of a request sort after those of earlier requests, whatever the clock says.
      const ms = Math.max(request.loggedAt, lastMs + 1);
      lastMs = lastIdMs(ms, request.spans.length);
      // All requests of this turn of the event loop are there when its next phase begins.
      if (waiting.push({ request, id: makeFirstId(ms), resolve, reject }) === 1) setImmediate(next);
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

const saveBatch = async (database: Database, file: TitledFile, some: readonly WaitingRequest[]): Promise<void> => {
  try {
    for (const [at, kept] of (await saveInTransaction(database, file, some)).entries()) some[at]?.resolve(kept);
  } catch (thrown) {
    // Nothing was kept: what is wrong with one request is not the failure of the others.
    if (some.length > 1 && thrown instanceof Failure && thrown.code === "storage") {
      for (const one of some) await saveBatch(database, file, [one]);
    } else for (const one of some) one.reject(thrown);
  }
};

/** Keeps requests in one transaction, which may have been done before, by a try whose answer was lost. */
const saveInTransaction = async (
  database: Database,
  file: TitledFile,
  all: readonly WaitingRequest[],
): Promise<readonly SavedRequest[]> => {
  let isOutcomeUnknown = false;
  let rows: readonly Row[];
  try {
    const answers = await database.transact(batchStatements(all), () => {
      isOutcomeUnknown = true;
    });
    rows = answers.at(-1) ?? [];
  } catch (cause) {
    throw isOutcomeUnknown ? storeOutcomeUnknown(file, cause) : cause;
  }
  const byId = new Map(rows.map((row) => [hexOf(row.bytes("id")), row]));
  return all.map(({ id, request: { project, idempotency: once } }) => {
    const own = byId.get(hexOf(id));
    const isSame = (row: Row) => !row.isNull("key") && row.text("key") === once?.key && row.text("project") === project;
    const kept = own ?? rows.find(isSame);
    if (kept === undefined) throw databaseFailed({ ...file, code: "23505" });
    return { logged: toLoggedRequest(kept), isNew: own !== undefined };
  });
};

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString("hex");

/** Converts a row with `id`, `digest`, `metrics` and `calls`. */
export const toLoggedRequest = (row: Row): LoggedRequest => ({
  digest: row.isNull("digest") ? undefined : row.bytes("digest"),
  metrics: row.text("metrics"),
  callIds: JSON.stringify(formatIds(row.bytes("id"), row.integer("calls"))),
});

/** Adds requests with all that belongs to them, deletes what belongs to a request that has the key of another one, and finds both. */
const batchStatements = (all: readonly WaitingRequest[]): readonly Statement[] => {
  const ids = all.map(({ id }) => id);
  const own = `(${ids.map(() => "?").join(", ")})`;
  const keys = all.flatMap(({ request: { project, idempotency: once } }) =>
    once === undefined ? [] : [project, once.key],
  );
  const orphaned = `WHERE logged IN ${own} AND logged NOT IN (SELECT id FROM rollcall.logged WHERE id IN ${own})`;
  const select = "SELECT id, project, key, digest, metrics, calls FROM rollcall.logged";
  const keyed = `UNION ALL ${select} WHERE (project, key) IN (VALUES ${tuples(keys.length / 2, 2)})`;
  return [
    ...insertStatements("rollcall.logged_body (logged, piece, bytes)", all.flatMap(bodyRows)),
    requestsStatement(all),
    ...insertStatements("rollcall.logged_group (logged, position, rest)", all.flatMap(groupRows)),
    ...(keys.length === 0 ? [] : ["body", "group"]).map((part) => ({
      sql: `DELETE FROM rollcall.logged_${part} ${orphaned}`,
      values: [...ids, ...ids],
    })),
    {
      sql: `INSERT INTO rollcall.logged_model (id, project, owner, created)
        SELECT model, project, project, min(logged_at) / 1000 FROM rollcall.logged WHERE id IN ${own}
        GROUP BY model, project ORDER BY model, project ON CONFLICT DO NOTHING`,
      values: ids,
    },
    { sql: `${select} WHERE id IN ${own} ${keys.length === 0 ? "" : keyed}`, values: [...ids, ...keys] },
  ];
};

/** `(?, ?), (?, ?)` */
const tuples = (rows: number, columns: number): string =>
  Array<string>(rows)
    .fill(`(${Array<string>(columns).fill("?").join(", ")})`)
    .join(", ");

const requestsStatement = (all: readonly WaitingRequest[]): Statement => {
  // In one order, whoever adds them: two transactions would wait for each other's keys otherwise.
  const keyOf = ({ request: { project, idempotency: once } }: WaitingRequest): string =>
    `${project}\n${once?.key ?? ""}`;
  const ordered = all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = ordered.flatMap(({ id, request }): SqlValue[] => {
    const { project, idempotency: once, metrics, otherKeys: rest, loggedAt, spans: places } = request;
    const [model, split] = [JSON.stringify(request.model), JSON.stringify(request.split)];
    const [key, digest] = [once?.key ?? null, once?.digest ?? null];
    return [id, idTimeMs(id), project, key, digest, model, split, metrics, rest, loggedAt, places.length];
  });
  return {
    sql: `INSERT INTO rollcall.logged
        (id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls)
      VALUES ${tuples(all.length, 11)} ON CONFLICT DO NOTHING`,
    values,
  };
};

type InsertedRow = readonly [Uint8Array, number, Uint8Array | string];

const bodyRows = ({ id, request: { bytes, spans: places } }: WaitingRequest): readonly InsertedRow[] => {
  if (places.length === 0) return [];
  const body = splitBytes(bytes, pieceBytes).map((piece, at): InsertedRow => [id, at, piece]);
  const packed = splitBytes(encodeSpans(places), idsPerMs * spanBytes);
  return [...body, ...packed.map((piece, at): InsertedRow => [id, firstSpanPiece + at, piece])];
};

const splitBytes = (bytes: Uint8Array, length: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

const groupRows = ({ id, request }: WaitingRequest): readonly InsertedRow[] =>
  Array.from(request.otherGroupKeys, ([position, rest]): InsertedRow => [id, position, rest]);

/** Bytes and rows of one statement, of which three copies are in memory on its way. */
const maxStatementBytes = 4 * 2 ** 20;
const maxStatementRows = 1000;

const insertStatements = (into: string, rows: readonly InsertedRow[]): readonly Statement[] => {
  const questions: Statement[] = [];
  for (let from = 0, to = 0, bytes = 0; from < rows.length; from = to, bytes = 0) {
    while (to < rows.length && to - from < maxStatementRows && bytes < maxStatementBytes) {
      bytes += rows[to++]?.[2].length ?? 0;
    }
    const sql = `INSERT INTO ${into} VALUES ${tuples(to - from, 3)} ON CONFLICT DO NOTHING`;
    questions.push({ sql, values: rows.slice(from, to).flat() });
  }
  return questions;
};
