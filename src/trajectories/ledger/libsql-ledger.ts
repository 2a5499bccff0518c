/** The ledger on a libSQL server: its tables, and what says whose a group is. The server writes one transaction at a time. */
import { randomUUID } from "node:crypto";
import { libsqlDoor } from "../../database/index.ts";
import { markBytes } from "../read/parts/marks.ts";
import { free, isOver, leaseMs, type SharedTables } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { openShared, type SharedOptions } from "./shared-ledger.ts";

/** Opens the ledger at an address; undefined where there is none and none is to be made. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openLibsqlLedger = async (options: SharedOptions): Promise<Ledger | undefined> => {
  const { openLibsql } = await libsqlDoor();
  return await openShared({ remote: openLibsql(options), tables }, options);
};

/** What was changed by each version, in its order. */
const migrations = [
  [
    `CREATE TABLE rollcall_scope (
       id INTEGER PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL,
       split TEXT NOT NULL, batch TEXT NOT NULL, has_batch INTEGER NOT NULL,
       UNIQUE (destination, account, model, split, batch, has_batch))`,
    `CREATE TABLE rollcall_run (
       id INTEGER PRIMARY KEY AUTOINCREMENT, lease_until INTEGER NOT NULL, has_ended INTEGER NOT NULL DEFAULT 0)`,
    "CREATE INDEX rollcall_run_open ON rollcall_run (has_ended, lease_until)",
    `CREATE TABLE rollcall_request (
       id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, run INTEGER NOT NULL, token TEXT NOT NULL UNIQUE,
       generation TEXT NOT NULL, state TEXT NOT NULL, input TEXT NOT NULL, groups INTEGER NOT NULL, bytes INTEGER NOT NULL,
       key TEXT NOT NULL, first_tried INTEGER NOT NULL, last_tried INTEGER NOT NULL, attempts INTEGER NOT NULL,
       status INTEGER, cause TEXT, calls TEXT NOT NULL, marks BLOB NOT NULL, frame TEXT, changed INTEGER NOT NULL)`,
    "CREATE INDEX rollcall_request_scope ON rollcall_request (scope, id)",
    "CREATE INDEX rollcall_request_changed ON rollcall_request (changed)",
    "CREATE INDEX rollcall_request_state ON rollcall_request (state, run)",
    `CREATE TABLE rollcall_mark (
       scope INTEGER NOT NULL, generation TEXT NOT NULL, mark BLOB NOT NULL, request INTEGER NOT NULL,
       PRIMARY KEY (scope, generation, mark)) WITHOUT ROWID`,
    "CREATE INDEX rollcall_mark_request ON rollcall_mark (request)",
    `CREATE TABLE rollcall_address (
       destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes INTEGER, refused_bytes INTEGER, refused_at INTEGER,
       echoes_key INTEGER NOT NULL, PRIMARY KEY (destination, account))`,
    "CREATE TABLE rollcall_written (path TEXT PRIMARY KEY, digest TEXT NOT NULL)",
  ],
];

const clock = { now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)" };
const leaseEnd = `${clock.now} + ${leaseMs}`;

/** A number that grows with each change: two of them may fall on one moment of the clock. */
const change = "(SELECT coalesce(max(changed), 0) + 1 FROM rollcall_request)";

/** Marks of a list: the server takes no value of more than some megabytes. */
const mostMarks = 20_000;

/** Marks as a list that a statement takes apart: a part of a long blob would be read with all of it, for each mark. */
const listOf = <Item>(marks: Uint8Array, itemOf: (hex: string) => Item): readonly Item[] =>
  Array.from({ length: marks.length / markBytes }, (_, at) =>
    itemOf(Buffer.from(marks.subarray(at * markBytes, (at + 1) * markBytes)).toString("hex")),
  );

/** The marks of the list `?1`. */
const own = "WITH own (mark) AS MATERIALIZED (SELECT unhex(value) FROM json_each(?1))";

/** Whether the request of the token `?5` is not there yet. */
const isNew = "NOT EXISTS (SELECT 1 FROM rollcall_request WHERE token = ?5)";

/** Groups, given as `?1`, that others have in the scope `?2` and the generation `?3`, than the run `?4`; none where its request is there. */
const takenSql = `${own}
  SELECT held.mark AS mark FROM own JOIN rollcall_mark AS held ON held.scope = ?2 AND held.generation = ?3 AND held.mark = own.mark
  WHERE ${isNew} AND held.request NOT IN (SELECT id FROM rollcall_request WHERE run = ?4 AND state IN ${free})`;

/** Gives the request of the token `?5`, where the statement before has added it, the groups that nobody else has. */
const ownSql = `${own}
  INSERT INTO rollcall_mark (scope, generation, mark, request)
  SELECT ?2, ?3, own.mark, request.id FROM own JOIN rollcall_request AS request ON request.token = ?5
  WHERE changes() = 1 AND ?4 IS NOT NULL
  ON CONFLICT (scope, generation, mark) DO UPDATE SET request = excluded.request`;

/** Gives requests, in the list `?1` with a mark each, their groups, but for those that others have; only those of the run `?2`, where there is one. */
const claimSql = `
  WITH own (request, mark) AS (SELECT json_extract(value, '$[0]'), unhex(json_extract(value, '$[1]')) FROM json_each(?1))
  INSERT INTO rollcall_mark (scope, generation, mark, request)
  SELECT request.scope, request.generation, own.mark, request.id FROM own JOIN rollcall_request AS request ON request.id = own.request
  WHERE ?2 IS NULL OR request.run = ?2 ON CONFLICT (scope, generation, mark) DO NOTHING`;

const renewSql = `UPDATE rollcall_run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver(clock)} RETURNING id`;

/** Nobody writes between the statements: what the first of them found is so until the last. */
const beginSql = `
  INSERT INTO rollcall_request
    (marks, scope, generation, run, token, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, frame, changed)
  SELECT ?6, ?2, ?3, run.id, ?5, 'trying', ?7, length(?6) / ${markBytes}, ?8, ?9, ${clock.now}, ${clock.now}, 1, '[]', ?10, ${change}
  FROM rollcall_run AS run WHERE run.id = ?4 AND NOT ${isOver(clock)} AND ${isNew} AND NOT EXISTS (${takenSql})`;

/** What was asked before and is asked again, since the answer did not come, is known by its token: then little is left to do, however many groups it has. */
const begin: SharedTables["begin"] = async (remote, { scope, run, entry }) => {
  const { marks, key, input, bytes, frame, generation } = entry;
  const token = randomUUID();
  const about = [JSON.stringify(listOf(marks, (hex) => hex)), scope, generation, run, token];
  const [renewed, , , taken = [], begun] = await remote.together([
    { sql: renewSql, values: [run] },
    { sql: beginSql, values: [...about, marks, input, bytes, key, frame] },
    { sql: ownSql, values: about },
    { sql: takenSql, values: about },
    { sql: "SELECT id FROM rollcall_request WHERE token = ?", values: [token] },
  ]);
  if (renewed?.length !== 1) return undefined;
  return begun?.[0]?.integer("id") ?? { taken: Buffer.concat(taken.map((row) => row.bytes("mark"))) };
};

const again: SharedTables["again"] = async (remote, { run, request }) => {
  const [, tried] = await remote.together([
    { sql: renewSql, values: [run] },
    {
      sql: `UPDATE rollcall_request SET state = 'trying', run = ?1, last_tried = ${clock.now}, attempts = attempts + 1, changed = ${change}
        WHERE id = ?2 AND (run = ?1 OR state = 'unknown') AND state NOT IN ('logged', 'assumed_logged', 'released')
          AND EXISTS (SELECT 1 FROM rollcall_run WHERE id = ?1 AND NOT ${isOver(clock)}) RETURNING id`,
      values: [run, request],
    },
  ]);
  return tried?.length === 1;
};

const tables: SharedTables = {
  ...clock,
  prefix: "rollcall_",
  migrations,
  // The server takes no row of 5 MB. In several rows each question about requests would be two, for requests of a size that
  // nobody sends: 100,000 trajectories of 1 kB are 100 MB.
  mostBytes: 4 * 2 ** 20,
  ownIds: "",
  skipIds: undefined,
  leaseEnd,
  change,
  lastChange: "max(changed)",
  begin,
  again,
  claim: (requests, run) => {
    const all = requests.flatMap(({ id, marks }) => listOf(marks, (hex) => [id, hex]));
    return Array.from({ length: Math.ceil(all.length / mostMarks) }, (_, at) => ({
      sql: claimSql,
      values: [JSON.stringify(all.slice(at * mostMarks, (at + 1) * mostMarks)), run ?? null],
    }));
  },
};
