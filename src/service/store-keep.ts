/** Keeps requests in the store. */
import type { Database } from "../database/index.ts";
import { callIds, idBytes, idsText, timeOfId } from "./identifier.ts";
import { mostPieces, nameText, packPlaces, pieceBytes } from "./store-places.ts";
import type { Store } from "./stored.ts";

/** Keeps a request, all of it or nothing: it is on disk when this returns. */
export const keepIn = (database: Database, loggedBefore: Store["logged"]): Store["keep"] => {
  const insertRequest = database.prepare(
    `INSERT INTO requests (key, digest, model, project, split, metrics, rest, logged_at, calls)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertPiece = database.prepare("INSERT INTO bodies (piece, bytes) VALUES (?, ?)");
  const insertLogged = database.prepare("INSERT INTO logged (request, first_id, ids, places) VALUES (?, ?, ?, ?)");
  const lastId = database.prepare("SELECT substr(ids, -16) AS id FROM logged ORDER BY first_id DESC LIMIT 1");
  const insertGroup = database.prepare("INSERT INTO groups (request, position, rest) VALUES (?, ?, ?)");
  const insertModel = database.prepare(
    "INSERT INTO models (id, owner, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  return (request) =>
    database.transaction(() => {
      const { project, metrics, rest, loggedAt, once, places, bytes } = request;
      const [model, split] = [nameText(request.model), nameText(request.split)];
      // Asked inside the transaction: the same request may be on its way twice.
      const before = once === undefined ? undefined : loggedBefore(once.key);
      if (before !== undefined) return { logged: before, isNew: false };
      const [key, digest] = [once?.key ?? null, once?.digest ?? null];
      const { rowId } = insertRequest.run(key, digest, model, project, split, metrics, rest, loggedAt, places.length);
      for (const [position, text] of request.groupRests) insertGroup.run(rowId, position, text);
      // Those of a request stand between those of the requests before and behind it, whatever the clock says.
      const last = lastId.get();
      const ids = callIds(places.length, Math.max(loggedAt, last === undefined ? 0 : timeOfId(last.bytes("id")) + 1));
      if (places.length > 0) {
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          insertPiece.run(rowId * mostPieces + at / pieceBytes, bytes.subarray(at, at + pieceBytes));
        }
        insertLogged.run(rowId, ids.subarray(0, idBytes), ids, packPlaces(places));
      }
      insertModel.run(model, project.split("/")[0] ?? project, Math.floor(loggedAt / 1000));
      return { logged: { digest: once?.digest, metrics, callIds: idsText(ids) }, isNew: true };
    });
};
