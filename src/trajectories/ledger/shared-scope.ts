/** What a shared ledger knows of a scope, and where requests of it are written down. */
import type { DatabaseServer } from "../../database/index.ts";
import { Failure } from "../../failure.ts";
import { type Entry, entryColumns, entryOf, idOf, type LedgerScope, rowIdOf } from "./entries.ts";
import { type Run, type SharedTables, takeOver } from "./lease.ts";
import {
  addressColumns,
  addressIn,
  ofAddress,
  type ScopeLedger,
  type Settlement,
  scopeColumns,
  valuesOf,
} from "./scope.ts";

/** What a scope is reached through. */
interface Reach {
  readonly remote: DatabaseServer;
  readonly tables: SharedTables;
  readonly path: string;
  readonly elapsed: () => number;
  /** The run that writes; undefined where none does. */
  readonly run: () => Run | undefined;
}

/** The row of a scope, which is made where there is none. */
export const scopeRow = async (remote: DatabaseServer, prefix: string, scope: LedgerScope): Promise<number> => {
  const [found] = await remote.ask(
    `INSERT INTO ${prefix}scope (${scopeColumns}) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (${scopeColumns}) DO UPDATE SET destination = excluded.destination RETURNING id`,
    valuesOf(scope),
  );
  return found?.integer("id") ?? 0;
};

/** Bytes of a call in the list of those that an answer names: the id of one is a UUID. */
const callBytes = 39;

/** Opens the ledger of a scope. */
export const scopeOf = async (reach: Reach, scope: LedgerScope): Promise<ScopeLedger> => {
  const { remote, tables, path, elapsed, run } = reach;
  const { prefix } = tables;
  const { destination, account } = scope;
  const id = await scopeRow(remote, prefix, scope);
  const [address] = await remote.ask(`SELECT ${addressColumns} FROM ${prefix}address ${ofAddress}`, [
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
    recover: async () => await takeOver(remote, tables),
    entries: (from = 0) => sharedEntries({ remote, prefix }, "request.scope = ? AND request.id >= ?", [id, from]),
    begin: async (entry) => {
      const own = held();
      if (entry.marks.length + entry.trajectories * callBytes > tables.mostBytes) {
        throw new Failure("database-failed", { path, title: "the ledger", code: "SQLITE_TOOBIG" });
      }
      const askedAt = elapsed();
      const begun = await tables.begin(remote, { scope: id, run: own.id, entry });
      if (begun === undefined) throw new Failure("lease-lost", { path });
      if (typeof begun !== "number") return begun;
      own.renewed(askedAt);
      return idOf(begun);
    },
    again: async (request) => await tables.again(remote, { run: held().id, request: rowIdOf(request) }),
    settle: async (request, settlement) => await settleIn(reach, rowIdOf(request), settlement),
    remember: async ({ sizes: { passed, refused }, echoesKey }) => {
      await remote.ask(
        `INSERT INTO ${prefix}address AS known (destination, account, max_bytes, refused_bytes, refused_at, echoes_key) VALUES (?, ?, ?, ?, ?, ?)
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
  { remote, tables, run }: Reach,
  request: number,
  { state, status, cause, calls }: Settlement,
): Promise<void> => {
  const own = run()?.id ?? 0;
  const values = [state, status, cause, calls, request];
  const set = `UPDATE ${tables.prefix}request SET state = ?, status = ?, cause = ?, calls = ?, changed = ${tables.change} WHERE id = ?`;
  const settled = await remote.ask(`${set} AND run = ? AND state = 'trying' RETURNING id`, [...values, own]);
  if (settled.length > 0) return;
  const kind = state === "logged" || state === "unknown" ? state : "other";
  const about = kind === "logged" ? values : [...values, own];
  const [late] = await remote.ask(`${set} AND ${lateWhere[kind]} RETURNING marks`, about);
  if (late === undefined || kind === "other") return;
  await remote.together(tables.claim([{ id: request, marks: late.bytes("marks") }]));
};

/** Entries read at a time, and bytes of them: a libSQL server gives no answer of more than 10 MB, and may give none after one that was refused. */
const portion = 500;
const portionBytes = 2 * 1024 * 1024;

/** Entries that a condition on `request` and `scope` holds for, oldest first, a portion in memory at a time. */
export async function* sharedEntries(
  { remote, prefix }: { readonly remote: DatabaseServer; readonly prefix: string },
  condition: string,
  values: readonly (string | number)[],
): AsyncGenerator<Entry, void> {
  const both = `${prefix}request AS request JOIN ${prefix}scope AS scope ON scope.id = request.scope`;
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
