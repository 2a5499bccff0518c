/**
 * The ledger in a PostgreSQL database that the runs of many machines share. Whose turn a group is stands in `mark`: a group's
 * mark is there once in a scope, for the request that has it. A run holds a lease; its number is what tells it from those that took over.
 */
import { resolve } from "node:path";
import { type DatabaseServer, hasTables, makeTables, postgresDoor, type RemoteOptions } from "../database/index.ts";
import { isFailure } from "../failure.ts";
import { countsIn, countsSql, type EntryFilter, entriesOf, rowIdOf } from "./entries.ts";
import { beginRun, isOver, type Run, takeOver } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { entriesIn, scopeOf } from "./postgres-scope.ts";

/** How a ledger that is shared is opened. */
interface SharedOptions extends RemoteOptions {
  readonly make: boolean;
  /** Whether it is only looked at, which one that takes no writes allows. */
  readonly toRead?: boolean;
}

/** The version of its tables: each change of them raises it. */
const version = 1;

const tables = [
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
     calls TEXT NOT NULL, marks BYTEA NOT NULL, frame TEXT NOT NULL, changed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())`,
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
];

/** Opens the ledger at an address; undefined where there is none and none is to be made. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openPostgresLedger = async (options: SharedOptions): Promise<Ledger | undefined> => {
  const { openPostgres } = await postgresDoor();
  const remote = openPostgres(options);
  const part = { path: options.path, title: options.title, part: "ledger", version, tables } as const;
  try {
    if (!options.make && !(await hasTables(remote, part))) {
      await remote.close();
      return undefined;
    }
    const created = await makeTables(remote, part);
    await takeOver(remote).catch((thrown: unknown) => {
      if (options.toRead !== true || !isForReading(thrown)) throw thrown;
    });
    return ledgerOf(remote, { ...options, created });
  } catch (thrown) {
    await remote.close();
    throw thrown;
  }
};

/** What a replica, or a role that may only read, answers to a write. */
const readingCodes: ReadonlySet<string> = new Set(["25006", "42501"]);

const isForReading = (thrown: unknown): boolean =>
  (isFailure(thrown, "database-failed") || isFailure(thrown, "database-refused")) && readingCodes.has(thrown.data.code);

const ledgerOf = (
  remote: DatabaseServer,
  { path, created, host }: RemoteOptions & { readonly created: boolean },
): Ledger => {
  let run: Run | undefined;
  const entries = (filter: EntryFilter) =>
    entriesOf(filter, (condition, values) => entriesIn(remote, condition, values));
  return {
    path,
    created,
    isShared: true,
    isThere: () => true,
    changes: async () =>
      (
        await remote.ask(
          `SELECT coalesce((extract(epoch FROM max(changed)) * 1000000)::bigint, 0) AS at FROM rollcall.request`,
        )
      )[0]?.integer("at") ?? 0,
    counted: async () => {
      const counts = countsIn(await remote.ask(countsSql("rollcall.request")));
      const [runs] = await remote.ask(`SELECT count(*) AS runs FROM rollcall.run WHERE NOT ${isOver}`);
      return { counts, writers: runs?.integer("runs") ?? 0 };
    },
    scope: async (scope) => await scopeOf({ remote, path, elapsed: host.elapsed, run: () => run }, scope),
    hold: async () => {
      run ??= await beginRun(remote, host);
      return run;
    },
    written: writtenIn(remote),
    entries,
    resolve: async (id, state) => {
      const [settled] = await remote.together([
        {
          sql: `UPDATE rollcall.request SET state = ?, changed = clock_timestamp() WHERE id = ? AND state = 'unknown' RETURNING id`,
          values: [state, rowIdOf(id)],
        },
        {
          sql: `DELETE FROM rollcall.mark WHERE request IN (SELECT id FROM rollcall.request WHERE id = ? AND state = 'released')`,
          values: [rowIdOf(id)],
        },
      ]);
      return settled?.length === 1;
    },
    forget: async (filter) => {
      let count = 0;
      for await (const { id, state } of entries(filter)) {
        if (state === "trying" || state === "unknown") continue;
        const gone = `id = ? AND state NOT IN ('trying', 'unknown')`;
        // The request first: a run that tries it again meanwhile either finds none, or keeps its groups.
        const [forgotten] = await remote.together([
          { sql: `DELETE FROM rollcall.request WHERE ${gone} RETURNING id`, values: [rowIdOf(id)] },
          {
            sql: `DELETE FROM rollcall.mark WHERE request = ? AND NOT EXISTS (SELECT 1 FROM rollcall.request WHERE id = ?)`,
            values: [rowIdOf(id), rowIdOf(id)],
          },
        ]);
        count += forgotten?.length ?? 0;
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

const writtenIn = (remote: DatabaseServer): Ledger["written"] => ({
  digest: async (path) =>
    (await remote.ask(`SELECT digest FROM rollcall.written WHERE path = ?`, [resolve(path)]))[0]?.text("digest"),
  remember: async (path, digest) => {
    await remote.ask(
      `INSERT INTO rollcall.written (path, digest) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET digest = excluded.digest`,
      [resolve(path), digest],
    );
  },
});
