/**
 * The ledger in a PostgreSQL database, which the runs of many machines share. Whose turn a group is stands in `mark`: a
 * group's mark is there once in a scope, for the request that has it. A run holds a lease, by the database's clock; its
 * number is what tells it from those that took over.
 */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { type Lock, postgresDoor, type Remote, type RemoteOptions, type Row } from "../../database/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import { markBytes } from "../read/parts/marks.ts";
import type { Written } from "../reject/rejects-file.ts";
import {
  type Entry,
  type EntryFilter,
  entriesOf,
  entryColumns,
  entryOf,
  idOf,
  type LedgerScope,
  rowIdOf,
} from "./entries.ts";
import type { Ledger } from "./ledger.ts";
import type { FoundSizes, NewEntry, ScopeLedger, Settlement } from "./scope.ts";

/** How long a run may go on without word from the database; others wait as long before they take over what it left. */
const leaseMs = 15_000;
const renewMs = leaseMs / 3;

/** Entries read at a time. */
const portion = 500;

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

const nowMs = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const leaseEnd = `clock_timestamp() + interval '${leaseMs} milliseconds'`;

/** A run that is not what it was: its time is up, or another one has ended it. */
const isOver = "(has_ended OR lease_until < clock_timestamp())";

/** States in which a request has no claim to its groups once its run is over. */
const free = "('not_sent', 'refused', 'released')";

/** Opens the ledger at an address; undefined where there is none and none is to be made. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openPostgresLedger = async (
  options: RemoteOptions,
  { make }: { readonly make: boolean },
): Promise<Ledger | undefined> => {
  const { openPostgres } = await postgresDoor();
  const remote = openPostgres(options);
  try {
    const version = await versionOf(remote);
    if (version === 0 && !make) {
      await remote.close();
      return undefined;
    }
    if (version > migrations.length) throw newer(options);
    if (version < migrations.length) await migrate(remote, options);
    await takeOver(remote);
    return ledgerOf(remote, { ...options, created: version === 0 });
  } catch (thrown) {
    await remote.close();
    throw thrown;
  }
};

const newer = ({ path, title }: RemoteOptions): Failure => new Failure("database-newer", { path, title });

const versionOf = async (remote: Remote): Promise<number> => {
  const [there] = await remote.ask("SELECT (to_regclass('rollcall.version') IS NOT NULL)::int::bigint AS there");
  if (there?.integer("there") !== 1) return 0;
  const [version] = await remote.ask(
    "SELECT coalesce(max(number), 0)::bigint AS number FROM rollcall.version WHERE part = 'ledger'",
  );
  return version?.integer("number") ?? 0;
};

/** Brings the tables to this program's version, one process at a time. */
const migrate = async (remote: Remote, options: RemoteOptions): Promise<void> => {
  const steps = migrations.flatMap((statements, at) => [
    `INSERT INTO rollcall.version (part, number) VALUES ('ledger', ${at + 1})`,
    ...statements,
  ]);
  try {
    await remote.define([
      "SELECT pg_advisory_xact_lock(1919114311)",
      "CREATE SCHEMA IF NOT EXISTS rollcall",
      "CREATE TABLE IF NOT EXISTS rollcall.version (part TEXT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (part, number))",
      ...steps,
    ]);
  } catch (thrown) {
    // Another process did it meanwhile, or this one, whose connection broke with the answer.
    const version = await versionOf(remote);
    if (version !== migrations.length) throw version > migrations.length ? newer(options) : thrown;
  }
};

const ledgerOf = (remote: Remote, options: RemoteOptions & { readonly created: boolean }): Ledger => {
  const { path, created, host } = options;
  let run: Run | undefined;
  const entries = (filter: EntryFilter) =>
    entriesOf(filter, (condition, values) => entriesWhere(remote, condition, values));
  return {
    path,
    created,
    isShared: true,
    isThere: () => true,
    changes: async () =>
      (
        await remote.ask(
          "SELECT coalesce(extract(epoch FROM max(changed)) * 1000000, 0)::bigint AS at FROM rollcall.request",
        )
      )[0]?.integer("at") ?? 0,
    scope: async (scope) => await scopeOf(remote, scope, { path, elapsed: host.elapsed, run: () => run }),
    hold: async () => {
      run ??= await beginRun(remote, host);
      return run;
    },
    written: writtenIn(remote),
    entries,
    resolve: async (id, state) => {
      const [settled] = await remote.ask(
        `WITH settled AS (
           UPDATE rollcall.request SET state = ?, changed = clock_timestamp() WHERE id = ? AND state = 'unknown' RETURNING id, state),
         freed AS (DELETE FROM rollcall.mark USING settled WHERE mark.request = settled.id AND settled.state = 'released')
         SELECT id FROM settled`,
        [state, rowIdOf(id)],
      );
      return settled !== undefined;
    },
    forget: async (filter) => {
      let count = 0;
      for await (const { id, state } of entries(filter)) {
        if (state === "trying" || state === "unknown") continue;
        const gone = await remote.ask(
          `WITH gone AS (DELETE FROM rollcall.request WHERE id = ? AND state NOT IN ('trying', 'unknown') RETURNING id),
           freed AS (DELETE FROM rollcall.mark USING gone WHERE mark.request = gone.id)
           SELECT id FROM gone`,
          [rowIdOf(id)],
        );
        count += gone.length;
      }
      return count;
    },
    close: async () => {
      remote.hasten();
      await run?.end().catch(() => undefined);
      await remote.close();
    },
  };
};

/** A run that writes: it holds its lease until it ends. */
interface Run extends Lock {
  readonly id: number;
  /** Takes over that the lease was renewed by a question that was asked at a time. */
  renewed(askedAt: number): void;
  end(): Promise<void>;
}

const beginRun = async (remote: Remote, host: RemoteOptions["host"]): Promise<Run> => {
  let renewedAt = host.elapsed();
  const [row] = await remote.ask(`INSERT INTO rollcall.run (lease_until) VALUES (${leaseEnd}) RETURNING id`);
  const id = row?.integer("id") ?? 0;
  let isLost = false;
  const renew = async (): Promise<void> => {
    const askedAt = host.elapsed();
    const rows = await remote.ask(
      `UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver} RETURNING id`,
      [id],
    );
    if (rows.length === 0) isLost = true;
    else renewedAt = Math.max(renewedAt, askedAt);
  };
  // What can't be renewed runs out by itself.
  const timer = setInterval(() => void renew().catch(() => undefined), renewMs).unref();
  return {
    id,
    isHeld: () => !isLost && host.elapsed() - renewedAt < leaseMs,
    renewed: (askedAt) => {
      renewedAt = Math.max(renewedAt, askedAt);
    },
    // Until it ends, what it did not get sent stays its own: it may try again.
    release: () => undefined,
    end: async () => {
      clearInterval(timer);
      await remote.ask("UPDATE rollcall.run SET has_ended = true WHERE id = ?", [id]);
      await takeOver(remote);
    },
  };
};

/** Settles what runs that are over had in flight as unknown, and gives groups free that they did not get sent; how many requests are unknown now. */
const takeOver = async (remote: Remote): Promise<number> => {
  await remote.ask(`UPDATE rollcall.run SET has_ended = true WHERE NOT has_ended AND ${isOver}`);
  await remote.ask(
    `DELETE FROM rollcall.mark USING rollcall.request, rollcall.run
     WHERE mark.request = request.id AND request.run = run.id AND request.state IN ${free} AND run.has_ended`,
  );
  const unknown = await remote.ask(
    `UPDATE rollcall.request SET state = 'unknown', cause = 'died', changed = clock_timestamp()
     FROM rollcall.run WHERE run.id = request.run AND request.state = 'trying' AND run.has_ended RETURNING request.id`,
  );
  return unknown.length;
};

/** What is known of a scope, and where requests of it are written down. */
const scopeOf = async (
  remote: Remote,
  scope: LedgerScope,
  {
    path,
    elapsed,
    run,
  }: { readonly path: string; readonly elapsed: () => number; readonly run: () => Run | undefined },
): Promise<ScopeLedger> => {
  const { destination, account, model, split, batch } = scope;
  const [found] = await remote.ask(
    `INSERT INTO rollcall.scope (destination, account, model, split, batch, has_batch) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (destination, account, model, split, batch, has_batch) DO UPDATE SET destination = excluded.destination RETURNING id`,
    [destination, account, model, split, batch ?? "", batch === null ? 0 : 1],
  );
  const id = found?.integer("id") ?? 0;
  const [address] = await remote.ask(
    "SELECT max_bytes, refused_bytes, refused_at, echoes_key FROM rollcall.address WHERE destination = ? AND account = ?",
    [destination, account],
  );
  const held = (): Run => {
    const own = run();
    if (own?.isHeld() !== true) throw new Failure("lease-lost", { path });
    return own;
  };
  return {
    address: { sizes: sizesIn(address), echoesKey: address?.integer("echoes_key") === 1 },
    recover: async () => await takeOver(remote),
    entries: (from = 0) => entriesWhere(remote, "request.scope = ? AND request.id >= ?", [id, from]),
    begin: async (entry) => await beginIn(remote, { scope: id, run: held(), entry, path, elapsed }),
    again: async (own) => {
      const { id: runId } = held();
      const rows = await remote.ask(
        `WITH alive AS (UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver} RETURNING id)
         UPDATE rollcall.request SET state = 'trying', run = alive.id, last_tried = ${nowMs}, attempts = attempts + 1, changed = clock_timestamp()
         FROM alive WHERE request.id = ? AND (request.run = alive.id OR state = 'unknown') AND state NOT IN ('assumed_logged', 'released')
         RETURNING request.id`,
        [runId, rowIdOf(own)],
      );
      return rows.length === 1;
    },
    settle: async (own, settlement) => await settleIn(remote, own, settlement),
    remember: async ({ sizes: { passed, refused }, echoesKey }) => {
      await remote.ask(
        `INSERT INTO rollcall.address (destination, account, max_bytes, refused_bytes, refused_at, echoes_key) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (destination, account) DO UPDATE SET max_bytes = excluded.max_bytes, refused_bytes = excluded.refused_bytes,
           refused_at = excluded.refused_at, echoes_key = greatest(excluded.echoes_key, address.echoes_key)`,
        [destination, account, passed ?? null, refused?.bytes ?? null, refused?.at ?? null, echoesKey ? 1 : 0],
      );
    },
  };
};

/** Where a request is written down, and for whom. */
interface Beginning {
  readonly scope: number;
  readonly run: Run;
  readonly entry: NewEntry;
  readonly path: string;
  readonly elapsed: () => number;
}

/** How often a request is begun again whose groups others had, but not any more when they were asked for. */
const mostBeginnings = 5;

/** What a statement ends with that found groups of a request to be others', so that nothing of it was done. */
const notWhole = "22012";

/**
 * Writes a request down, and with it that its groups are its own: all of them or none, in one statement. Gives which
 * groups others have instead, where they have any. @throws Failure `lease-lost`
 */
const beginIn = async (
  remote: Remote,
  { scope, run, entry, path, elapsed }: Beginning,
): Promise<string | { readonly taken: Uint8Array }> => {
  const { marks, key, input, bytes, frame, generation } = entry;
  const token = randomUUID();
  for (let tries = 0; ; tries++) {
    const askedAt = elapsed();
    try {
      const values = [marks, run.id, scope, token, generation, input, bytes, key, frame, run.id, token];
      const [begun] = await remote.ask(beginSql, values);
      if (begun === undefined) throw new Failure("lease-lost", { path });
      run.renewed(askedAt);
      return idOf(begun.integer("id"));
    } catch (thrown) {
      if (!isFailure(thrown, "database-failed") || thrown.data.code !== notWhole || tries === mostBeginnings)
        throw thrown;
    }
    const rows = await remote.ask(takenSql, [marks, scope, generation, run.id]);
    if (rows.length > 0) return { taken: Buffer.concat(rows.map((row) => row.bytes("mark"))) };
  }
};

/** The marks that stand side by side in `given`, a row each. */
const marksGiven = `LATERAL (
  SELECT substring(given.marks FROM at * ${markBytes} + 1 FOR ${markBytes}) AS mark
  FROM generate_series(0, length(given.marks) / ${markBytes} - 1) AS at) AS own`;

/** Requests of a run that have no claim to their groups: those of its own it may use again. */
const freed = (run: string): string => `SELECT id FROM rollcall.request WHERE run = ${run} AND state IN ${free}`;

/** What was asked before and is asked again, since the answer did not come, is known by its token. Marks are taken in one order, so that no two wait for each other. */
const beginSql = `
  WITH given AS (SELECT ?::bytea AS marks),
  alive AS (UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver} RETURNING id),
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

/** Writes down what became of a request. One that was settled meanwhile, since its run was taken for dead, has its groups again. */
const settleIn = async (remote: Remote, id: string, { state, status, cause, calls }: Settlement): Promise<void> => {
  const values = [state, status, cause, JSON.stringify(calls), rowIdOf(id)];
  const set =
    "UPDATE rollcall.request SET state = ?, status = ?, cause = ?, calls = ?, changed = clock_timestamp() WHERE id = ?";
  const settled = await remote.ask(`${set} AND state = 'trying' RETURNING id`, values);
  if (settled.length > 0) return;
  await remote.ask(set, values);
  if (state !== "logged" && state !== "unknown") return;
  await remote.ask(
    `INSERT INTO rollcall.mark (scope, generation, mark, request)
     SELECT given.scope, given.generation, own.mark, given.id FROM rollcall.request AS given, ${marksGiven}
     WHERE given.id = ? ORDER BY own.mark ON CONFLICT DO NOTHING`,
    [rowIdOf(id)],
  );
};

const sizesIn = (row: Row | undefined): FoundSizes => ({
  passed: row === undefined || row.isNull("max_bytes") ? undefined : row.integer("max_bytes"),
  refused:
    row === undefined || row.isNull("refused_bytes") || row.isNull("refused_at")
      ? undefined
      : { bytes: row.integer("refused_bytes"), at: row.integer("refused_at") },
});

const writtenIn = (remote: Remote): Written => ({
  digest: async (path) =>
    (await remote.ask("SELECT digest FROM rollcall.written WHERE path = ?", [resolve(path)]))[0]?.text("digest"),
  remember: async (path, digest) => {
    await remote.ask(
      "INSERT INTO rollcall.written (path, digest) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET digest = excluded.digest",
      [resolve(path), digest],
    );
  },
});

async function* entriesWhere(
  remote: Remote,
  condition: string,
  values: readonly (string | number)[],
): AsyncGenerator<Entry, void> {
  const sql = `SELECT ${entryColumns} FROM rollcall.request AS request JOIN rollcall.scope AS scope ON scope.id = request.scope
    WHERE (${condition}) AND request.id > ? ORDER BY request.id LIMIT ${portion}`;
  for (let last = 0; ; ) {
    const rows = await remote.ask(sql, [...values, last]);
    for (const row of rows) {
      last = row.integer("id");
      yield entryOf(row);
    }
    if (rows.length < portion) return;
  }
}
