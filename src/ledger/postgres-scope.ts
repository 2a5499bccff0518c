/** What a ledger in PostgreSQL knows of a scope, where requests of it are written down, and the statements that say whose a group is. */
import { randomUUID } from "node:crypto";
import type { DatabaseServer } from "../database/index.ts";
import { Failure, isFailure } from "../failure.ts";
import { dedupKeyBytes } from "../groups/index.ts";
import { type Entry, entryColumns, entryOf, idOf, type LedgerScope, rowIdOf } from "./entries.ts";
import { free, isOver, leaseEnd, type Run, takeOver } from "./lease.ts";
import {
  addressColumns,
  addressIn,
  type NewEntry,
  ofAddress,
  type ScopeLedger,
  type Settlement,
  scopeColumns,
  valuesOf,
} from "./scope.ts";

/** What a scope is reached through. */
interface Reach {
  readonly remote: DatabaseServer;
  readonly path: string;
  readonly elapsed: () => number;
  /** The run that writes; undefined where none does. */
  readonly run: () => Run | undefined;
}

/** The row of a scope, which is made where there is none. */
const scopeRow = async (remote: DatabaseServer, scope: LedgerScope): Promise<number> => {
  const [found] = await remote.ask(
    `INSERT INTO rollcall.scope (${scopeColumns}) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (${scopeColumns}) DO UPDATE SET destination = excluded.destination RETURNING id`,
    valuesOf(scope),
  );
  return found?.integer("id") ?? 0;
};

/** Opens the ledger of a scope. */
export const scopeOf = async (reach: Reach, scope: LedgerScope): Promise<ScopeLedger> => {
  const { remote, path, elapsed, run } = reach;
  const { destination, account } = scope;
  const id = await scopeRow(remote, scope);
  const [address] = await remote.ask(`SELECT ${addressColumns} FROM rollcall.address ${ofAddress}`, [
    destination,
    account,
  ]);
  const held = (): Run => {
    const own = run();
    if (own?.isHeld() !== true) throw new Failure("lease-lost", { path });
    return own;
  };
  return {
    address: addressIn(address),
    recover: async () => await takeOver(remote),
    entries: (from = 0) => entriesIn(remote, "request.scope = ? AND request.id >= ?", [id, from]),
    begin: async (entry) => {
      const own = held();
      const askedAt = elapsed();
      const begun = await beginRequest(remote, { scope: id, run: own.id, entry });
      if (begun === undefined) throw new Failure("lease-lost", { path });
      if (typeof begun !== "number") return begun;
      own.renewed(askedAt);
      return idOf(begun);
    },
    again: async (request) => (await remote.ask(againSql, [held().id, rowIdOf(request)])).length === 1,
    settle: async (request, settlement) => await settleIn(reach, rowIdOf(request), settlement),
    remember: async ({ sizes: { passed, refused }, echoesKey }) => {
      await remote.ask(
        `INSERT INTO rollcall.address AS known (destination, account, max_bytes, refused_bytes, refused_at, echoes_key) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (destination, account) DO UPDATE SET max_bytes = excluded.max_bytes, refused_bytes = excluded.refused_bytes,
           refused_at = excluded.refused_at, echoes_key = CASE known.echoes_key WHEN 1 THEN 1 ELSE excluded.echoes_key END`,
        [destination, account, passed ?? null, refused?.bytes ?? null, refused?.at ?? null, echoesKey ? 1 : 0],
      );
    },
  };
};

/**
 * What a run learns of a request late, when it was taken for dead and others may have the request: that it was logged is
 * so, whoever tries it meanwhile; that it was not sent, or refused, is so of this run's try alone.
 */
const lateWhere = {
  logged: "state <> 'logged'",
  unknown: "(run = ? OR state <> 'trying') AND state NOT IN ('logged', 'assumed_logged')",
  other: "run = ? AND state = 'unknown'",
} as const;

/** Writes down what became of a request. One that was settled meanwhile, since its run was taken for dead, has its groups again. */
const settleIn = async (
  { remote, run }: Reach,
  request: number,
  { state, status, cause, calls }: Settlement,
): Promise<void> => {
  const own = run()?.id ?? 0;
  const values = [state, status, cause, calls, request];
  const set = `UPDATE rollcall.request SET state = ?, status = ?, cause = ?, calls = ?, changed = clock_timestamp() WHERE id = ?`;
  const settled = await remote.ask(`${set} AND run = ? AND state = 'trying' RETURNING id`, [...values, own]);
  if (settled.length > 0) return;
  const kind = state === "logged" || state === "unknown" ? state : "other";
  const about = kind === "logged" ? values : [...values, own];
  const [late] = await remote.ask(`${set} AND ${lateWhere[kind]} RETURNING id`, about);
  if (late === undefined || kind === "other") return;
  await remote.ask(claimSql, [request]);
};

/** Entries read at a time, and bytes of them: all of an answer is in memory at once. */
const portion = 500;
const portionBytes = 2 * 1024 * 1024;

/** Entries that a condition on `request` and `scope` holds for, oldest first, a portion in memory at a time. */
export async function* entriesIn(
  remote: DatabaseServer,
  condition: string,
  values: readonly (string | number)[],
): AsyncGenerator<Entry, void> {
  const both = `rollcall.request AS request JOIN rollcall.scope AS scope ON scope.id = request.scope`;
  const sql = `
    WITH next AS (
      SELECT request.id AS next_id, length(marks) + length(calls) AS size FROM ${both}
      WHERE (${condition}) AND request.id > ? ORDER BY request.id LIMIT ${portion}),
    sized AS (SELECT next_id, sum(size) OVER (ORDER BY next_id) - size AS ahead FROM next)
    SELECT ${entryColumns}, (SELECT count(*) FROM next) AS found
    FROM ${both} JOIN sized ON request.id = next_id WHERE ahead < ${portionBytes} ORDER BY request.id`;
  for (let last = 0; ; ) {
    const rows = await remote.ask(sql, [...values, last]);
    for (const row of rows) {
      last = row.integer("id");
      yield entryOf(row);
    }
    const found = rows[0]?.integer("found") ?? 0;
    if (found < portion && rows.length === found) return;
  }
}

const nowMs = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** How often a request is begun again whose groups others had, but not any more when they were asked for. */
const mostBeginnings = 5;

/** What a statement ends with that found groups of a request to be others', so that nothing of it was done. */
const notWhole = "22012";

/**
 * Renews the run's lease, writes a request down, and with it that its groups are its own: all of them or none, in one
 * statement. Gives its row, or the marks of groups that others have; undefined if the run is over.
 */
const beginRequest = async (
  remote: DatabaseServer,
  { scope, run, entry }: { readonly scope: number; readonly run: number; readonly entry: NewEntry },
): Promise<number | { readonly taken: Uint8Array } | undefined> => {
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
const alive = `alive AS (UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver} RETURNING id)`;

/** The marks that stand side by side in `given`, a row each. */
const marksGiven = `LATERAL (
  SELECT substring(given.marks FROM at * ${dedupKeyBytes} + 1 FOR ${dedupKeyBytes}) AS mark
  FROM generate_series(0, length(given.marks) / ${dedupKeyBytes} - 1) AS at) AS own`;

/** Requests of a run that have no claim to their groups: those of its own it may use again. */
const freed = (run: string): string => `SELECT id FROM rollcall.request WHERE run = ${run} AND state IN ${free}`;

/** What was asked before and is asked again, since the answer did not come, is known by its token. Marks are taken in one order, so that no two wait for each other. */
const beginSql = `
  WITH given AS (SELECT ?::bytea AS marks),
  ${alive},
  added AS (
    INSERT INTO rollcall.request
      (scope, run, token, generation, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
    SELECT ?::bigint, alive.id, ?::text, ?::text, 'trying', ?::text, length(given.marks) / ${dedupKeyBytes}, ?::bigint, ?::text,
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

/** Gives a request its groups, but for those that others have. */
const claimSql = `
  INSERT INTO rollcall.mark (scope, generation, mark, request)
  SELECT given.scope, given.generation, own.mark, given.id FROM rollcall.request AS given, ${marksGiven}
  WHERE given.id = ? ORDER BY own.mark ON CONFLICT DO NOTHING`;
