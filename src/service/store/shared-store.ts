/**
 * The store in a database that several services share. The identifiers of a request's calls are counted on from that of
 * its first, and end alike: that end finds the request of a call, whichever service logged it.
 */
import { bringUp, type RemoteOptions, versionOf } from "../../database/index.ts";
import type { Span } from "../../json/walk.ts";
import { keyOf } from "./file-keys.ts";
import { endOfId, idBytes, idList, idsFrom, idsPerMs, nameOf, orderOfId, parseId, pieceBytes } from "./packed-calls.ts";
import { copyingIn } from "./shared-copying.ts";
import { keepingIn, loggedOf } from "./shared-keeping.ts";
import { firstOfPlaces, placeBytes, placeOf } from "./shared-places.ts";
import type { StoreKind, StoreReach } from "./shared-tables.ts";
import type { Store } from "./store.ts";

/** Connections of a service: those that write, and those that read meanwhile. */
const connections = 8;

const partOf = ({ tables }: StoreKind, { path, title }: RemoteOptions) => ({
  path,
  title,
  part: "store",
  migrations: tables.migrations,
});

/** Opens the store at an address, and makes it where there is none. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openSharedStore = async (kind: StoreKind, options: RemoteOptions): Promise<Store> => {
  const remote = await kind.open({ ...options, connections });
  const reach = { remote, tables: kind.tables, path: options.path, title: options.title };
  try {
    await bringUp(remote, partOf(kind, options));
    return {
      id: await identityIn(reach),
      keep: keepingIn(reach),
      logged: loggedIn(reach),
      call: callIn(reach),
      callIds: callIdsIn(reach),
      models: modelsIn(reach),
      keys: keysIn(reach),
      copying: copyingIn(reach),
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

/** What tells the store at an address from others; undefined where there is none. @throws as `openSharedStore` */
export const sharedIdentity = async (kind: StoreKind, options: RemoteOptions): Promise<string | undefined> => {
  const remote = await kind.open(options);
  try {
    return (await versionOf(remote, partOf(kind, options))) === 0
      ? undefined
      : await identityIn({ remote, tables: kind.tables });
  } finally {
    await remote.close();
  }
};

const identityIn = async ({ remote, tables }: Pick<StoreReach, "remote" | "tables">): Promise<string> =>
  (await remote.ask(`SELECT id FROM ${tables.prefix}store`))[0]?.text("id") ?? "";

const loggedIn =
  ({ remote, tables }: StoreReach): Store["logged"] =>
  async ({ project, key }) => {
    const [row] = await remote.ask(
      `SELECT id, digest, metrics, calls FROM ${tables.prefix}logged WHERE project = ? AND key = ?`,
      [project, key],
    );
    return row && loggedOf(row);
  };

const callIn = (reach: StoreReach): Store["call"] => {
  const { remote, tables } = reach;
  const { prefix } = tables;
  // The end alone tells requests apart, so that nothing else is searched; there is no place that its count does not come to.
  const sql = `
    SELECT id, model, split, logged_at, rest, substring(bytes, ?, ${placeBytes}) AS place
    FROM ${prefix}logged JOIN ${prefix}logged_body ON logged = id AND piece = ? - first_ms + ${firstOfPlaces}
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
      remote.ask(`SELECT rest FROM ${prefix}logged_group WHERE logged = ? AND position = ?`, [request, place.group]),
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
const bodyOf = async ({ remote, tables }: StoreReach, id: Uint8Array, { start, end }: Span): Promise<Uint8Array> => {
  const first = Math.floor(start / pieceBytes);
  const sql = `SELECT substring(bytes, ?, ?) AS bytes FROM ${tables.prefix}logged_body WHERE logged = ? AND piece = ?`;
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
  ({ remote, tables }: StoreReach): Store["callIds"] =>
  async (project) => {
    const sql = `SELECT id, calls FROM ${tables.prefix}logged WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ${requestsAtOnce}`;
    const ids: string[] = [];
    for (let last: Uint8Array = new Uint8Array(idBytes + 1).fill(255); ; ) {
      const rows = await remote.ask(sql, [project, last]);
      for (const row of rows) ids.push(...idList(idsFrom(row.bytes("id"), row.integer("calls"))).reverse());
      last = rows.at(-1)?.bytes("id") ?? last;
      if (rows.length < requestsAtOnce) return ids;
    }
  };

const modelsIn =
  ({ remote, tables }: StoreReach): Store["models"] =>
  async (projects) => {
    const rows = await remote.ask(
      `SELECT id, project, owner, created FROM ${tables.prefix}logged_model ORDER BY created, project`,
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

const keysIn = ({ remote, tables }: StoreReach): Store["keys"] => {
  const keys = `${tables.prefix}access_key`;
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
