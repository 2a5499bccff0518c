/** What a store that services share is asked for its copy: its requests, their bodies, and to take those of another. */
import type { Row, Value } from "../../database/index.ts";
import { nameOf, nameText } from "./packed-calls.ts";
import { keepAll } from "./shared-keeping.ts";
import { firstOfPlaces, placesIn } from "./shared-places.ts";
import type { StoreReach } from "./shared-tables.ts";
import type { StoreCopying, StoredFacts } from "./store.ts";

/** Rows, characters of what is long in them, and pieces that are read at a time; more only of a single one. A libSQL server gives no answer of more than 10 MB. */
const requestsAtOnce = 64;
const mostLengthAtOnce = 2 * 2 ** 20;
const piecesAtOnce = 4;
const placesAtOnce = 32;
const groupsAtOnce = 1000;

/** Copies out of a database, and into it. */
export const copyingIn = (reach: StoreReach): StoreCopying => {
  const { remote, tables } = reach;
  const { prefix } = tables;
  return {
    requests: () => requestsIn(reach),
    body: async (id) => {
      const pieces: Uint8Array[] = [];
      for (;;) {
        const rows = await remote.ask(
          `SELECT bytes FROM ${prefix}logged_body WHERE logged = ? AND piece >= ? AND piece < ${firstOfPlaces}
           ORDER BY piece LIMIT ${piecesAtOnce}`,
          [id, pieces.length],
        );
        for (const row of rows) pieces.push(row.bytes("bytes"));
        if (rows.length < piecesAtOnce) return Buffer.concat(pieces);
      }
    },
    models: async () => {
      const rows = await remote.ask(
        `SELECT id, project, owner, created FROM ${prefix}logged_model ORDER BY id, project`,
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
        reach,
        requests.map((request) => ({ request, id: request.id })),
      ),
    become: async (id, models) => {
      await remote.together([
        { sql: `UPDATE ${prefix}store SET id = ?`, values: [id] },
        ...models.map((model) => ({
          sql: `INSERT INTO ${prefix}logged_model (id, project, owner, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
          values: [nameText(model.id), model.project, model.owner, model.created],
        })),
      ]);
    },
  };
};

async function* requestsIn(reach: StoreReach): AsyncGenerator<StoredFacts, void> {
  const { remote, tables } = reach;
  const length = "length(metrics) + length(rest)";
  const sql = `
    WITH next AS (SELECT * FROM ${tables.prefix}logged WHERE id > ? ORDER BY id LIMIT ${requestsAtOnce}),
    sized AS (SELECT id AS next_id, sum(${length}) OVER (ORDER BY id) - (${length}) AS ahead FROM next)
    SELECT id, project, key, digest, model, split, metrics, rest, logged_at
    FROM next JOIN sized ON id = next_id WHERE ahead < ${mostLengthAtOnce} ORDER BY id`;
  let last: Uint8Array = new Uint8Array();
  for (;;) {
    const rows = await remote.ask(sql, [last]);
    const [first, end] = [rows[0]?.bytes("id"), rows.at(-1)?.bytes("id")];
    if (first === undefined || end === undefined) return;
    last = end;
    const places = await byRequest(placesBetween(reach, { first, end }));
    const groups = await byRequest(groupsBetween(reach, { first, end }));
    for (const row of rows) {
      const id = hex(row.bytes("id"));
      yield {
        ...factsOf(row),
        groupRests: new Map(groups.get(id)?.map((group) => [group.integer("position"), group.text("rest")])),
        places: (places.get(id) ?? []).flatMap((piece) => placesIn(piece.bytes("bytes"))),
      };
    }
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const factsOf = (row: Row): Omit<StoredFacts, "groupRests" | "places"> => ({
  id: row.bytes("id"),
  project: row.text("project"),
  once: row.isNull("key") ? undefined : { key: row.text("key"), digest: row.bytes("digest") },
  model: nameOf(row.text("model")),
  split: nameOf(row.text("split")),
  metrics: row.text("metrics"),
  rest: row.text("rest"),
  loggedAt: row.integer("logged_at"),
});

/** Rows by the request in their column `logged`. */
const byRequest = async (rows: AsyncIterable<Row>): Promise<ReadonlyMap<string, readonly Row[]>> => {
  const found = new Map<string, Row[]>();
  for await (const row of rows) {
    const id = hex(row.bytes("logged"));
    const others = found.get(id);
    if (others === undefined) found.set(id, [row]);
    else others.push(row);
  }
  return found;
};

/** The first and the last of some requests. */
interface Range {
  readonly first: Uint8Array;
  readonly end: Uint8Array;
}

const placesBetween = ({ remote, tables }: StoreReach, range: Range): AsyncGenerator<Row, void> =>
  numbered(range, "piece", async (after) => {
    const sql = `SELECT logged, piece, bytes FROM ${tables.prefix}logged_body
      WHERE (logged, piece) > (?, ?) AND logged <= ? AND piece >= ${firstOfPlaces} ORDER BY logged, piece LIMIT ${placesAtOnce}`;
    return await remote.ask(sql, after);
  });

const groupsBetween = ({ remote, tables }: StoreReach, range: Range): AsyncGenerator<Row, void> =>
  numbered(range, "position", async (after) => {
    const sql = `
      WITH next AS (
        SELECT logged, position, rest FROM ${tables.prefix}logged_group
        WHERE (logged, position) > (?, ?) AND logged <= ? ORDER BY logged, position LIMIT ${groupsAtOnce}),
      sized AS (SELECT *, sum(length(rest)) OVER (ORDER BY logged, position) - length(rest) AS ahead FROM next)
      SELECT logged, position, rest FROM sized WHERE ahead < ${mostLengthAtOnce} ORDER BY logged, position`;
    return await remote.ask(sql, after);
  });

/** Rows of requests by a number of theirs, a portion at a time, until there are no more. */
async function* numbered(
  { first, end }: Range,
  column: string,
  ask: (after: readonly Value[]) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void> {
  let after: readonly Value[] = [first, -1, end];
  for (let last: Row | undefined; ; after = [last.bytes("logged"), last.integer(column), end]) {
    const rows = await ask(after);
    yield* rows;
    last = rows.at(-1);
    if (last === undefined) return;
  }
}
