/** Reads what the store holds. */
import type { Database } from "../database/index.ts";
import { idsText, parseId } from "./identifier.ts";
import type { TrajectorySpan } from "./spans.ts";
import { mostPieces, nameOf, pieceBytes, placeIn } from "./store-places.ts";
import type { Store } from "./stored.ts";

/** What can be asked of a store. */
export const readsOf = (database: Database): Pick<Store, "logged" | "call" | "models"> => ({
  logged: loggedIn(database),
  call: callIn(database),
  models: modelsIn(database),
});

const loggedIn = (database: Database): Store["logged"] => {
  const byKey = database.prepare(
    `SELECT requests.digest, requests.metrics, requests.calls, requests.last_call, logged.ids
     FROM requests LEFT JOIN logged ON logged.request = requests.id WHERE requests.key = ?`,
  );
  const byNumber = database.prepare("SELECT id FROM calls WHERE number > ? AND number <= ? ORDER BY number");
  return (key) => {
    const row = byKey.get(key);
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

const callIn = (database: Database): Store["call"] => {
  const before = database.prepare(
    "SELECT request, ids, places FROM logged WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1",
  );
  const request = database.prepare(`SELECT ${ofRequest} FROM requests WHERE id = ? AND project = ?`);
  const groupRest = database.prepare("SELECT rest FROM groups WHERE request = ? AND position = ?");
  const piece = database.prepare("SELECT substr(bytes, ? + 1, ?) AS bytes FROM bodies WHERE piece = ?");
  const earlier = database.prepare(
    `SELECT calls.request, calls.group_position, calls.position, calls.trajectory, ${ofRequest}
     FROM calls JOIN requests ON requests.id = calls.request WHERE calls.id = ? AND requests.project = ?`,
  );
  const bytesOf = (own: number, { start, end }: TrajectorySpan): Uint8Array => {
    const pieces: Uint8Array[] = [];
    for (let at = start; at < end; ) {
      const from = at % pieceBytes;
      const length = Math.min(end - at, pieceBytes - from);
      const row = piece.get(from, length, own * mostPieces + Math.floor(at / pieceBytes));
      pieces.push(row?.bytes("bytes") ?? new Uint8Array());
      at += length;
    }
    return Buffer.concat(pieces);
  };
  const found = (project: string, id: string) => {
    const own = parseId(id);
    const row = own === undefined ? undefined : before.get(own);
    if (own === undefined || row === undefined) return undefined;
    const place = placeIn({ ids: row.bytes("ids"), places: row.bytes("places") }, own);
    const of = row.integer("request");
    const about = place === undefined ? undefined : request.get(of, project);
    return place === undefined || about === undefined ? undefined : { ...place, of, about, bytes: bytesOf(of, place) };
  };
  const foundEarlier = (project: string, id: string) => {
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
    const call = found(project, id) ?? foundEarlier(project, id);
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

const modelsIn = (database: Database): Store["models"] => {
  const models = database.prepare("SELECT id, owner, created FROM models ORDER BY id");
  return () =>
    models
      .all()
      .map((row) => ({ id: nameOf(row.text("id")), owner: row.text("owner"), created: row.integer("created") }));
};
