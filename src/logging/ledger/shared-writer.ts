/**
 * Writes the ledger in PostgreSQL, where a row of `mark` is a request's claim to a dedup key. The column `generation`
 * is the nonce of an entry.
 */
import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { version } from "../../../package.json" with { type: "json" };
import type { Database } from "../../database/database.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { ignoreErrors } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { leaseLost } from "./failures.ts";
import {
  type NewEntry,
  outcomeSql,
  type RecordedOutcome,
  toContentValues,
  toOutcomeValues,
  type Writer,
} from "./file-writer.ts";

/** A run without contact to the database loses its lease after this time. */
const leaseMs = 15_000;

const leaseEndSql = `clock_timestamp() + interval '${leaseMs} milliseconds'`;

const leaseExpiredSql = "(has_ended OR lease_until < clock_timestamp())";

const renewSql = `UPDATE rollcall.run SET lease_until = ${leaseEndSql}
  WHERE id = ? AND NOT ${leaseExpiredSql} RETURNING id`;

const beginSql = `INSERT INTO rollcall.run (lease_until, host, username, version, started)
  VALUES (${leaseEndSql}, ?, ?, ?, clock_timestamp()) RETURNING id`;

/** The end of a run deletes the claims of its requests in these states. */
const releasedStatesSql = "('not_sent', 'refused', 'released')";

const beginRun = async (database: Database, elapsed: Host["elapsed"]) => {
  let renewedAt = elapsed();
  const about = [hostname(), ignoreErrors(() => userInfo().username) ?? null, version];
  const [row] = await database.query(beginSql, about);
  const id = row?.integer("id") ?? 0;
  let isLost = false;
  const noteRenewal = (askedAt: number) => {
    renewedAt = Math.max(renewedAt, askedAt);
  };
  const renew = async () => {
    const askedAt = elapsed();
    const rows = await database.query(renewSql, [id]);
    if (rows.length === 0) isLost = true;
    else noteRenewal(askedAt);
  };
  const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / 3).unref();
  return {
    id,
    isHeld: () => !isLost && elapsed() - renewedAt < leaseMs,
    noteRenewal,
    // The claims remain, because the run may retry its unsent groups.
    release: () => undefined,
    async end() {
      clearInterval(timer);
      await database.query("UPDATE rollcall.run SET has_ended = true WHERE id = ?", [id]);
      await expireDeadRuns(database);
    },
  };
};

type Run = Awaited<ReturnType<typeof beginRun>>;

const expireDeadRuns = async (database: Database) => {
  await database.query(`UPDATE rollcall.run SET has_ended = true WHERE NOT has_ended AND ${leaseExpiredSql}`);
  const isOfEndedRun = "run IN (SELECT id FROM rollcall.run WHERE has_ended)";
  await database.query(
    `DELETE FROM rollcall.mark WHERE request IN
       (SELECT id FROM rollcall.request WHERE state IN ${releasedStatesSql} AND ${isOfEndedRun})`,
  );
  await database.query(
    `UPDATE rollcall.request SET state = 'unknown', cause = 'died', changed = clock_timestamp()
     WHERE state = 'trying' AND ${isOfEndedRun}`,
  );
};

export const createSharedWriter = (database: Database, { elapsed }: Pick<Host, "elapsed">): Writer => {
  let run: Run | undefined;
  const requireLease = () => {
    if (run?.isHeld() !== true) throw leaseLost(database.path);
    return run;
  };
  return {
    async acquireScope() {
      run ??= await beginRun(database, elapsed);
      return run;
    },
    recover: async () => await expireDeadRuns(database),
    recordRequest: async (scope, entry) =>
      await recordRequest({ database, elapsed, run: requireLease() }, scope, entry),
    recordRetry: async (request) => (await database.query(recordRetrySql, [requireLease().id, request])).length === 1,
    recordOutcome: async (request, outcome) => await recordOutcome(database, run?.id ?? 0, { id: request, outcome }),
    readClockMs: async () => (await database.query(`SELECT ${nowMsSql} AS now`))[0]?.integer("now"),
    readOtherLeaseMs: async () => (await database.query(otherLeaseMsSql, [run?.id ?? 0]))[0]?.integer("rest"),
    readRevision: async () => (await database.query(lastChangeSql))[0]?.integer("at") ?? 0,
    async recordResolution(request, state) {
      const statements = [
        { sql: resolveSql, values: [state, request] },
        { sql: releaseClaimsSql, values: [request] },
      ];
      const [resolved] = await database.transact(statements);
      return resolved?.length === 1;
    },
    end: async () => await run?.end(),
  };
};

const recordRequest = async (
  { database, elapsed, run }: { database: Database; elapsed: Host["elapsed"]; run: Run },
  scope: number,
  newEntry: NewEntry,
) => {
  const { dedupKeys, nonce } = newEntry;
  const askedAt = elapsed();
  const token = randomUUID();
  const values = [dedupKeys, run.id, scope, token, nonce, ...toContentValues(newEntry), run.id, token];
  for (let attempt = 0; attempt < maxRecordAttempts; attempt++) {
    const [[recorded] = []] = await database.transact(
      [{ sql: recordRequestSql, values }],
      ([rows]) => rows?.[0]?.integer("missing") === 0,
    );
    if (!recorded) break;
    if (recorded.integer("missing") === 0) {
      run.noteRenewal(askedAt);
      return recorded.integer("id");
    }
    const rows = await database.query(takenSql, [dedupKeys, scope, nonce, run.id]);
    // Otherwise, the run would wait for requests that somebody deleted.
    for (const row of rows) row.requireIntact(!row.isNull("owner"));
    if (rows.length > 0) return { claimed: Buffer.concat(rows.map((row) => row.bytes("mark"))) };
  }
  throw leaseLost(database.path);
};

const recordOutcome = async (
  database: Database,
  run: number,
  { id, outcome }: { id: number; outcome: RecordedOutcome },
) => {
  const { state } = outcome;
  const update = async (condition: string) => {
    const sql = `UPDATE rollcall.request SET ${outcomeSql}, changed = clock_timestamp()
      WHERE id = ? AND ${condition} RETURNING id`;
    return (await database.query(sql, [...toOutcomeValues(outcome), id])).length > 0;
  };
  const isOwn = `run = ${run}`;
  if (await update(`${isOwn} AND state = 'trying'`)) return;
  // The lease expired. An outcome such as `refused` must not replace the outcome of another run.
  if (state !== "logged" && state !== "unknown") return void (await update(`${isOwn} AND state = 'unknown'`));
  const isOpen = `(${isOwn} OR state <> 'trying') AND state NOT IN ('logged', 'assumed_logged')`;
  // Another run may have deleted the claims, so the request claims its groups again.
  if (await update(state === "logged" ? "state <> 'logged'" : isOpen)) await database.query(claimSql, [id]);
};

const otherLeaseMsSql = `
  SELECT coalesce((extract(epoch FROM max(lease_until) - clock_timestamp()) * 1000)::bigint, 0) AS rest
  FROM rollcall.run WHERE id <> ? AND NOT ${leaseExpiredSql}`;

const lastChangeSql =
  "SELECT coalesce((extract(epoch FROM max(changed)) * 1000000)::bigint, 0) AS at FROM rollcall.request";

const nowMsSql = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** A retry helps if another run deletes claims between the two statements. */
const maxRecordAttempts = 5;

const eachKeySql = `LATERAL (
  SELECT substring(given.marks FROM at * ${dedupKeyBytes} + 1 FOR ${dedupKeyBytes}) AS mark
  FROM generate_series(0, length(given.marks) / ${dedupKeyBytes} - 1) AS at) AS own`;

const releasedRequestsSql = (run: string) =>
  `SELECT id FROM rollcall.request WHERE run = ${run} AND state IN ${releasedStatesSql}`;

/**
 * `missing` counts groups that other requests claim. If `missing` is not 0, the caller must roll back. The token makes
 * the statement repeatable. The lock makes the order of ids the order of commits. The order of keys avoids deadlocks.
 */
const recordRequestSql = `
  WITH given AS (SELECT ?::bytea AS marks),
  alive AS (${renewSql}),
  locked AS (
    SELECT scope.id, alive.id AS run FROM rollcall.scope, alive WHERE scope.id = ?::bigint FOR UPDATE OF scope),
  added AS (
    INSERT INTO rollcall.request
      (run, state, attempts, calls, groups, marks, last_tried, scope, token, generation,
        input, bytes, key, frame, sampled, checksum, first_tried)
    SELECT locked.run, 'trying', 1, '0', length(given.marks) / ${dedupKeyBytes}, given.marks, ${nowMsSql},
      locked.id, ?::text, ?::text,
      ?::text, ?::bigint, ?::text, ?::text, ?::bytea, ?::bigint, ?::bigint
    FROM locked, given ON CONFLICT (token) DO NOTHING RETURNING id, scope, generation, groups),
  claimed AS (
    INSERT INTO rollcall.mark AS held (scope, generation, mark, request)
    SELECT added.scope, added.generation, own.mark, added.id FROM added, given, ${eachKeySql} ORDER BY own.mark
    ON CONFLICT (scope, generation, mark) DO UPDATE SET request = excluded.request
      WHERE held.request IN (${releasedRequestsSql("?::bigint")})
    RETURNING 1)
  SELECT id, groups - (SELECT count(*) FROM claimed) AS missing FROM added
  UNION ALL SELECT id, 0 FROM rollcall.request WHERE token = ?`;

const takenSql = `
  WITH given AS (SELECT ?::bytea AS marks)
  SELECT held.mark, request.id AS owner FROM given, ${eachKeySql} JOIN rollcall.mark AS held ON held.mark = own.mark
    LEFT JOIN rollcall.request AS request ON request.id = held.request
  WHERE held.scope = ? AND held.generation = ? AND held.request NOT IN (${releasedRequestsSql("?")})`;

const recordRetrySql = `
  WITH alive AS (${renewSql})
  UPDATE rollcall.request
  SET state = 'trying', run = alive.id, last_tried = ${nowMsSql}, attempts = attempts + 1, changed = clock_timestamp()
  FROM alive WHERE request.id = ? AND (request.run = alive.id OR state = 'unknown')
    AND state NOT IN ('logged', 'assumed_logged', 'released')
  RETURNING request.id`;

const resolveSql = `UPDATE rollcall.request SET state = ?, changed = clock_timestamp()
  WHERE id = ? AND state = 'unknown' RETURNING id`;

const releaseClaimsSql = `DELETE FROM rollcall.mark WHERE request = ? AND NOT EXISTS
  (SELECT 1 FROM rollcall.request WHERE id = mark.request AND state <> 'released')`;

const claimSql = `
  INSERT INTO rollcall.mark (scope, generation, mark, request)
  SELECT given.scope, given.generation, own.mark, given.id FROM rollcall.request AS given, ${eachKeySql}
  WHERE given.id = ? ORDER BY own.mark ON CONFLICT DO NOTHING`;
