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

/** The marks that stand side by side in `marks` of each row of `given`, a row each: `own.mark`. */
const own = (given: string): string => `
  WITH RECURSIVE given AS (${given}),
  numbers (at) AS (
    SELECT 0 UNION ALL SELECT at + 1 FROM numbers WHERE at + 1 < (SELECT max(length(marks)) FROM given) / ${markBytes}),
  own AS (
    SELECT given.*, substr(given.marks, numbers.at * ${markBytes} + 1, ${markBytes}) AS mark
    FROM given JOIN numbers ON (numbers.at + 1) * ${markBytes} <= length(given.marks))`;

/** Gives requests that a condition holds for their groups; what becomes of those that others have. */
const claimed = (condition: string, conflict: string): string => `
  ${own(`SELECT given.* FROM rollcall_request AS given WHERE ${condition}`)}
  INSERT INTO rollcall_mark (scope, generation, mark, request) SELECT scope, generation, mark, id FROM own WHERE true
  ON CONFLICT (scope, generation, mark) ${conflict}`;

/** Groups, given as `?1`, that others have in the scope `?2` and the generation `?3`, than the run `?4` with the request of the token `?5`. */
const takenSql = `${own("SELECT ?1 AS marks")}
  SELECT held.mark AS mark FROM own JOIN rollcall_mark AS held ON held.scope = ?2 AND held.generation = ?3 AND held.mark = own.mark
  WHERE held.request NOT IN (SELECT id FROM rollcall_request WHERE (run = ?4 AND state IN ${free}) OR token = ?5)`;

const renewSql = `UPDATE rollcall_run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver(clock)} RETURNING id`;

/** Nobody writes between the statements: what the first of them found is so until the last. */
const beginSql = `
  INSERT INTO rollcall_request
    (marks, scope, generation, run, token, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, frame, changed)
  SELECT ?1, ?2, ?3, run.id, ?5, 'trying', ?6, length(?1) / ${markBytes}, ?7, ?8, ${clock.now}, ${clock.now}, 1, '[]', ?9, ${change}
  FROM rollcall_run AS run WHERE run.id = ?4 AND NOT ${isOver(clock)} AND NOT EXISTS (${takenSql})
  ON CONFLICT (token) DO NOTHING`;

/** What was asked before and is asked again, since the answer did not come, is known by its token. */
const begin: SharedTables["begin"] = async (remote, { scope, run, entry }) => {
  const { marks, key, input, bytes, frame, generation } = entry;
  const token = randomUUID();
  const about = [marks, scope, generation, run, token];
  const [renewed, , , taken = [], begun] = await remote.together([
    { sql: renewSql, values: [run] },
    { sql: beginSql, values: [...about, input, bytes, key, frame] },
    { sql: claimed("given.token = ?", "DO UPDATE SET request = excluded.request"), values: [token] },
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
        WHERE id = ?2 AND (run = ?1 OR state = 'unknown') AND state NOT IN ('assumed_logged', 'released')
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
  ownIds: "",
  skipIds: undefined,
  leaseEnd,
  change,
  lastChange: "max(changed)",
  begin,
  again,
  claim: (condition) => claimed(condition, "DO NOTHING"),
};
