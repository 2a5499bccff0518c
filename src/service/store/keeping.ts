/** Keeps requests: those that wait are kept in one transaction, and each once, whichever service keeps it. */

import { databaseFailed, type TitledFile } from "../../database/failures.ts";
import type { Database, Question, Row, Value } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { storeUnsure } from "../failures.ts";
import {
  firstPlacePiece,
  formatIds,
  idsPerMs,
  lastMsOf,
  makeFirstId,
  packPlaces,
  pieceBytes,
  placeBytes,
  type TrajectorySpan,
  timeOfId,
} from "./ids.ts";

/** A log request as it is stored. */
interface StoredRequest {
  readonly model: string;
  readonly project: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** JSON. */
  readonly metrics: string;
  /** The request's other keys: a JSON object. */
  readonly rest: string;
  /** The other keys of groups that have any: JSON objects, by the position of the group. */
  readonly groupRests: ReadonlyMap<number, string>;
  /** Its body, and the positions of its trajectories in the body. */
  readonly bytes: Uint8Array;
  readonly places: readonly TrajectorySpan[];
  /** Its `Idempotency-Key`, and the digest that another request with this key must have. */
  readonly once: { readonly key: string; readonly digest: Uint8Array } | undefined;
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
interface Kept {
  readonly logged: LoggedRequest;
  readonly isNew: boolean;
}

/** Requests, and bytes of their bodies, that are kept in one transaction. */
const maxTogether = 256;
const maxBytesTogether = 32 * 2 ** 20;

/** Transactions that are written at the same time: while one waits for the disk, another one is written. */
const maxWriting = 2;

/** A request that waits. */
interface WaitingRequest {
  readonly request: StoredRequest;
  /** The id of its first call. */
  readonly id: Uint8Array;
  readonly resolve: (kept: Kept) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Makes the function that keeps requests. It throws Failures of code `storage`, `auth`, `unavailable`, and `store-unsure`.
 * @param newestMs the time of the newest id in the store
 */
export const openKeeper = (
  database: Database,
  { file, newestMs }: { readonly file: TitledFile; readonly newestMs: number },
): ((request: StoredRequest) => Promise<Kept>) => {
  const waiting: WaitingRequest[] = [];
  let writing = 0;
  let lastMs = newestMs;
  const next = (): void => {
    while (writing < maxWriting && waiting.length > 0) {
      writing++;
      void keepTogether(database, file, takePortion(waiting)).finally(() => {
        writing--;
        next();
      });
    }
  };
  return (request) =>
    new Promise((resolve, reject) => {
      // The calls of a request sort after those of earlier requests, whatever the clock says.
      const ms = Math.max(request.loggedAt, lastMs + 1);
      lastMs = lastMsOf(ms, request.places.length);
      // All requests of this turn of the event loop are there when its next phase begins.
      if (waiting.push({ request, id: makeFirstId(ms), resolve, reject }) === 1) setImmediate(next);
    });
};

const takePortion = (waiting: WaitingRequest[]): readonly WaitingRequest[] => {
  let bytes = 0;
  const end = waiting.findIndex(({ request }, at) => {
    bytes += request.bytes.length;
    return at > 0 && (at >= maxTogether || bytes > maxBytesTogether);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
};

const keepTogether = async (database: Database, file: TitledFile, some: readonly WaitingRequest[]): Promise<void> => {
  try {
    for (const [at, kept] of (await keepAll(database, file, some)).entries()) some[at]?.resolve(kept);
  } catch (thrown) {
    // Nothing was kept: what is wrong with one request is not the failure of the others.
    if (some.length > 1 && thrown instanceof Failure && thrown.code === "storage") {
      for (const one of some) await keepTogether(database, file, [one]);
    } else for (const one of some) one.reject(thrown);
  }
};

/** Keeps requests in one transaction, which may have been done before, by a try whose answer was lost. */
const keepAll = async (
  database: Database,
  file: TitledFile,
  all: readonly WaitingRequest[],
): Promise<readonly Kept[]> => {
  let isInDoubt = false;
  let rows: readonly Row[];
  try {
    const answers = await database.together(questionsOf(all), () => {
      isInDoubt = true;
    });
    rows = answers.at(-1) ?? [];
  } catch (cause) {
    throw isInDoubt ? storeUnsure(file, cause) : cause;
  }
  const byId = new Map(rows.map((row) => [hexOf(row.bytes("id")), row]));
  return all.map(({ id, request: { project, once } }) => {
    const own = byId.get(hexOf(id));
    const isSame = (row: Row) => !row.isNull("key") && row.text("key") === once?.key && row.text("project") === project;
    const kept = own ?? rows.find(isSame);
    if (kept === undefined) throw databaseFailed({ ...file, code: "23505" });
    return { logged: toLogged(kept), isNew: own !== undefined };
  });
};

const hexOf = (id: Uint8Array): string => Buffer.from(id).toString("hex");

/** Converts a row with `id`, `digest`, `metrics` and `calls`. */
export const toLogged = (row: Row): LoggedRequest => ({
  digest: row.isNull("digest") ? undefined : row.bytes("digest"),
  metrics: row.text("metrics"),
  callIds: JSON.stringify(formatIds(row.bytes("id"), row.integer("calls"))),
});

/** Adds requests with all that belongs to them, deletes what belongs to a request that has the key of another one, and finds both. */
const questionsOf = (all: readonly WaitingRequest[]): readonly Question[] => {
  const ids = all.map(({ id }) => id);
  const own = `(${ids.map(() => "?").join(", ")})`;
  const keys = all.flatMap(({ request: { project, once } }) => (once === undefined ? [] : [project, once.key]));
  const left = `WHERE logged IN ${own} AND logged NOT IN (SELECT id FROM rollcall.logged WHERE id IN ${own})`;
  const select = "SELECT id, project, key, digest, metrics, calls FROM rollcall.logged";
  const keyed = `UNION ALL ${select} WHERE (project, key) IN (VALUES ${tuples(keys.length / 2, 2)})`;
  return [
    ...insertions("rollcall.logged_body (logged, piece, bytes)", all.flatMap(piecesOf)),
    addRequests(all),
    ...insertions("rollcall.logged_group (logged, position, rest)", all.flatMap(groupsOf)),
    ...(keys.length === 0 ? [] : ["body", "group"]).map((part) => ({
      sql: `DELETE FROM rollcall.logged_${part} ${left}`,
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

const addRequests = (all: readonly WaitingRequest[]): Question => {
  // In one order, whoever adds them: two transactions would wait for each other's keys otherwise.
  const keyOf = ({ request: { project, once } }: WaitingRequest): string => `${project}\n${once?.key ?? ""}`;
  const ordered = all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = ordered.flatMap(({ id, request }): Value[] => {
    const { project, once, metrics, rest, loggedAt, places } = request;
    const [model, split] = [JSON.stringify(request.model), JSON.stringify(request.split)];
    const [key, digest] = [once?.key ?? null, once?.digest ?? null];
    return [id, timeOfId(id), project, key, digest, model, split, metrics, rest, loggedAt, places.length];
  });
  return {
    sql: `INSERT INTO rollcall.logged
        (id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls)
      VALUES ${tuples(all.length, 11)} ON CONFLICT DO NOTHING`,
    values,
  };
};

type Part = readonly [Uint8Array, number, Uint8Array | string];

const piecesOf = ({ id, request: { bytes, places } }: WaitingRequest): readonly Part[] => {
  if (places.length === 0) return [];
  const body = cut(bytes, pieceBytes).map((piece, at): Part => [id, at, piece]);
  const packed = cut(packPlaces(places), idsPerMs * placeBytes);
  return [...body, ...packed.map((piece, at): Part => [id, firstPlacePiece + at, piece])];
};

const cut = (bytes: Uint8Array, length: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

const groupsOf = ({ id, request }: WaitingRequest): readonly Part[] =>
  Array.from(request.groupRests, ([position, rest]): Part => [id, position, rest]);

/** Bytes and rows of one statement, of which three copies are in memory on its way. */
const maxStatementBytes = 4 * 2 ** 20;
const maxStatementRows = 1000;

const insertions = (into: string, rows: readonly Part[]): readonly Question[] => {
  const questions: Question[] = [];
  for (let from = 0, to = 0, bytes = 0; from < rows.length; from = to, bytes = 0) {
    while (to < rows.length && to - from < maxStatementRows && bytes < maxStatementBytes) {
      bytes += rows[to++]?.[2].length ?? 0;
    }
    const sql = `INSERT INTO ${into} VALUES ${tuples(to - from, 3)} ON CONFLICT DO NOTHING`;
    questions.push({ sql, values: rows.slice(from, to).flat() });
  }
  return questions;
};
