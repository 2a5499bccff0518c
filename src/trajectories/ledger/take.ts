/** Takes entries of another ledger into one that machines share: they belong to a run that is over, and have their groups where one was logged or may have been. */
import { randomUUID } from "node:crypto";
import type { DatabaseServer, Value } from "../../database/index.ts";
import { type Entry, type EntryState, rowIdOf } from "./entries.ts";
import type { SharedTables } from "./lease.ts";
import { factsOf, scopeDigest } from "./scope.ts";
import { scopeRow } from "./shared-scope.ts";

/** States in which a request has its groups, though its run is over. */
const hasGroups: ReadonlySet<EntryState> = new Set(["logged", "unknown", "assumed_logged"]);

/** Writes entries down, with their ids, in one transaction. */
export const takeEntries = async (
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
