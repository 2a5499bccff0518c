/** Keeps requests in a database that services share: those that wait together in one transaction, each once, whoever else keeps it. */
import type { DatabaseServer, Question, Row, Value } from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { firstId, idsFrom, idsText, lastMsOf, nameText, pieceBytes, timeOfId } from "./packed-calls.ts";
import { firstOfPlaces, packed, placeBytes, placesPerPiece } from "./postgres-places.ts";
import type { Kept, LoggedRequest, Store, StoredRequest } from "./store.ts";

/** Requests that are kept in one transaction at most. */
const mostTogether = 256;

/** Bytes of bodies that go in one transaction. */
const mostBytesTogether = 32 * 2 ** 20;

/** Transactions that a service writes at once: while one waits for the disk another one is written. */
const mostWriting = 2;

/** An open store. */
export interface StoreReach {
  readonly remote: DatabaseServer;
  readonly path: string;
  readonly title: string;
}

/** A request, and the identifier of its first call. */
interface Identified {
  readonly request: StoredRequest;
  readonly id: Uint8Array;
}

/** One that waits to be kept. */
interface Waiting extends Identified {
  readonly resolve: (kept: Kept) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Opens the way in. What it gives throws Failure of code `storage`, `auth` or `unavailable`, and `store-unsure`. */
export const keepingIn = (reach: StoreReach): Store["keep"] => {
  const waiting: Waiting[] = [];
  let writing = 0;
  let lastMs = 0;
  const next = (): void => {
    while (writing < mostWriting && waiting.length > 0) {
      writing++;
      void keepTogether(reach, portionOf(waiting)).finally(() => {
        writing--;
        next();
      });
    }
  };
  return (request) =>
    new Promise((resolve, reject) => {
      // The calls of a request stand behind those of the service's requests before it, whatever the clock says.
      const ms = Math.max(request.loggedAt, lastMs + 1);
      lastMs = lastMsOf(ms, request.places.length);
      // All that came in this turn of the event loop is there when the next phase of it begins.
      if (waiting.push({ request, id: firstId(ms), resolve, reject }) === 1) setImmediate(next);
    });
};

/** Takes the first of those that wait, as many as go together. */
const portionOf = (waiting: Waiting[]): readonly Waiting[] => {
  let bytes = 0;
  const isOver = (one: Waiting, at: number): boolean => {
    bytes += one.request.bytes.length;
    return at > 0 && (at >= mostTogether || bytes > mostBytesTogether);
  };
  const end = waiting.findIndex(isOver);
  return waiting.splice(0, end === -1 ? waiting.length : end);
};

const keepTogether = async (reach: StoreReach, some: readonly Waiting[]): Promise<void> => {
  try {
    const kept = await keepAll(reach, some);
    for (const [at, one] of kept.entries()) some[at]?.resolve(one);
  } catch (thrown) {
    // Nothing of it was kept: what is wrong with one is not the others' failure.
    if (some.length > 1 && isFailure(thrown, "database-failed")) {
      for (const one of some) await keepTogether(reach, [one]);
    } else for (const one of some) one.reject(thrown);
  }
};

/** Keeps requests in one transaction, which may have been done before, by a try whose answer got lost. @throws as what `keepingIn` gives */
const keepAll = async (reach: StoreReach, all: readonly Identified[]): Promise<readonly Kept[]> => {
  const { remote, path, title } = reach;
  let isInDoubt = false;
  try {
    const answers = await remote.together([...pieceQuestions(all), ...questionsOf(all)], () => {
      isInDoubt = true;
    });
    return keptIn(answers.at(-1) ?? [], all, reach);
  } catch (cause) {
    // What was written may have been committed: only its answer is missing.
    throw isInDoubt ? new Failure("store-unsure", { path, title }, { cause }) : cause;
  }
};

/** Everything but the pieces: those that have no request in the end, since another one has its key, go again. */
const questionsOf = (all: readonly Identified[]): readonly Question[] => {
  const ids = all.map(({ id }) => id);
  const own = `(${ids.map(() => "?").join(", ")})`;
  const keys = all.flatMap(({ request: { project, once } }) => (once === undefined ? [] : [project, once.key]));
  const left = `WHERE logged IN ${own} AND logged NOT IN (SELECT id FROM rollcall.logged WHERE id IN ${own})`;
  const keyed = `WHERE (project, key) IN (VALUES ${tuples(keys.length / 2, 2)})`;
  const select = `SELECT id, project, key, digest, metrics, calls FROM rollcall.logged`;
  return [
    requestQuestion(all),
    ...groupQuestions(all),
    ...(keys.length === 0 ? [] : ["body", "group"]).map((part) => ({
      sql: `DELETE FROM rollcall.logged_${part} ${left}`,
      values: [...ids, ...ids],
    })),
    {
      sql: `INSERT INTO rollcall.logged_model (id, project, owner, created)
        SELECT model, project, split_part(project, '/', 1), min(logged_at) / 1000 FROM rollcall.logged WHERE id IN ${own}
        GROUP BY model, project ORDER BY model, project ON CONFLICT DO NOTHING`,
      values: ids,
    },
    {
      sql: `${select} WHERE id IN ${own} ${keys.length === 0 ? "" : `UNION ALL ${select} ${keyed}`}`,
      values: [...ids, ...keys],
    },
  ];
};

/** What became of requests, of which the rows are there that have their identifiers or their keys. */
const keptIn = (rows: readonly Row[], all: readonly Identified[], { path, title }: StoreReach): readonly Kept[] => {
  const there = new Set(rows.map((row) => hex(row.bytes("id"))));
  return all.map((one) => {
    if (there.has(hex(one.id))) return { logged: newlyLogged(one), isNew: true };
    const { project, once } = one.request;
    const other = rows.find(
      (row) => !row.isNull("key") && row.text("key") === once?.key && row.text("project") === project,
    );
    if (other === undefined) throw new Failure("database-failed", { path, title, code: "23505" });
    return { logged: loggedOf(other), isNew: false };
  });
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");

const newlyLogged = ({ id, request: { once, metrics, places } }: Identified): LoggedRequest => ({
  digest: once?.digest,
  metrics,
  callIds: idsText(idsFrom(id, places.length)),
});

/** A request of which there are `id`, `digest`, `metrics` and `calls`. */
export const loggedOf = (row: Row): LoggedRequest => ({
  digest: row.isNull("digest") ? undefined : row.bytes("digest"),
  metrics: row.text("metrics"),
  callIds: idsText(idsFrom(row.bytes("id"), row.integer("calls"))),
});

/** `(?, ?), (?, ?)` */
const tuples = (rows: number, columns: number): string =>
  Array<string>(rows)
    .fill(`(${Array<string>(columns).fill("?").join(", ")})`)
    .join(", ");

/** Adds those that are not there. */
const requestQuestion = (all: readonly Identified[]): Question => {
  // In one order, whoever adds them: two transactions that wait for each other's keys would both go on waiting.
  const keyOf = ({ request: { project, once } }: Identified): string => `${project}\n${once?.key ?? ""}`;
  const ordered = all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = ordered.flatMap(({ id, request }): Value[] => {
    const { project, once, metrics, rest, loggedAt, places } = request;
    const [model, split] = [nameText(request.model), nameText(request.split)];
    const [key, digest] = [once?.key ?? null, once?.digest ?? null];
    return [id, timeOfId(id), project, key, digest, model, split, metrics, rest, loggedAt, places.length];
  });
  return {
    sql: `INSERT INTO rollcall.logged (id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls)
      VALUES ${tuples(all.length, 11)} ON CONFLICT DO NOTHING`,
    values,
  };
};

/** What goes in one statement: what it holds is in memory three times on its way. */
const mostBytesOfQuestion = 4 * 2 ** 20;
const mostRowsOfQuestion = 1000;

const pieceQuestions = (all: readonly Identified[]): readonly Question[] =>
  insertions(
    "rollcall.logged_body (logged, piece, bytes)",
    all.flatMap(({ id, request: { bytes, places } }) =>
      places.length === 0
        ? []
        : [
            ...pieces(bytes, pieceBytes).map((piece, at) => [id, at, piece] as const),
            ...pieces(packed(places), placesPerPiece * placeBytes).map(
              (piece, at) => [id, firstOfPlaces + at, piece] as const,
            ),
          ],
    ),
  );

const pieces = (bytes: Uint8Array, length: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => bytes.subarray(at * length, (at + 1) * length));

const groupQuestions = (all: readonly Identified[]): readonly Question[] =>
  insertions(
    "rollcall.logged_group (logged, position, rest)",
    all.flatMap(({ id, request }) =>
      Array.from(request.groupRests, ([position, rest]) => [id, position, rest] as const),
    ),
  );

/** Inserts rows of three columns, the last of which may be long, where they are not there. */
const insertions = (
  into: string,
  rows: readonly (readonly [Uint8Array, number, Uint8Array | string])[],
): readonly Question[] => {
  const questions: Question[] = [];
  for (let from = 0, to = 0, length = 0; from < rows.length; from = to, length = 0) {
    while (to < rows.length && to - from < mostRowsOfQuestion && length < mostBytesOfQuestion) {
      length += rows[to++]?.[2].length ?? 0;
    }
    const some = rows.slice(from, to);
    const sql = `INSERT INTO ${into} VALUES ${tuples(some.length, 3)} ON CONFLICT DO NOTHING`;
    questions.push({ sql, values: some.flat() });
  }
  return questions;
};
