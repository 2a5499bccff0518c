/**
 * The ledger in a database that the runs of many machines share. Whose turn a group is stands in `mark`: a group's mark is
 * there once in a scope, for the request that has it. A run holds a lease; its number is what tells it from those that took over.
 */

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { bringUp, type DatabaseServer, type RemoteOptions, type Value, versionOf } from "../../database/index.ts";
import { isFailure } from "../../failure.ts";
import { countsIn, countsSql, type Entry, type EntryFilter, type EntryState, entriesOf, rowIdOf } from "./entries.ts";
import { beginRun, isOver, type Run, type SharedTables, takeOver } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { factsOf, scopeDigest } from "./scope.ts";
import { scopeOf, scopeRow, sharedEntries } from "./shared-scope.ts";

/** How a ledger that is shared is opened. */
export interface SharedOptions extends RemoteOptions {
  readonly make: boolean;
  /** Whether it is only looked at, which one that takes no writes allows. */
  readonly toRead?: boolean;
}

/** Opens the ledger of a database; undefined where there is none and none is to be made. @throws Failure of code `storage`, `auth` or `unavailable` */
export const openShared = async (
  { remote, tables }: { readonly remote: DatabaseServer; readonly tables: SharedTables },
  options: SharedOptions,
): Promise<Ledger | undefined> => {
  const part = { path: options.path, title: options.title, part: "ledger", migrations: tables.migrations };
  try {
    if (!options.make && (await versionOf(remote, part)) === 0) {
      await remote.close();
      return undefined;
    }
    const created = (await bringUp(remote, part)) === 0;
    await takeOver(remote, tables).catch((thrown: unknown) => {
      if (options.toRead !== true || !isForReading(thrown)) throw thrown;
    });
    return ledgerOf(remote, tables, { ...options, created });
  } catch (thrown) {
    await remote.close();
    throw thrown;
  }
};

/** What a replica, or a role or token that may only read, answers to a write. */
const readingCodes: ReadonlySet<string> = new Set(["25006", "42501", "BLOCKED", "HTTP 403"]);

const isForReading = (thrown: unknown): boolean =>
  (isFailure(thrown, "database-failed") || isFailure(thrown, "database-refused")) && readingCodes.has(thrown.data.code);

const ledgerOf = (
  remote: DatabaseServer,
  tables: SharedTables,
  { path, created, host }: RemoteOptions & { readonly created: boolean },
): Ledger => {
  const { prefix, change, lastChange } = tables;
  let run: Run | undefined;
  const entries = (filter: EntryFilter) =>
    entriesOf(filter, (condition, values) => sharedEntries({ remote, prefix }, condition, values));
  return {
    path,
    created,
    isShared: true,
    isThere: () => true,
    changes: async () =>
      (await remote.ask(`SELECT coalesce(${lastChange}, 0) AS at FROM ${prefix}request`))[0]?.integer("at") ?? 0,
    counted: async () => {
      const counts = countsIn(await remote.ask(countsSql(`${prefix}request`)));
      const [runs] = await remote.ask(`SELECT count(*) AS runs FROM ${prefix}run WHERE NOT ${isOver(tables)}`);
      return { counts, writers: runs?.integer("runs") ?? 0 };
    },
    scope: async (scope) => await scopeOf({ remote, tables, path, elapsed: host.elapsed, run: () => run }, scope),
    hold: async () => {
      run ??= await beginRun(remote, tables, host);
      return run;
    },
    written: writtenIn(remote, prefix),
    entries,
    resolve: async (id, state) => {
      const [settled] = await remote.together([
        {
          sql: `UPDATE ${prefix}request SET state = ?, changed = ${change} WHERE id = ? AND state = 'unknown' RETURNING id`,
          values: [state, rowIdOf(id)],
        },
        {
          sql: `DELETE FROM ${prefix}mark WHERE request IN (SELECT id FROM ${prefix}request WHERE id = ? AND state = 'released')`,
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
          { sql: `DELETE FROM ${prefix}request WHERE ${gone} RETURNING id`, values: [rowIdOf(id)] },
          {
            sql: `DELETE FROM ${prefix}mark WHERE request = ? AND NOT EXISTS (SELECT 1 FROM ${prefix}request WHERE id = ?)`,
            values: [rowIdOf(id), rowIdOf(id)],
          },
        ]);
        count += forgotten?.length ?? 0;
      }
      return count;
    },
    take: async (some) => await takeEntries({ remote, tables }, some),
    close: async () => {
      remote.hasten();
      await run?.end().catch(() => undefined);
      await remote.close();
    },
  };
};

const writtenIn = (remote: DatabaseServer, prefix: string): Ledger["written"] => ({
  all: async () =>
    (await remote.ask(`SELECT path, digest FROM ${prefix}written ORDER BY path`)).map((row) => ({
      path: row.text("path"),
      digest: row.text("digest"),
    })),
  digest: async (path) =>
    (await remote.ask(`SELECT digest FROM ${prefix}written WHERE path = ?`, [resolve(path)]))[0]?.text("digest"),
  remember: async (path, digest) => {
    await remote.ask(
      `INSERT INTO ${prefix}written (path, digest) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET digest = excluded.digest`,
      [resolve(path), digest],
    );
  },
});

/** States in which a request has its groups, though its run is over. */
const hasGroups: ReadonlySet<EntryState> = new Set(["logged", "unknown", "assumed_logged"]);

/** Writes entries down, with their ids, in one transaction. */
const takeEntries = async (
  { remote, tables }: { readonly remote: DatabaseServer; readonly tables: SharedTables },
  entries: readonly Entry[],
): Promise<void> => {
  const { prefix, now, change, ownIds, skipIds, claim } = tables;
  const scopes = new Map<string, number>();
  for (const { scope } of entries) {
    const name = scopeDigest(scope);
    if (!scopes.has(name)) scopes.set(name, await scopeRow(remote, prefix, scope));
  }
  const [run] = await remote.ask(
    `INSERT INTO ${prefix}run (lease_until, has_ended) VALUES (${now}, true) RETURNING id`,
  );
  const runId = run?.integer("id") ?? 0;
  const rows = entries.map((entry) => rowOf(entry, { scope: scopes.get(scopeDigest(entry.scope)) ?? 0, run: runId }));
  const columns = Object.keys(rows[0] ?? {});
  const places = `(${columns.map(() => "?").join(", ")}, ${change})`;
  const claiming = entries
    .filter(({ state }) => hasGroups.has(state))
    .map(({ id, marks }) => ({ id: rowIdOf(id), marks }));
  await remote.together([
    {
      sql: `INSERT INTO ${prefix}request (${columns.join(", ")}, changed) ${ownIds}
        VALUES ${rows.map(() => places).join(", ")} ON CONFLICT (id) DO NOTHING`,
      values: rows.flatMap((row) => Object.values(row)),
    },
    ...(claiming.length === 0 ? [] : claim(claiming, runId)),
    ...(skipIds === undefined ? [] : [{ sql: skipIds }]),
  ]);
};

const rowOf = (
  entry: Entry,
  { scope, run }: { readonly scope: number; readonly run: number },
): Readonly<Record<string, Value>> => ({
  id: rowIdOf(entry.id),
  scope,
  run,
  token: randomUUID(),
  generation: "",
  ...factsOf(entry),
});
