/**
 * The store in a PostgreSQL database that several services share. The identifiers of a request's calls are counted on from
 * that of its first, and end alike: that end finds the request of a call, whichever service logged it.
 */
import { hasTables, makeTables, postgresDoor, type RemoteOptions } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import { keyOf } from "./file-keys.ts";
import { endOfId, idBytes, idList, idsFrom, idsPerMs, nameOf, orderOfId, parseId, pieceBytes } from "./packed-calls.ts";
import { keepingIn, loggedOf, type StoreReach } from "./postgres-keeping.ts";
import { firstOfPlaces, placeBytes, placeOf } from "./postgres-places.ts";
import type { Store } from "./store.ts";

/** Connections of a service: those that write, and those that read meanwhile. */
const connections = 8;

/** The version of its tables: each change of them raises it. */
const version = 1;

const tables = [
  "CREATE TABLE rollcall.store (id TEXT NOT NULL)",
  "INSERT INTO rollcall.store (id) VALUES (replace(gen_random_uuid()::text, '-', ''))",
  `CREATE TABLE rollcall.logged (
     id BYTEA PRIMARY KEY, first_ms BIGINT NOT NULL, project TEXT NOT NULL, key TEXT, digest BYTEA, model TEXT NOT NULL,
     split TEXT NOT NULL, metrics TEXT NOT NULL, rest TEXT NOT NULL, logged_at BIGINT NOT NULL, calls BIGINT NOT NULL,
     UNIQUE (project, key))`,
  "CREATE UNIQUE INDEX logged_end ON rollcall.logged (substring(id FROM 9))",
  "CREATE INDEX logged_project ON rollcall.logged (project, id)",
  "CREATE TABLE rollcall.logged_group (logged BYTEA, position BIGINT, rest TEXT NOT NULL, PRIMARY KEY (logged, position))",
  // Pieces of its body, and behind them where its calls stand in it.
  "CREATE TABLE rollcall.logged_body (logged BYTEA, piece BIGINT, bytes BYTEA NOT NULL, PRIMARY KEY (logged, piece))",
  // As it is, a part of it is read without the rest.
  "ALTER TABLE rollcall.logged_body ALTER COLUMN bytes SET STORAGE EXTERNAL",
  "CREATE TABLE rollcall.logged_model (id TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)",
  // A name may be longer than what an index takes.
  "CREATE UNIQUE INDEX logged_model_once ON rollcall.logged_model (md5(id), project)",
  `CREATE TABLE rollcall.access_key (
     name TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, projects TEXT NOT NULL, uses TEXT NOT NULL,
     created BIGINT NOT NULL, revoked BIGINT)`,
];

const partOf = ({ path, title }: RemoteOptions) => ({ path, title, part: "store", version, tables }) as const;

/** Opens the store at an address, and makes it where there is none. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openPostgresStore = async (options: RemoteOptions): Promise<Store> => {
  const { openPostgres } = await postgresDoor();
  const remote = openPostgres({ ...options, connections });
  const reach = { remote, path: options.path, title: options.title };
  try {
    await makeTables(remote, partOf(options));
    return {
      id: await identityIn(reach),
      keep: keepingIn(reach),
      logged: loggedIn(reach),
      call: callIn(reach),
      callIds: callIdsIn(reach),
      models: modelsIn(reach),
      keys: keysIn(reach),
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
export const postgresStoreIdentity = async (options: RemoteOptions): Promise<string | undefined> => {
  const { openPostgres } = await postgresDoor();
  const remote = openPostgres(options);
  try {
    return (await hasTables(remote, partOf(options))) ? await identityIn({ remote }) : undefined;
  } finally {
    await remote.close();
  }
};

const identityIn = async ({ remote }: Pick<StoreReach, "remote">): Promise<string> =>
  (await remote.ask("SELECT id FROM rollcall.store"))[0]?.text("id") ?? "";

const loggedIn =
  ({ remote }: StoreReach): Store["logged"] =>
  async ({ project, key }) => {
    const [row] = await remote.ask(
      "SELECT id, digest, metrics, calls FROM rollcall.logged WHERE project = ? AND key = ?",
      [project, key],
    );
    return row && loggedOf(row);
  };

const callIn = (reach: StoreReach): Store["call"] => {
  const { remote } = reach;
  // The end alone tells requests apart, so that nothing else is searched; there is no place that its count does not come to.
  const sql = `
    SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${placeBytes}) AS place
    FROM rollcall.logged JOIN rollcall.logged_body ON logged = id AND piece = ? - first_ms + ${firstOfPlaces}
    WHERE substring(id, ${endOfId + 1}) = ? AND project = ? AND ? BETWEEN first_ms AND first_ms + calls / ${idsPerMs}`;
  return async (project, id) => {
    const own = parseId(id);
    if (own === undefined) return undefined;
    const { ms, count } = orderOfId(own);
    const [about] = await remote.ask(sql, [count * placeBytes + 1, ms, own.subarray(endOfId), project, ms]);
    const place = about === undefined ? undefined : placeOf(about.bytes("place"));
    if (about === undefined || place === undefined) return undefined;
    const request = about.bytes("id");
    const [bytes, [group]] = await Promise.all([
      bodyOf(reach, request, place),
      remote.ask("SELECT rest FROM rollcall.logged_group WHERE logged = ? AND position = ?", [request, place.group]),
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
};

/** A part of a request's body, out of the pieces that it is in. */
const bodyOf = async ({ remote }: StoreReach, id: Uint8Array, { start, end }: Span): Promise<Uint8Array> => {
  const first = Math.floor(start / pieceBytes);
  const sql = "SELECT substring(bytes, ?, ?) AS bytes FROM rollcall.logged_body WHERE logged = ? AND piece = ?";
  const parts = Array.from({ length: Math.ceil(end / pieceBytes) - first }, async (_, at) => {
    const piece = first + at;
    const from = Math.max(0, start - piece * pieceBytes);
    const length = Math.min(end - piece * pieceBytes, pieceBytes) - from;
    return (await remote.ask(sql, [from + 1, length, id, piece]))[0]?.bytes("bytes") ?? new Uint8Array();
  });
  return Buffer.concat(await Promise.all(parts));
};

/** Requests whose identifiers are asked for at a time. */
const requestsAtOnce = 10_000;

const callIdsIn =
  ({ remote }: StoreReach): Store["callIds"] =>
  async (project) => {
    const sql = `SELECT id, calls FROM rollcall.logged WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ${requestsAtOnce}`;
    const ids: string[] = [];
    for (let last: Uint8Array = new Uint8Array(idBytes + 1).fill(255); ; ) {
      const rows = await remote.ask(sql, [project, last]);
      for (const row of rows) ids.push(...idList(idsFrom(row.bytes("id"), row.integer("calls"))).reverse());
      last = rows.at(-1)?.bytes("id") ?? last;
      if (rows.length < requestsAtOnce) return ids;
    }
  };

const modelsIn =
  ({ remote }: StoreReach): Store["models"] =>
  async (projects) => {
    const rows = await remote.ask(
      "SELECT id, project, owner, created FROM rollcall.logged_model ORDER BY created, project",
    );
    const models = new Map<string, Awaited<ReturnType<Store["models"]>>[number]>();
    for (const row of rows) {
      const name = row.text("id");
      // Of a model that several projects logged to, the first one's row.
      if (models.has(name) || projects?.includes(row.text("project")) === false) continue;
      models.set(name, { id: nameOf(name), owner: row.text("owner"), created: row.integer("created") });
    }
    return [...models].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, model]) => model);
  };

const keysIn = ({ remote }: StoreReach): Store["keys"] => {
  const keys = "rollcall.access_key";
  return {
    list: async () => (await remote.ask(`SELECT * FROM ${keys} ORDER BY name`)).map(keyOf),
    add: async ({ name, digest, projects, uses, created }) => {
      // A try whose answer got lost finds its own digest there.
      const rows = await remote.ask(
        `INSERT INTO ${keys} AS present (name, digest, projects, uses, created) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, projects = excluded.projects, uses = excluded.uses,
           created = excluded.created, revoked = NULL
         WHERE present.revoked IS NOT NULL OR present.digest = excluded.digest RETURNING name`,
        [name, digest, JSON.stringify(projects), JSON.stringify(uses), created],
      );
      return rows.length === 1;
    },
    revoke: async (name, now) => {
      const rows = await remote.ask(
        `UPDATE ${keys} SET revoked = ? WHERE name = ? AND (revoked IS NULL OR revoked = ?) RETURNING name`,
        [now, name, now],
      );
      return rows.length === 1;
    },
  };
};
