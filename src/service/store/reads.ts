/** What the store is asked for: requests, calls, models and keys. */
import type { Database, Row } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import {
  countOfId,
  endOfId,
  firstPlacePiece,
  formatIds,
  idBytes,
  idsPerMs,
  parseId,
  pieceBytes,
  placeBytes,
  readPlace,
  timeOfId,
} from "./ids.ts";
import { toLogged } from "./keeping.ts";
import type { Store, StoredKey, StoredKeys, StoredModel } from "./store.ts";

/** Reads a store. */
export const readsOf = (database: Database): Pick<Store, "logged" | "call" | "requests" | "models" | "keys"> => ({
  logged: async ({ project, key }) => {
    const sql = "SELECT id, digest, metrics, calls FROM rollcall.logged WHERE project = ? AND key = ?";
    const [row] = await database.ask(sql, [project, key]);
    return row && toLogged(row);
  },
  call: callIn(database),
  requests: requestsIn(database),
  models: modelsIn(database),
  keys: keysIn(database),
});

/** Finds a request by the end of its ids, which no other request has, and the place of one of its calls. */
const callSql = `
  SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${placeBytes}) AS place
  FROM rollcall.logged JOIN rollcall.logged_body ON logged = id AND piece = ? - first_ms + ${firstPlacePiece}
  WHERE substring(id, ${endOfId + 1}) = ? AND project = ? AND ? BETWEEN first_ms AND first_ms + calls / ${idsPerMs}`;

const callIn =
  (database: Database): Store["call"] =>
  async (project, id) => {
    const own = parseId(id);
    if (own === undefined) return undefined;
    const ms = timeOfId(own);
    const values = [countOfId(own) * placeBytes + 1, ms, own.subarray(endOfId), project, ms];
    const [about] = await database.ask(callSql, values);
    const place = about && readPlace(about.bytes("place"));
    if (about === undefined || place === undefined) return undefined;
    const request = about.bytes("id");
    const groupSql = "SELECT rest FROM rollcall.logged_group WHERE logged = ? AND position = ?";
    const [bytes, [group]] = await Promise.all([
      readBody(database, { request, part: place }),
      database.ask(groupSql, [request, place.group]),
    ]);
    return {
      id,
      group: place.group,
      position: place.position,
      bytes,
      model: parseName(about.text("model")),
      split: parseName(about.text("split")),
      loggedAt: about.integer("logged_at"),
      requestRest: about.text("rest"),
      groupRest: group?.text("rest") ?? "{}",
    };
  };

/** Reads a part of a request's body from its pieces. */
const readBody = async (
  database: Database,
  { request, part: { start, end } }: { readonly request: Uint8Array; readonly part: Span },
): Promise<Uint8Array> => {
  const first = Math.floor(start / pieceBytes);
  const sql = "SELECT substring(bytes, ?, ?) AS bytes FROM rollcall.logged_body WHERE logged = ? AND piece = ?";
  const parts = Array.from({ length: Math.ceil(end / pieceBytes) - first }, async (_, at) => {
    const piece = first + at;
    const from = Math.max(0, start - piece * pieceBytes);
    const length = Math.min(end - piece * pieceBytes, pieceBytes) - from;
    return (await database.ask(sql, [from + 1, length, request, piece]))[0]?.bytes("bytes") ?? new Uint8Array();
  });
  return Buffer.concat(await Promise.all(parts));
};

/** Names are kept as JSON: SQLite ends a text at a NUL, and has no lone surrogates. */
const parseName = (text: string): string => String(JSON.parse(text));

/** Requests of one answer. */
const portion = 10_000;

const requestsIn = (database: Database): Store["requests"] =>
  async function* (project) {
    const sql = `SELECT id, calls, model, split, logged_at FROM rollcall.logged
      WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ${portion}`;
    for (let last: Uint8Array = new Uint8Array(idBytes + 1).fill(255); ; ) {
      const rows = await database.ask(sql, [project, last]);
      for (const row of rows) {
        const id = row.bytes("id");
        yield {
          model: parseName(row.text("model")),
          split: parseName(row.text("split")),
          loggedAt: row.integer("logged_at"),
          callIds: formatIds(id, row.integer("calls")),
          readBody: async () => {
            const pieces = await database.ask(bodySql, [id]);
            return Buffer.concat(pieces.map((piece) => piece.bytes("bytes")));
          },
        };
      }
      last = rows.at(-1)?.bytes("id") ?? last;
      if (rows.length < portion) return;
    }
  };

const bodySql = `SELECT bytes FROM rollcall.logged_body WHERE logged = ? AND piece < ${firstPlacePiece} ORDER BY piece`;

const modelsIn =
  (database: Database): Store["models"] =>
  async (projects) => {
    const sql = "SELECT id, project, owner, created FROM rollcall.logged_model ORDER BY created, project";
    const models = new Map<string, StoredModel>();
    for (const row of await database.ask(sql)) {
      const name = row.text("id");
      // If several projects logged to a model, its owner is the first of them.
      if (models.has(name) || projects?.includes(row.text("project")) === false) continue;
      const [owner = ""] = row.text("owner").split("/");
      models.set(name, { id: parseName(name), owner, created: row.integer("created") });
    }
    return [...models].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, model]) => model);
  };

const keysIn = (database: Database): StoredKeys => ({
  list: async () => (await database.ask("SELECT * FROM rollcall.access_key ORDER BY name")).map(toKey),
  add: async ({ name, digest, projects, uses, created }) => {
    // A try whose answer was lost finds its own digest.
    const rows = await database.ask(
      `INSERT INTO rollcall.access_key AS present (name, digest, projects, uses, created) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, projects = excluded.projects, uses = excluded.uses,
         created = excluded.created, revoked = NULL
       WHERE present.revoked IS NOT NULL OR present.digest = excluded.digest RETURNING name`,
      [name, digest, JSON.stringify(projects), JSON.stringify(uses), created],
    );
    return rows.length === 1;
  },
  revoke: async (name, now) => {
    const rows = await database.ask(
      `UPDATE rollcall.access_key SET revoked = ? WHERE name = ? AND (revoked IS NULL OR revoked = ?) RETURNING name`,
      [now, name, now],
    );
    return rows.length === 1;
  },
});

const toKey = (row: Row): StoredKey => ({
  name: row.text("name"),
  digest: row.bytes("digest"),
  projects: parseTexts(row.text("projects")),
  uses: parseTexts(row.text("uses")),
  created: row.integer("created"),
  revoked: row.isNull("revoked") ? undefined : row.integer("revoked"),
});

const parseTexts = (json: string): readonly string[] => {
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.map(String) : [];
};
