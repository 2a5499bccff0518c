/** What the store in a file is asked: to keep a request, and for what it holds. */
import type { Database } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import {
  earliestOf,
  endOfId,
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
import type { Kept, LoggedRequest, LoggedUnder, StoredCall, StoredModel, StoredRequest, StoredWhole } from "./store.ts";

/** What can be asked of a store in a file, which answers at once. */
interface FileReads {
  logged(under: LoggedUnder): LoggedRequest | undefined;
  call(project: string, id: string): StoredCall | undefined;
  callIds(project: string): readonly string[];
  models(projects: readonly string[] | undefined): readonly StoredModel[];
}

/** Keeps requests, all of them or nothing: they are on disk when this returns. One that is copied keeps its identifiers. */
export const keepIn = (
  database: Database,
  loggedBefore: FileReads["logged"],
): ((requests: readonly (StoredRequest | StoredWhole)[]) => readonly Kept[]) => {
  const insertRequest = database.prepare(
    `INSERT INTO requests (key, digest, model, project, split, metrics, rest, logged_at, calls)
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
  const keepOne = (request: StoredRequest | StoredWhole): Kept => {
    const { project, metrics, rest, loggedAt, once, places, bytes } = request;
    const [model, split] = [nameText(request.model), nameText(request.split)];
    // Asked inside the transaction: the same request may be on its way twice.
    const before = once === undefined ? undefined : loggedBefore({ project, key: once.key });
    if (before !== undefined) return { logged: before, isNew: false };
    const [key, digest] = [once === undefined ? null : keyText(project, once.key), once?.digest ?? null];
    const { rowId } = insertRequest.run(key, digest, model, project, split, metrics, rest, loggedAt, places.length);
    for (const [position, text] of request.groupRests) insertGroup.run(rowId, position, text);
    // Those of a request stand between those of the requests before and behind it, whatever the clock says.
    const next = () => firstId(Math.max(loggedAt, last === undefined ? 0 : timeOfId(last) + 1));
    const first = "id" in request ? request.id : next();
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

/** The key of a request is its project's own. Neither has line ends: one comes from a header. */
const keyText = (project: string, key: string): string => `${project}\n${key}`;

/** The key out of that. */
export const keyIn = (project: string, text: string): string => text.slice(project.length + 1);

const loggedIn = (database: Database): FileReads["logged"] => {
  const byKey = database.prepare(
    `SELECT requests.digest, requests.metrics, requests.calls, requests.last_call, logged.ids
     FROM requests LEFT JOIN logged ON logged.request = requests.id WHERE requests.key = ?`,
  );
  const byNumber = database.prepare("SELECT id FROM calls WHERE number > ? AND number <= ? ORDER BY number");
  return ({ project, key }) => {
    const row = byKey.get(keyText(project, key));
    if (row === undefined) return undefined;
    const last = row.isNull("last_call") ? 0 : row.integer("last_call");
    const earlier = () => byNumber.all(last - row.integer("calls"), last).map((call) => call.text("id"));
    return {
      digest: row.bytes("digest"),
      metrics: row.text("metrics"),
      callIds: row.isNull("ids") ? JSON.stringify(earlier()) : idsText(row.bytes("ids")),
    };
  };
};

const ofRequest = "requests.model, requests.split, requests.logged_at, requests.rest";

const callIn = (database: Database): FileReads["call"] => {
  const before = database.prepare("SELECT request FROM logged WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1");
  // The identifiers of requests that several services logged at once, and that were copied here, may stand between each other.
  const around = database.prepare(
    "SELECT request FROM logged WHERE first_id BETWEEN ? AND ? AND substr(first_id, ?) = ?",
  );
  const packed = packedReader(database);
  const request = database.prepare(`SELECT ${ofRequest} FROM requests WHERE id = ? AND project = ?`);
  const groupRest = database.prepare("SELECT rest FROM groups WHERE request = ? AND position = ?");
  const earlier = database.prepare(
    `SELECT calls.request, calls.group_position, calls.position, calls.trajectory, ${ofRequest}
     FROM calls JOIN requests ON requests.id = calls.request WHERE calls.id = ? AND requests.project = ?`,
  );
  const bytesOf = bodyReader(database);
  const packedCall = (project: string, id: string) => {
    const own = parseId(id);
    const nearest = own === undefined ? undefined : before.get(own);
    if (own === undefined || nearest === undefined) return undefined;
    let of = nearest.integer("request");
    let place = placeIn(packed(of), own);
    const other =
      place === undefined ? around.get(earliestOf(own), own, endOfId + 1, own.subarray(endOfId)) : undefined;
    if (other !== undefined) {
      of = other.integer("request");
      place = placeIn(packed(of), own);
    }
    const about = place === undefined ? undefined : request.get(of, project);
    return place === undefined || about === undefined ? undefined : { ...place, of, about, bytes: bytesOf(of, place) };
  };
  const earlierCall = (project: string, id: string) => {
    const row = earlier.get(id, project);
    return (
      row && {
        of: row.integer("request"),
        group: row.integer("group_position"),
        position: row.integer("position"),
        bytes: row.bytes("trajectory"),
        about: row,
      }
    );
  };
  return (project, id) => {
    const call = packedCall(project, id) ?? earlierCall(project, id);
    if (call === undefined) return undefined;
    const { of, group, position, bytes, about } = call;
    return {
      id,
      group,
      position,
      bytes,
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
  const earlier = database.prepare(
    `SELECT calls.id FROM calls JOIN requests ON requests.id = calls.request
     WHERE requests.project = ? ORDER BY calls.number DESC`,
  );
  return (project) => {
    const ids = packed.all(project).flatMap((row) => idList(row.bytes("ids")).reverse());
    return [...ids, ...earlier.all(project).map((row) => row.text("id"))];
  };
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
