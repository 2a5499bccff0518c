/** What the store in a PostgreSQL database is asked for its copy: its requests, their bodies, and to take those of another. */
import type { Remote, Row, TitledFile } from "../../database/index.ts";
import { nameOf, nameText } from "./packed-calls.ts";
import { keepAll, placeBytes, placeOf } from "./postgres-keeping.ts";
import type { StoreCopying, StoredFacts } from "./store.ts";

/** Requests, bytes of what is said of them, and pieces of a body that are read at a time; more bytes only of a single request. */
const mostAtOnce = 64;
const mostBytesAtOnce = 4 * 2 ** 20;
const piecesAtOnce = 8;

/** Copies out of a database, and into it. */
export const copyingIn = (remote: Remote, { path, title }: TitledFile): StoreCopying => ({
  requests: () => requestsIn(remote),
  body: bodyIn(remote),
  models: async () => {
    const rows = await remote.ask(
      'SELECT id, project, owner, created FROM rollcall.logged_model ORDER BY id COLLATE "C", project COLLATE "C"',
    );
    return rows.map((row) => ({
      id: nameOf(row.text("id")),
      project: row.text("project"),
      owner: row.text("owner"),
      created: row.integer("created"),
    }));
  },
  take: async (requests) =>
    await keepAll(
      remote,
      { path, title },
      requests.map((request) => ({ request, id: request.id })),
    ),
  become: async (id, models) => {
    await remote.together([
      { sql: "UPDATE rollcall.store SET id = ?", values: [id] },
      ...models.map((model) => ({
        sql: "INSERT INTO rollcall.logged_model (id, project, owner, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        values: [nameText(model.id), model.project, model.owner, model.created],
      })),
    ]);
  },
});

const nextSql = `
  SELECT id, project, key, digest, model, split, metrics, rest, logged_at, places,
    (SELECT json_object_agg(position, logged_group.rest)::text FROM rollcall.logged_group WHERE logged = counted.id) AS groups
  FROM (
    SELECT *, row_number() OVER (ORDER BY id) AS number,
      sum(octet_length(metrics) + octet_length(rest) + octet_length(places)) OVER (ORDER BY id) AS total
    FROM (SELECT * FROM rollcall.logged WHERE id > ? ORDER BY id LIMIT ${mostAtOnce}) AS next
  ) AS counted
  WHERE number = 1 OR total <= ${mostBytesAtOnce} ORDER BY id`;

async function* requestsIn(remote: Remote): AsyncGenerator<StoredFacts, void> {
  let last: Uint8Array = new Uint8Array();
  for (;;) {
    const rows = await remote.ask(nextSql, [last]);
    if (rows.length === 0) return;
    for (const row of rows) {
      last = row.bytes("id");
      yield factsOf(row);
    }
  }
}

const factsOf = (row: Row): StoredFacts => ({
  id: row.bytes("id"),
  project: row.text("project"),
  once: row.isNull("key") ? undefined : { key: row.text("key"), digest: row.bytes("digest") },
  model: nameOf(row.text("model")),
  split: nameOf(row.text("split")),
  metrics: row.text("metrics"),
  rest: row.text("rest"),
  loggedAt: row.integer("logged_at"),
  groupRests: row.isNull("groups") ? new Map() : restsIn(row.text("groups")),
  places: placesIn(row.bytes("places")),
});

const restsIn = (json: string): ReadonlyMap<number, string> => {
  const rests: unknown = JSON.parse(json);
  const pairs = Object.entries(rests ?? {}).map(([position, rest]) => [Number(position), String(rest)] as const);
  return new Map(pairs.toSorted(([one], [other]) => one - other));
};

const placesIn = (packed: Uint8Array): StoredFacts["places"] =>
  Array.from({ length: packed.length / placeBytes }, (_, index) =>
    placeOf(packed.subarray(index * placeBytes, (index + 1) * placeBytes)),
  ).flatMap((place) => (place === undefined ? [] : [{ group: place.group, start: place.start, end: place.end }]));

const bodyIn =
  (remote: Remote): StoreCopying["body"] =>
  async (id) => {
    const pieces: Uint8Array[] = [];
    for (;;) {
      const rows = await remote.ask(
        `SELECT bytes FROM rollcall.logged_body WHERE logged = ? AND piece >= ? ORDER BY piece LIMIT ${piecesAtOnce}`,
        [id, pieces.length],
      );
      for (const row of rows) pieces.push(row.bytes("bytes"));
      if (rows.length < piecesAtOnce) return Buffer.concat(pieces);
    }
  };
