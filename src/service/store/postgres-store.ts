/**
 * The store in a PostgreSQL database, which several services share. The identifiers of a request's calls are counted on
 * from that of its first, and end alike: that end finds the request of a call, whichever service logged it.
 */
import { bringUp, postgresDoor, type Remote, type RemoteOptions } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import { keyOf } from "./file-keys.ts";
import { endOfId, idList, idsFrom, idsPerMs, nameOf, orderOfId, parseId, pieceBytes } from "./packed-calls.ts";
import { copyingIn } from "./postgres-copying.ts";
import { keepingIn, loggedOf, placeBytes, placeOf } from "./postgres-keeping.ts";
import type { Store } from "./store.ts";

/** What was changed by each version, in its order. */
const migrations = [
  [
    "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
    "INSERT INTO rollcall.store (id) VALUES (replace(gen_random_uuid()::text, '-', ''))",
    `CREATE TABLE rollcall.logged (
       id BYTEA PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BYTEA, model TEXT NOT NULL,
       split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
       places BYTEA NOT NULL, UNIQUE (project, key))`,
    "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id FROM 9))",
    "CREATE INDEX logged_project ON rollcall.logged (project, id)",
    "CREATE TABLE rollcall.logged_group (logged BYTEA, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))",
    "CREATE TABLE rollcall.logged_body (logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))",
    // As they are, a part of them is read without the rest.
    "ALTER TABLE rollcall.logged ALTER COLUMN places SET STORAGE EXTERNAL",
    "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
    "CREATE TABLE rollcall.logged_model (id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)",
    // A name may be longer than what an index takes.
    "CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (md5(id), project)",
  ],
  [
    `CREATE TABLE rollcall.access_key (
       name TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
       created BIGINT NOT NULL, revoked BIGINT)`,
  ],
];

/** Connections of a service: those that write, and those that read meanwhile. */
const connections = 8;

/** Opens the store at an address, and makes it where there is none. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openPostgresStore = async (options: RemoteOptions): Promise<Store> => {
  const { openPostgres } = await postgresDoor();
  const remote = openPostgres({ ...options, connections });
  try {
    await bringUp(remote, { ...options, part: "store", migrations });
    const [identity] = await remote.ask("SELECT id FROM rollcall.store");
    return {
      id: identity?.text("id") ?? "",
      keep: keepingIn(remote, options),
      logged: loggedIn(remote),
      call: callIn(remote),
      callIds: callIdsIn(remote),
      models: modelsIn(remote),
      keys: keysIn(remote),
      copying: copyingIn(remote, options),
      check: async () => void (await remote.ask("SELECT 1")),
      close: async () => {
        remote.hasten();
        await remote.close();
      },
    };
  } catch (thrown) {
    await remote.close();
    throw thrown;
  }
};

/** What tells the store at an address from others; undefined where there is none. @throws as `openPostgresStore` */
export const postgresIdentity = async (options: RemoteOptions): Promise<string | undefined> => {
  const remote = (await postgresDoor()).openPostgres({ ...options, connections: 1 });
  try {
    const [there] = await remote.ask("SELECT (to_regclass('rollcall.store') IS NOT NULL)::int::bigint AS there");
    if (there?.integer("there") !== 1) return undefined;
    return (await remote.ask("SELECT id FROM rollcall.store"))[0]?.text("id");
  } finally {
    await remote.close();
  }
};

const loggedIn =
  (remote: Remote): Store["logged"] =>
  async ({ project, key }) => {
    const [row] = await remote.ask(
      "SELECT id, digest, metrics, calls FROM rollcall.logged WHERE project = ? AND key = ?",
      [project, key],
    );
    return row && loggedOf(row);
  };

/**
 * The request of a call, and the call's place, where the count comes to its identifier. The end alone tells requests
 * apart, so that nothing else is searched.
 */
const callSql = `
  SELECT id, model, split, logged_at, rest,
    substring(places FROM (((? - first_ms) * ${idsPerMs} + ?) * ${placeBytes} + 1)::int FOR ${placeBytes}) AS place
  FROM rollcall.logged
  WHERE substring(id FROM 9) = ? AND project = ? AND ? BETWEEN first_ms AND first_ms + calls / ${idsPerMs}`;

const callIn =
  (remote: Remote): Store["call"] =>
  async (project, id) => {
    const own = parseId(id);
    if (own === undefined) return undefined;
    const { ms, count } = orderOfId(own);
    const [about] = await remote.ask(callSql, [ms, count, own.subarray(endOfId), project, ms]);
    const place = about === undefined ? undefined : placeOf(about.bytes("place"));
    if (about === undefined || place === undefined) return undefined;
    const [bytes, [group]] = await Promise.all([
      bodyOf(remote, about.bytes("id"), place),
      remote.ask("SELECT rest FROM rollcall.logged_group WHERE logged = ? AND position = ?", [
        about.bytes("id"),
        place.group,
      ]),
    ]);
    return {
      id,
      group: place.group,
      position: place.position,
      bytes,
      model: nameOf(about.text("model")),
      split: nameOf(about.text("split")),
      loggedAt: about.integer("logged_at"),
      requestRest: about.text("rest"),
      groupRest: group?.text("rest") ?? "{}",
    };
  };

/** A part of a request's body, out of the pieces that it is in. */
const bodyOf = async (remote: Remote, id: Uint8Array, { start, end }: Span): Promise<Uint8Array> => {
  const first = Math.floor(start / pieceBytes);
  const rows = await remote.ask(
    `SELECT substring(bytes FROM (greatest(? - piece * ${pieceBytes}, 0) + 1)::int
       FOR (least(? - piece * ${pieceBytes}, ${pieceBytes}) - greatest(? - piece * ${pieceBytes}, 0))::int) AS bytes
     FROM rollcall.logged_body WHERE logged = ? AND piece BETWEEN ? AND ? ORDER BY piece`,
    [start, end, start, id, first, Math.floor(Math.max(start, end - 1) / pieceBytes)],
  );
  return Buffer.concat(rows.map((row) => row.bytes("bytes")));
};

const callIdsIn =
  (remote: Remote): Store["callIds"] =>
  async (project) => {
    const rows = await remote.ask("SELECT id, calls FROM rollcall.logged WHERE project = ? ORDER BY id DESC", [
      project,
    ]);
    return rows.flatMap((row) => idList(idsFrom(row.bytes("id"), row.integer("calls"))).reverse());
  };

const modelsIn =
  (remote: Remote): Store["models"] =>
  async (projects) => {
    const chosen = projects === undefined ? null : JSON.stringify(projects);
    // Of a model that several projects logged to, the first one's row.
    const rows = await remote.ask(
      `SELECT DISTINCT ON (id COLLATE "C") id, owner, created FROM rollcall.logged_model
       WHERE ?::json IS NULL OR project IN (SELECT json_array_elements_text(?::json))
       ORDER BY id COLLATE "C", created`,
      [chosen, chosen],
    );
    return rows.map((row) => ({
      id: nameOf(row.text("id")),
      owner: row.text("owner"),
      created: row.integer("created"),
    }));
  };

const keysIn = (remote: Remote): Store["keys"] => ({
  list: async () => (await remote.ask("SELECT * FROM rollcall.access_key ORDER BY name")).map(keyOf),
  add: async ({ name, digest, projects, uses, created }) => {
    // A try whose answer got lost finds its own digest there.
    const rows = await remote.ask(
      `INSERT INTO rollcall.access_key AS present (name, digest, projects, uses, created) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, projects = excluded.projects, uses = excluded.uses,
         created = excluded.created, revoked = NULL
       WHERE present.revoked IS NOT NULL OR present.digest = excluded.digest RETURNING name`,
      [name, digest, JSON.stringify(projects), JSON.stringify(uses), created],
    );
    return rows.length === 1;
  },
  revoke: async (name, now) => {
    const rows = await remote.ask(
      "UPDATE rollcall.access_key SET revoked = ? WHERE name = ? AND (revoked IS NULL OR revoked = ?) RETURNING name",
      [now, name, now],
    );
    return rows.length === 1;
  },
});
