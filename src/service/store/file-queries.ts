/** What the store in a file is asked: to keep a request, and for what it holds. */
import type { Database } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import {
  firstId,
  idBytes,
  idList,
  idsFrom,
  idsText,
  mostPieces,
  nameOf,
  nameText,
  type PackedCalls,
  packPlaces,
  parseId,
  pieceBytes,
  placeIn,
  timeOfId,
} from "./packed-calls.ts";
import type { Kept, LoggedRequest, LoggedUnder, StoredCall, StoredModel, StoredRequest } from "./store.ts";

/** What can be asked of a store in a file, which answers at once. */
interface FileReads {
  logged(under: LoggedUnder): LoggedRequest | undefined;
  call(project: string, id: string): StoredCall | undefined;
  callIds(project: string): readonly string[];
  models(projects: readonly string[] | undefined): readonly StoredModel[];
}

/** Keeps requests, all of them or nothing: they are on disk when this returns. */
export const keepIn = (
  database: Database,
  loggedBefore: FileReads["logged"],
): ((requests: readonly StoredRequest[]) => readonly Kept[]) => {
  const insertRequest = database.prepare(
    `INSERT INTO requests (project, key, digest, model, split, metrics, rest, logged_at, calls)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertPiece = database.prepare("INSERT INTO bodies (piece, bytes) VALUES (?, ?)");
  const insertLogged = database.prepare("INSERT INTO logged (request, first_id, ids, places) VALUES (?, ?, ?, ?)");
  const lastId = database.prepare(
    `SELECT CASE WHEN length(ids) > 0 THEN substr(ids, -${idBytes}) ELSE first_id END AS id
     FROM logged ORDER BY first_id DESC LIMIT 1`,
  );
  const insertGroup = database.prepare("INSERT INTO groups (request, position, rest) VALUES (?, ?, ?)");
  const insertModel = database.prepare(
    "INSERT INTO project_models (id, project, owner, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  /** The last identifier there is, asked for once in each transaction. */
  let last: Uint8Array | undefined;
  const keepOne = (request: StoredRequest): Kept => {
    const { project, metrics, rest, loggedAt, once, places, bytes } = request;
    const [model, split] = [nameText(request.model), nameText(request.split)];
    // Asked inside the transaction: the same request may be on its way twice.
    const before = once === undefined ? undefined : loggedBefore({ project, key: once.key });
    if (before !== undefined) return { logged: before, isNew: false };
    const [key, digest] = [once?.key ?? null, once?.digest ?? null];
    const { rowId } = insertRequest.run(project, key, digest, model, split, metrics, rest, loggedAt, places.length);
    for (const [position, text] of request.groupRests) insertGroup.run(rowId, position, text);
    // Those of a request stand between those of the requests before and behind it, whatever the clock says.
    const first = firstId(Math.max(loggedAt, last === undefined ? 0 : timeOfId(last) + 1));
    const ids = idsFrom(first, places.length);
    last = places.length > 0 ? ids.subarray(-idBytes) : first;
    for (let at = 0; at < (places.length > 0 ? bytes.length : 0); at += pieceBytes) {
      insertPiece.run(rowId * mostPieces + at / pieceBytes, bytes.subarray(at, at + pieceBytes));
    }
    insertLogged.run(rowId, first, ids, packPlaces(places));
    insertModel.run(model, project, project.split("/")[0] ?? project, Math.floor(loggedAt / 1000));
    return { logged: { digest: once?.digest, metrics, callIds: idsText(ids) }, isNew: true };
  };
  return (requests) =>
    database.transaction(() => {
      last = lastId.get()?.bytes("id");
      return requests.map(keepOne);
    });
};

/** What can be asked of a store. */
export const readsOf = (database: Database): FileReads => ({
  logged: loggedIn(database),
  call: callIn(database),
  callIds: callIdsIn(database),
  models: modelsIn(database),
});

const loggedIn = (database: Database): FileReads["logged"] => {
  const byKey = database.prepare(
    `SELECT requests.digest, requests.metrics, logged.ids
     FROM requests JOIN logged ON logged.request = requests.id WHERE requests.project = ? AND requests.key = ?`,
  );
  return ({ project, key }) => {
    const row = byKey.get(project, key);
    return row && { digest: row.bytes("digest"), metrics: row.text("metrics"), callIds: idsText(row.bytes("ids")) };
  };
};

const callIn = (database: Database): FileReads["call"] => {
  const before = database.prepare("SELECT request FROM logged WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1");
  const packed = packedReader(database);
  const request = database.prepare("SELECT model, split, logged_at, rest FROM requests WHERE id = ? AND project = ?");
  const groupRest = database.prepare("SELECT rest FROM groups WHERE request = ? AND position = ?");
  const bytesOf = bodyReader(database);
  return (project, id) => {
    const own = parseId(id);
    const of = own === undefined ? undefined : before.get(own)?.integer("request");
    if (own === undefined || of === undefined) return undefined;
    const place = placeIn(packed(of), own);
    const about = place === undefined ? undefined : request.get(of, project);
    if (place === undefined || about === undefined) return undefined;
    const { group, position } = place;
    return {
      id,
      group,
      position,
      bytes: bytesOf(of, place),
      model: nameOf(about.text("model")),
      split: nameOf(about.text("split")),
      loggedAt: about.integer("logged_at"),
      requestRest: about.text("rest"),
      groupRest: groupRest.get(of, group)?.text("rest") ?? "{}",
    };
  };
};

/** Reads where the calls of a request stand: whoever reads one of them reads others, and what was logged does not change. */
const packedReader = (database: Database): ((request: number) => PackedCalls) => {
  const ofRequest = database.prepare("SELECT ids, places FROM logged WHERE request = ?");
  let last: (PackedCalls & { readonly request: number }) | undefined;
  return (request) => {
    if (last?.request === request) return last;
    const row = ofRequest.get(request);
    const [ids, places] = [row?.bytes("ids") ?? new Uint8Array(), row?.bytes("places") ?? new Uint8Array()];
    last = { request, ids, places };
    return last;
  };
};

/** Reads a part of a request's body out of the pieces that it is stored in. */
const bodyReader = (database: Database): ((request: number, part: Span) => Uint8Array) => {
  const piece = database.prepare("SELECT substr(bytes, ? + 1, ?) AS bytes FROM bodies WHERE piece = ?");
  return (request, { start, end }) => {
    const pieces: Uint8Array[] = [];
    for (let at = start; at < end; ) {
      const from = at % pieceBytes;
      const length = Math.min(end - at, pieceBytes - from);
      const row = piece.get(from, length, request * mostPieces + Math.floor(at / pieceBytes));
      pieces.push(row?.bytes("bytes") ?? new Uint8Array());
      at += length;
    }
    return Buffer.concat(pieces);
  };
};

const callIdsIn = (database: Database): FileReads["callIds"] => {
  const packed = database.prepare(
    `SELECT logged.ids FROM logged JOIN requests ON requests.id = logged.request
     WHERE requests.project = ? ORDER BY logged.first_id DESC`,
  );
  return (project) => packed.all(project).flatMap((row) => idList(row.bytes("ids")).reverse());
};

const modelsIn = (database: Database): FileReads["models"] => {
  // Of a model that several projects logged to, the first one's row.
  const models = database.prepare(
    `SELECT id, owner, min(created) AS created FROM project_models
     WHERE ? IS NULL OR project IN (SELECT value FROM json_each(?)) GROUP BY id ORDER BY id`,
  );
  return (projects) => {
    const chosen = projects === undefined ? null : JSON.stringify(projects);
    return models
      .all(chosen, chosen)
      .map((row) => ({ id: nameOf(row.text("id")), owner: row.text("owner"), created: row.integer("created") }));
  };
};
