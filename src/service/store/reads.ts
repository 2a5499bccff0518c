/** The questions to the store: requests, calls, models and keys. */
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
import { type LoggedRequest, toLogged } from "./keeping.ts";

/** A trajectory as a call, with the keys of its request and its group. */
export interface StoredCall {
  readonly id: string;
  /** Position of its group in the request, and its own in the group. From 0. */
  readonly group: number;
  readonly position: number;
  /** As it was logged: JSON. */
  readonly bytes: Uint8Array;
  readonly model: string;
  readonly split: string;
  readonly loggedAt: number;
  readonly requestRest: string;
  readonly groupRest: string;
}

/** A request that was logged to a project. */
export interface RequestOfProject {
  readonly model: string;
  readonly split: string;
  readonly loggedAt: number;
  /** In the order of its trajectories. */
  readonly callIds: readonly string[];
  /** Reads its body; empty for a request without trajectories. */
  readBody(): Promise<Uint8Array>;
}

/** The digest of a person's key, and what the key is for. */
export interface StoredKey {
  readonly name: string;
  readonly digest: Uint8Array;
  /** Empty for all projects. */
  readonly projects: readonly string[];
  readonly uses: readonly string[];
  /** Milliseconds since 1970. */
  readonly created: number;
  /** Milliseconds since 1970; undefined while the key is valid. */
  readonly revoked: number | undefined;
}

/** Finds a request by the end of its ids, which no other request has, and the place of one of its calls. */
const callSql = `
  SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${placeBytes}) AS place
  FROM rollcall.logged JOIN rollcall.logged_body ON logged = id AND piece = ? - first_ms + ${firstPlacePiece}
  WHERE substring(id, ${endOfId + 1}) = ? AND project = ? AND ? BETWEEN first_ms AND first_ms + calls / ${idsPerMs}`;

const bodySql = `SELECT bytes FROM rollcall.logged_body WHERE logged = ? AND piece < ${firstPlacePiece} ORDER BY piece`;

/** Requests of one answer. */
const portion = 10_000;

export const readsOf = (database: Database) => ({
  /** The request that was logged with an `Idempotency-Key`. */
  async logged(asked: { readonly project: string; readonly key: string }): Promise<LoggedRequest | undefined> {
    const sql = "SELECT id, digest, metrics, calls FROM rollcall.logged WHERE project = ? AND key = ?";
    const [row] = await database.ask(sql, [asked.project, asked.key]);
    return row && toLogged(row);
  },

  async call(project: string, id: string): Promise<StoredCall | undefined> {
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
      readBody(database, request, place),
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
  },

  /** The requests of a project, newest first. */
  async *requests(project: string): AsyncGenerator<RequestOfProject, void> {
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
  },

  /** The models that were logged to, in some projects or in all (undefined). `created`: Unix seconds. */
  async models(projects: readonly string[] | undefined) {
    const sql = "SELECT id, project, owner, created FROM rollcall.logged_model ORDER BY created, project";
    const models = new Map<string, { readonly id: string; readonly owner: string; readonly created: number }>();
    for (const row of await database.ask(sql)) {
      const name = row.text("id");
      // If several projects logged to a model, its owner is the first of them.
      if (models.has(name) || projects?.includes(row.text("project")) === false) continue;
      const [owner = ""] = row.text("owner").split("/");
      models.set(name, { id: parseName(name), owner, created: row.integer("created") });
    }
    return [...models].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, model]) => model);
  },

  keys: keysIn(database),
});

/** Reads a part of a request's body from its pieces. */
const readBody = async (database: Database, request: Uint8Array, { start, end }: Span): Promise<Uint8Array> => {
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

export type StoredKeys = ReturnType<typeof keysIn>;

const keysIn = (database: Database) => ({
  /** All keys, including those that were revoked, by name. */
  list: async (): Promise<readonly StoredKey[]> =>
    (await database.ask("SELECT * FROM rollcall.access_key ORDER BY name")).map(toKey),
  /** Adds a key; false if a key of this name is valid. */
  add: async ({ name, digest, projects, uses, created }: StoredKey): Promise<boolean> => {
    // A try whose answer was lost finds its own digest.
    const sql = `INSERT INTO rollcall.access_key AS present (name, digest, projects, uses, created) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, projects = excluded.projects, uses = excluded.uses,
         created = excluded.created, revoked = NULL
       WHERE present.revoked IS NOT NULL OR present.digest = excluded.digest RETURNING name`;
    const values = [name, digest, JSON.stringify(projects), JSON.stringify(uses), created];
    return (await database.ask(sql, values)).length === 1;
  },
  /** Revokes a key; false if no key of this name is valid. */
  revoke: async (name: string, now: number): Promise<boolean> => {
    const sql =
      "UPDATE rollcall.access_key SET revoked = ? WHERE name = ? AND (revoked IS NULL OR revoked = ?) RETURNING name";
    return (await database.ask(sql, [now, name, now])).length === 1;
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
