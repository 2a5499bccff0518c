/** The ledger in a PostgreSQL database: its tables, and the two statements that say whose a group is. */
import { randomUUID } from "node:crypto";
import { postgresDoor } from "../../database/index.ts";
import { isFailure } from "../../failure.ts";
import { markBytes } from "../read/parts/marks.ts";
import { type Beginning, free, isOver, leaseMs, type SharedTables } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { openShared, type SharedOptions } from "./shared-ledger.ts";

/** Opens the ledger at an address; undefined where there is none and none is to be made. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openPostgresLedger = async (options: SharedOptions): Promise<Ledger | undefined> => {
  const { openPostgres } = await postgresDoor();
  return await openShared({ remote: openPostgres(options), tables }, options);
};

/** What was changed by each version, in its order. */
const migrations = [
  [
    `CREATE TABLE rollcall.scope (
       id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL,
       model TEXT NOT NULL, split TEXT NOT NULL, batch TEXT NOT NULL, has_batch BIGINT NOT NULL,
       UNIQUE (destination, account, model, split, batch, has_batch))`,
    `CREATE TABLE rollcall.run (
       id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, lease_until TIMESTAMPTZ NOT NULL, has_ended BOOLEAN NOT NULL DEFAULT false)`,
    `CREATE INDEX run_open ON rollcall.run (lease_until) WHERE NOT has_ended`,
    `CREATE TABLE rollcall.request (
       id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope BIGINT NOT NULL REFERENCES rollcall.scope (id),
       run BIGINT NOT NULL REFERENCES rollcall.run (id), token TEXT NOT NULL UNIQUE, generation TEXT NOT NULL,
       state TEXT NOT NULL, input TEXT NOT NULL, groups BIGINT NOT NULL, bytes BIGINT NOT NULL, key TEXT NOT NULL,
       first_tried BIGINT NOT NULL, last_tried BIGINT NOT NULL, attempts BIGINT NOT NULL, status BIGINT, cause TEXT,
       calls TEXT NOT NULL, marks BYTEA NOT NULL, frame TEXT, changed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())`,
    `CREATE INDEX request_scope ON rollcall.request (scope, id)`,
    `CREATE INDEX request_changed ON rollcall.request (changed)`,
    `CREATE INDEX request_run ON rollcall.request (run) WHERE state IN ('trying', 'not_sent', 'refused')`,
    `CREATE TABLE rollcall.mark (
       scope BIGINT NOT NULL, generation TEXT NOT NULL, mark BYTEA NOT NULL, request BIGINT NOT NULL,
       PRIMARY KEY (scope, generation, mark))`,
    `CREATE INDEX mark_request ON rollcall.mark (request)`,
    `CREATE TABLE rollcall.address (
       destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes BIGINT, refused_bytes BIGINT, refused_at BIGINT,
       echoes_key BIGINT NOT NULL, PRIMARY KEY (destination, account))`,
    `CREATE TABLE rollcall.written (path TEXT PRIMARY KEY, digest TEXT NOT NULL)`,
  ],
];

const clock = { now: "clock_timestamp()" };
const nowMs = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const leaseEnd = `clock_timestamp() + interval '${leaseMs} milliseconds'`;

/** How often a request is begun again whose groups others had, but not any more when they were asked for. */
const mostBeginnings = 5;

/** What a statement ends with that found groups of a request to be others', so that nothing of it was done. */
const notWhole = "22012";

/** Writes a request down in one statement, and asks who has its groups only where that failed. */
const begin: SharedTables["begin"] = async (remote, { scope, run, entry }: Beginning) => {
  const { marks, key, input, bytes, frame, generation } = entry;
  const token = randomUUID();
  for (let tries = 0; ; tries++) {
    try {
      const values = [marks, run, scope, token, generation, input, bytes, key, frame, run, token];
      const [begun] = await remote.ask(beginSql, values);
      return begun?.integer("id");
    } catch (thrown) {
      if (!isFailure(thrown, "database-failed") || thrown.data.code !== notWhole || tries === mostBeginnings)
        throw thrown;
    }
    const rows = await remote.ask(takenSql, [marks, scope, generation, run]);
    if (rows.length > 0) return { taken: Buffer.concat(rows.map((row) => row.bytes("mark"))) };
  }
};

/** Finds a run whose lease can still hold, and renews it. */
const alive = `alive AS (UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver(clock)} RETURNING id)`;

/** The marks that stand side by side in `given`, a row each. */
const marksGiven = `LATERAL (
  SELECT substring(given.marks FROM at * ${markBytes} + 1 FOR ${markBytes}) AS mark
  FROM generate_series(0, length(given.marks) / ${markBytes} - 1) AS at) AS own`;

/** Requests of a run that have no claim to their groups: those of its own it may use again. */
const freed = (run: string): string => `SELECT id FROM rollcall.request WHERE run = ${run} AND state IN ${free}`;

/** What was asked before and is asked again, since the answer did not come, is known by its token. Marks are taken in one order, so that no two wait for each other. */
const beginSql = `
  WITH given AS (SELECT ?::bytea AS marks),
  ${alive},
  added AS (
    INSERT INTO rollcall.request
      (scope, run, token, generation, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
    SELECT ?::bigint, alive.id, ?::text, ?::text, 'trying', ?::text, length(given.marks) / ${markBytes}, ?::bigint, ?::text,
      ${nowMs}, ${nowMs}, 1, '[]', given.marks, ?::text
    FROM alive, given ON CONFLICT (token) DO NOTHING RETURNING id, scope, generation, groups),
  claimed AS (
    INSERT INTO rollcall.mark AS held (scope, generation, mark, request)
    SELECT added.scope, added.generation, own.mark, added.id FROM added, given, ${marksGiven} ORDER BY own.mark
    ON CONFLICT (scope, generation, mark) DO UPDATE SET request = excluded.request WHERE held.request IN (${freed("?::bigint")})
    RETURNING 1)
  SELECT id, 1 / (groups = (SELECT count(*) FROM claimed))::int AS whole FROM added
  UNION ALL SELECT id, 1 FROM rollcall.request WHERE token = ?`;

const takenSql = `
  WITH given AS (SELECT ?::bytea AS marks)
  SELECT held.mark FROM given, ${marksGiven} JOIN rollcall.mark AS held ON held.mark = own.mark
  WHERE held.scope = ? AND held.generation = ? AND held.request NOT IN (${freed("?")})`;

const againSql = `
  WITH ${alive}
  UPDATE rollcall.request SET state = 'trying', run = alive.id, last_tried = ${nowMs}, attempts = attempts + 1, changed = clock_timestamp()
  FROM alive WHERE request.id = ? AND (request.run = alive.id OR state = 'unknown') AND state NOT IN ('logged', 'assumed_logged', 'released')
  RETURNING request.id`;

const tables: SharedTables = {
  ...clock,
  prefix: "rollcall.",
  migrations,
  mostBytes: Number.POSITIVE_INFINITY,
  ownIds: "OVERRIDING SYSTEM VALUE",
  skipIds: `SELECT setval('rollcall.request_id_seq', greatest(
    (SELECT max(id) FROM rollcall.request), (SELECT last_value FROM rollcall.request_id_seq))) AS last`,
  leaseEnd,
  change: "clock_timestamp()",
  lastChange: "(extract(epoch FROM max(changed)) * 1000000)::bigint",
  begin,
  again: async (remote, { run, request }) => (await remote.ask(againSql, [run, request])).length === 1,
  claim: (requests, run) => [
    {
      sql: `
      INSERT INTO rollcall.mark (scope, generation, mark, request)
      SELECT given.scope, given.generation, own.mark, given.id FROM rollcall.request AS given, ${marksGiven}
      WHERE given.id IN (${requests.map(({ id }) => id).join(", ")}) ${run === undefined ? "" : `AND given.run = ${run}`}
      ORDER BY own.mark ON CONFLICT DO NOTHING`,
    },
  ],
};
