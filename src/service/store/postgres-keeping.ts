/** Keeps requests in a PostgreSQL database: those that wait together in one transaction, each once, whoever else keeps it. */
import type { Ask, Remote, Row, TitledFile, Value } from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import type { TrajectorySpan } from "../log-request.ts";
import { firstId, idsFrom, idsText, lastMsOf, nameText, pieceBytes } from "./packed-calls.ts";
import type { Kept, LoggedRequest, Store, StoredRequest } from "./store.ts";

/** Transactions at once: while one waits for the disk another one is written. */
const mostWriting = 2;

/** What is kept in one transaction at most, unless it is a single request. */
const mostTogether = 256;
const mostBytesTogether = 32 * 2 ** 20;

/** A request, and the identifier of its first call. */
export interface Identified {
  readonly request: StoredRequest;
  readonly id: Uint8Array;
}

/** One that waits to be kept. */
interface Waiting extends Identified {
  readonly resolve: (kept: Kept) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Opens the way in. What it gives throws Failure of code `storage`, `auth` or `unavailable`, and `store-unsure`. */
export const keepingIn = (remote: Remote, about: TitledFile): Store["keep"] => {
  const waiting: Waiting[] = [];
  let writing = 0;
  let lastMs = 0;
  const next = (): void => {
    while (writing < mostWriting && waiting.length > 0) {
      writing++;
      void keepTogether(remote, about, portionOf(waiting)).finally(() => {
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

const keepTogether = async (remote: Remote, about: TitledFile, some: readonly Waiting[]): Promise<void> => {
  try {
    const kept = await keepAll(remote, about, some);
    for (const [at, one] of kept.entries()) some[at]?.resolve(one);
  } catch (thrown) {
    // Nothing of it was kept: what is wrong with one is not the others' failure.
    if (some.length > 1 && isFailure(thrown, "database-failed")) {
      for (const one of some) await keepTogether(remote, about, [one]);
    } else for (const one of some) one.reject(thrown);
  }
};

/** Keeps requests in one transaction. @throws as what `keepingIn` gives */
export const keepAll = async (
  remote: Remote,
  { path, title }: TitledFile,
  all: readonly Identified[],
): Promise<readonly Kept[]> => {
  let isWritten = false;
  try {
    return await remote.transaction(async (ask) => {
      const kept = await keepIn(ask, all, { path, title });
      isWritten = true;
      return kept;
    });
  } catch (cause) {
    // What was written may have been committed: only its answer is missing.
    throw isWritten ? new Failure("store-unsure", { path, title }, { cause }) : cause;
  }
};

/** All that is done here may have been done before, by a try whose answer got lost. */
const keepIn = async (ask: Ask, all: readonly Identified[], about: TitledFile): Promise<readonly Kept[]> => {
  const added = await addRequests(ask, all);
  const isAdded = ({ id }: Identified): boolean => added.has(hex(id));
  const fresh = all.filter(isAdded);
  await addPieces(ask, fresh);
  for (const { id, request } of fresh) if (request.groupRests.size > 0) await addGroups(ask, id, request.groupRests);
  await addModels(ask, fresh);
  const kept: Kept[] = [];
  for (const one of all)
    kept.push(isAdded(one) ? { logged: newlyLogged(one), isNew: true } : await before(ask, one, about));
  return kept;
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

/** What was there in place of a request: itself, or another one under its key. */
const before = async (ask: Ask, { id, request: { project, once } }: Identified, about: TitledFile): Promise<Kept> => {
  const rows = await ask(
    "SELECT id, digest, metrics, calls FROM rollcall.logged WHERE id = ? OR (project = ? AND key = ?)",
    [id, project, once?.key ?? null],
  );
  const [row] = rows;
  if (row === undefined) throw new Failure("database-failed", { ...about, code: "23505" });
  return { logged: loggedOf(row), isNew: hex(row.bytes("id")) === hex(id) };
};

/** `(?, ?), (?, ?)` */
const tuples = (rows: number, columns: number): string =>
  Array<string>(rows)
    .fill(`(${Array<string>(columns).fill("?").join(", ")})`)
    .join(", ");

/** Adds those that are not there, and gives their identifiers. */
const addRequests = async (ask: Ask, all: readonly Identified[]): Promise<ReadonlySet<string>> => {
  // In one order, whoever adds them: two transactions that wait for each other's keys would both go on waiting.
  const keyOf = ({ request: { project, once } }: Identified): string => `${project}\n${once?.key ?? ""}`;
  const ordered = all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = ordered.flatMap(({ id, request }): Value[] => {
    const { project, once, metrics, rest, loggedAt, places } = request;
    const [model, split] = [nameText(request.model), nameText(request.split)];
    const [key, digest] = [once?.key ?? null, once?.digest ?? null];
    const ms = Buffer.from(id).readUIntBE(0, 6);
    return [id, ms, project, key, digest, model, split, metrics, rest, loggedAt, places.length, packed(places)];
  });
  const rows = await ask(
    `INSERT INTO rollcall.logged (id, first_ms, project, key, digest, model, split, metrics, rest, logged_at, calls, places)
     VALUES ${tuples(all.length, 12)} ON CONFLICT DO NOTHING RETURNING id`,
    values,
  );
  return new Set(rows.map((row) => hex(row.bytes("id"))));
};

/** Pieces that go in one statement: what it holds is in memory three times on its way. */
const piecesTogether = 4;

const addPieces = async (ask: Ask, requests: readonly Identified[]): Promise<void> => {
  const rows: (readonly [Uint8Array, number, Uint8Array])[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const sql = `INSERT INTO rollcall.logged_body (logged, piece, bytes) VALUES ${tuples(rows.length, 3)}`;
    await ask(sql, rows.splice(0).flat());
    bytes = 0;
  };
  for (const { id, request } of requests) {
    if (request.places.length === 0) continue;
    for (let at = 0; at < request.bytes.length; at += pieceBytes) {
      const piece = request.bytes.subarray(at, at + pieceBytes);
      rows.push([id, at / pieceBytes, piece]);
      bytes += piece.length;
      if (bytes >= piecesTogether * pieceBytes) await flush();
    }
  }
  await flush();
};

const addGroups = async (ask: Ask, id: Uint8Array, rests: ReadonlyMap<number, string>): Promise<void> => {
  await ask(
    `INSERT INTO rollcall.logged_group (logged, position, rest)
     SELECT ?, position::bigint, rest FROM json_each_text(?::json) AS given (position, rest)`,
    [id, JSON.stringify(Object.fromEntries(rests))],
  );
};

const addModels = async (ask: Ask, requests: readonly Identified[]): Promise<void> => {
  const models = new Map<string, readonly Value[]>();
  for (const { request } of requests) {
    const { project, loggedAt } = request;
    const model = nameText(request.model);
    const key = `${project}\n${model}`;
    if (!models.has(key))
      models.set(key, [model, project, project.split("/")[0] ?? project, Math.floor(loggedAt / 1000)]);
  }
  if (models.size === 0) return;
  await ask(
    `INSERT INTO rollcall.logged_model (id, project, owner, created) VALUES ${tuples(models.size, 4)} ON CONFLICT DO NOTHING`,
    [...models].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, values]) => values),
  );
};

/** Bytes of a place: its group, its position in that, its start and its end, four each, the lowest first. */
export const placeBytes = 16;

const packed = (places: readonly TrajectorySpan[]): Uint8Array => {
  const bytes = Buffer.allocUnsafe(places.length * placeBytes);
  let at = 0;
  let position = 0;
  for (const [index, { group, start, end }] of places.entries()) {
    position = places[index - 1]?.group === group ? position + 1 : 0;
    for (const value of [group, position, start, end]) at = bytes.writeUInt32LE(value, at);
  }
  return bytes;
};

/** A place as it is stored; undefined where there is none. */
export const placeOf = (bytes: Uint8Array): (TrajectorySpan & { readonly position: number }) | undefined => {
  if (bytes.length < placeBytes) return undefined;
  const place = Buffer.from(bytes);
  const [group = 0, position = 0, start = 0, end = 0] = [0, 4, 8, 12].map((at) => place.readUInt32LE(at));
  return { group, position, start, end };
};
