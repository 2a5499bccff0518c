/** Reads and writes the ledger's entries of one scope, and names scopes and requests by digests. */
import { createHash } from "node:crypto";
import type { Database, Row } from "../database/index.ts";
import { dedupKeyBytes } from "../groups/index.ts";
import { type Entry, type EntryState, entriesWhere, idOf, type LedgerScope, rowIdOf } from "./entries.ts";

/** What a request is recorded with, before its first byte. */
export interface NewEntry {
  readonly marks: Uint8Array;
  readonly key: string;
  readonly input: string;
  readonly bytes: number;
  /** Digest of what stands around its groups. */
  readonly frame: string;
  readonly now: number;
  /** Tells a second logging of the same groups that is meant from the first; empty for the first. */
  readonly generation: string;
}

/** What is known of the size of bodies that an address takes. */
export interface FoundSizes {
  /** The largest one that passed; undefined where none did, or it does not matter. */
  readonly passed: number | undefined;
  /** The smallest one that was too large (413), and when that was, in milliseconds since 1970. */
  readonly refused: { readonly bytes: number; readonly at: number } | undefined;
}

/** What became of a request. */
export interface Settlement {
  readonly state: Exclude<EntryState, "trying">;
  readonly status: number | null;
  readonly cause: string | null;
  /** Identifiers of the calls that the answer named: a JSON list. */
  readonly calls: string;
}

/** The ledger of one scope. Whoever writes it holds the scope's lock. */
export interface ScopeLedger {
  /** Settles what a run that died had in flight as unknown; how many requests those were. */
  recover(): Promise<number>;
  /** Its requests from a row on, oldest first, a portion in memory at a time. */
  entries(from?: number): AsyncIterable<Entry>;
  /** Records a request as being tried, on disk; gives its id, or which groups other runs have, by their marks: then it is not recorded. */
  begin(entry: NewEntry): Promise<string | { readonly taken: Uint8Array }>;
  /** Records that a request is tried once more; false where it was settled by hand meanwhile. */
  again(id: string, now: number): Promise<boolean>;
  settle(id: string, settlement: Settlement): Promise<void>;
  /** What the address was found to do: which bodies it took, and whether it echoes `Idempotency-Key`. */
  readonly address: { readonly sizes: FoundSizes; readonly echoesKey: boolean };
  remember(found: { readonly sizes: FoundSizes; readonly echoesKey: boolean }): Promise<void>;
}

/** Opens the ledger of a scope. A new one is written with its first request: each commit waits for the disk. */
export const scopeLedger = (database: Database, scope: LedgerScope): ScopeLedger => {
  const { destination, account } = scope;
  let scopeId = idOfScope(database, scope);
  const address = database.prepare(`SELECT ${addressColumns} FROM address ${ofAddress}`).get(destination, account);
  return {
    address: addressIn(address),
    recover: async () => {
      const own = scopeId;
      if (own === undefined) return 0;
      return database.transaction(
        () =>
          database
            .prepare("UPDATE request SET state = 'unknown', cause = 'died' WHERE scope = ? AND state = 'trying'")
            .run(own).changes,
      );
    },
    entries: (from = 0) =>
      scopeId === undefined
        ? nothing()
        : entriesWhere(database, "request.scope = ? AND request.id >= ?", [scopeId, from]),
    begin: async ({ marks, key, input, bytes, frame, now }) => {
      const begun = database.transaction(() => {
        const own = scopeId ?? newScope(database, scope);
        const { rowId } = database
          .prepare(
            `INSERT INTO request (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks, frame)
             VALUES (?, 'trying', ?, ?, ?, ?, ?, ?, 1, '[]', ?, ?)`,
          )
          .run(own, input, marks.length / dedupKeyBytes, bytes, key, now, now, marks, frame);
        return { own, rowId };
      });
      // Not before it is on disk.
      scopeId = begun.own;
      return idOf(begun.rowId);
    },
    again: async (id, now) =>
      database.transaction(
        () =>
          database
            .prepare(
              `UPDATE request SET state = 'trying', last_tried = ?, attempts = attempts + 1
               WHERE id = ? AND state NOT IN ('assumed_logged', 'released')`,
            )
            .run(now, rowIdOf(id)).changes === 1,
      ),
    settle: async (id, { state, status, cause, calls }) =>
      database.transaction(() => {
        database
          .prepare("UPDATE request SET state = ?, status = ?, cause = ?, calls = ? WHERE id = ?")
          .run(state, status, cause, calls, rowIdOf(id));
      }),
    remember: async ({ sizes: { passed, refused }, echoesKey }) =>
      database.transaction(() => {
        database
          .prepare(
            `INSERT INTO address (destination, account, max_bytes, refused_bytes, refused_at, echoes_key)
             VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (destination, account) DO UPDATE SET
               max_bytes = excluded.max_bytes, refused_bytes = excluded.refused_bytes, refused_at = excluded.refused_at,
               echoes_key = max(excluded.echoes_key, echoes_key)`,
          )
          .run(destination, account, passed ?? null, refused?.bytes ?? null, refused?.at ?? null, echoesKey ? 1 : 0);
      }),
  };
};

/** What is known of an address, in its row. */
export const addressColumns = "max_bytes, refused_bytes, refused_at, echoes_key";
export const ofAddress = "WHERE destination = ? AND account = ?";

export const addressIn = (row: Row | undefined): ScopeLedger["address"] => ({
  sizes: {
    passed: row === undefined || row.isNull("max_bytes") ? undefined : row.integer("max_bytes"),
    refused:
      row === undefined || row.isNull("refused_bytes") || row.isNull("refused_at")
        ? undefined
        : { bytes: row.integer("refused_bytes"), at: row.integer("refused_at") },
  },
  echoesKey: row?.integer("echoes_key") === 1,
});

async function* nothing(): AsyncGenerator<Entry, void> {}

/** The columns that tell a scope from every other, and its values in them. */
export const scopeColumns = "destination, account, model, split, batch, has_batch";

export const valuesOf = ({ destination, account, model, split, batch }: LedgerScope): readonly (string | number)[] => [
  destination,
  account,
  model,
  split,
  batch ?? "",
  batch === null ? 0 : 1,
];

const idOfScope = (database: Database, scope: LedgerScope): number | undefined =>
  database
    .prepare(
      `SELECT id FROM scope WHERE destination = ? AND account = ? AND model = ? AND split = ? AND batch = ? AND has_batch = ?`,
    )
    .get(...valuesOf(scope))
    ?.integer("id");

const newScope = (database: Database, scope: LedgerScope): number => {
  database
    .prepare(`INSERT INTO scope (${scopeColumns}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
    .run(...valuesOf(scope));
  return idOfScope(database, scope) ?? 0;
};

/**
 * The `Idempotency-Key` of a request: a digest over what it belongs to and its groups, never over content alone.
 * @param generation tells a deliberate second logging of the same groups from the first; empty for the first
 */
export const keyOf = (scope: LedgerScope, marks: Uint8Array, generation: string): string =>
  createHash("sha256").update(scopeDigest(scope, generation)).update(marks).digest("hex");

/** A digest over what tells a scope from every other. */
export const scopeDigest = ({ destination, account, model, split, batch }: LedgerScope, generation = ""): string =>
  createHash("sha256")
    .update(JSON.stringify([destination, account, model, split, batch, generation]))
    .digest("hex");
