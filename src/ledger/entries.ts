/** The requests in a ledger, and how they are read. */
import { createHash } from "node:crypto";
import type { Database, Row, Statement } from "../database/index.ts";

/** What a group is logged to: equal groups in another scope are others (guarantees.md). */
export interface LedgerScope {
  /** The log address with its path; for the local service its store. */
  readonly destination: string;
  readonly account: string;
  readonly model: string;
  readonly split: string;
  readonly batch: string | null;
}

/** A digest of what tells a scope from all others. */
export const hashScope = ({ destination, account, model, split, batch }: LedgerScope, generation = ""): string =>
  createHash("sha256")
    .update(JSON.stringify([destination, account, model, split, batch, generation]))
    .digest("hex");

/** The `Idempotency-Key` of a request: a digest of its scope, `generation` and groups, never of content alone. */
export const makeIdempotencyKey = (scope: LedgerScope, marks: Uint8Array, generation: string): string =>
  createHash("sha256").update(hashScope(scope, generation)).update(marks).digest("hex");

/** States of a request. `trying` is in flight, or was when its run died; `released` counts as never sent. */
const states = ["trying", "logged", "refused", "not_sent", "unknown", "assumed_logged", "released"] as const;

/** The outcome of a request, as far as it is known. */
export type EntryState = (typeof states)[number];

/** States that people ask about, in the order in which they are told. */
export const ledgerStates = ["logged", "assumed_logged", "unknown", "trying", "refused", "not_sent"] as const;

/** True if the groups of a request are logged, as far as the ledger knows. */
export const isLogged = (state: EntryState): boolean => state === "logged" || state === "assumed_logged";

/** True if nobody can know the outcome: `trying` is unknown to all but those who hold the scope. */
export const isUnknown = (state: EntryState): boolean => state === "unknown" || state === "trying";

/** A request in the ledger. Times are milliseconds since 1970. */
export interface Entry {
  /** Names it on the command line: `ledger resolve <id>`. */
  readonly id: string;
  readonly state: EntryState;
  readonly scope: LedgerScope;
  /** The last name of its input. */
  readonly input: string;
  readonly groups: number;
  readonly bytes: number;
  readonly key: string;
  readonly firstTried: number;
  readonly lastTried: number;
  readonly attempts: number;
  readonly status: number | null;
  /** Code of the obstacle; null if there was none. */
  readonly cause: string | null;
  /** Ids of the calls in the answer. */
  readonly calls: readonly string[];
  /** The dedup keys of its groups, `dedupKeyBytes` each, in the order of the request. */
  readonly marks: Uint8Array;
  /** Digest of the request envelope. */
  readonly frame: string;
}

/** Selects entries; undefined selects all. */
export interface EntryFilter {
  readonly model?: string | undefined;
  readonly split?: string | undefined;
  readonly batch?: string | undefined;
  readonly states?: readonly EntryState[];
  /** Entries last tried before, or at and after, this time. */
  readonly before?: number | undefined;
  readonly since?: number | undefined;
  readonly matchesScope?: (scope: LedgerScope) => boolean;
}

/** Entries, and bytes of them, that are in memory at once. */
const maxPortionEntries = 150;
const maxPortionBytes = 2 * 1024 * 1024;

/** Requests with their scopes. */
export const requestsWithScopesSql =
  "rollcall.request AS request JOIN rollcall.scope AS scope ON scope.id = request.scope";

/** Reads the entries for which a condition on `request` and `scope` holds, oldest first. */
export async function* readEntries(
  database: Database,
  { sql: condition, values = [] }: Statement,
): AsyncGenerator<Entry, void> {
  const sql = `
    WITH next AS (
      SELECT request.id AS next_id, octet_length(marks) + octet_length(calls) AS size FROM ${requestsWithScopesSql}
      WHERE (${condition}) AND request.id > ? ORDER BY request.id LIMIT ${maxPortionEntries}),
    sized AS (SELECT next_id, sum(size) OVER (ORDER BY next_id) - size AS ahead FROM next)
    SELECT request.id AS id, state, ${scopeColumns}, input, groups, bytes, key,
      first_tried, last_tried, attempts, status, cause, calls, marks, frame, (SELECT count(*) FROM next) AS found
    FROM ${requestsWithScopesSql} JOIN sized ON request.id = next_id WHERE ahead < ${maxPortionBytes} ORDER BY request.id`;
  for (let last = 0; ; ) {
    const rows = await database.query(sql, [...values, last]);
    for (const row of rows) {
      last = row.integer("id");
      yield toEntry(row);
    }
    const found = rows[0]?.integer("found") ?? 0;
    if (found < maxPortionEntries && rows.length === found) return;
  }
}

/** Reads the entries that a filter selects. */
export async function* selectEntries(database: Database, filter: EntryFilter): AsyncGenerator<Entry, void> {
  const all = [
    ["model = ?", filter.model],
    ["split = ?", filter.split],
    ["has_batch = 1 AND batch = ?", filter.batch],
    ["last_tried < ?", filter.before],
    ["last_tried >= ?", filter.since],
  ] as const;
  const conditions = all.flatMap(([condition, value]) => (value === undefined ? [] : [condition]));
  const values = all.flatMap(([, value]) => (value === undefined ? [] : [value]));
  for await (const entry of readEntries(database, { sql: ["1 = 1", ...conditions].join(" AND "), values })) {
    const isState = filter.states === undefined || filter.states.includes(entry.state);
    if (isState && (filter.matchesScope === undefined || filter.matchesScope(entry.scope))) yield entry;
  }
}

/** The columns that tell a scope from all others. */
export const scopeColumns = "destination, account, model, split, batch, has_batch";

/** Converts a row with `scopeColumns`. */
export const toScope = (row: Row): LedgerScope => ({
  destination: row.text("destination"),
  account: row.text("account"),
  model: row.text("model"),
  split: row.text("split"),
  batch: row.integer("has_batch") === 1 ? row.text("batch") : null,
});

const toEntry = (row: Row): Entry => ({
  id: formatId(row.integer("id")),
  // An unknown state is treated as `unknown`, so that nothing is sent twice because of it.
  state: states.find((state) => state === row.text("state")) ?? "unknown",
  scope: toScope(row),
  input: row.text("input"),
  groups: row.integer("groups"),
  bytes: row.integer("bytes"),
  key: row.text("key"),
  firstTried: row.integer("first_tried"),
  lastTried: row.integer("last_tried"),
  attempts: row.integer("attempts"),
  status: row.isNull("status") ? null : row.integer("status"),
  cause: row.isNull("cause") ? null : row.text("cause"),
  calls: parseCalls(row.text("calls")),
  marks: row.bytes("marks"),
  frame: row.text("frame"),
});

/** Groups are known even if the ids of their calls are damaged. */
const parseCalls = (text: string): readonly string[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
};

/** Requests, and the groups in them, by state. */
export type EntryCounts = ReadonlyMap<string, { readonly requests: number; readonly groups: number }>;

/** Asks for the counts. */
export const countsSql =
  "SELECT state, count(*) AS requests, CAST(sum(groups) AS BIGINT) AS groups FROM rollcall.request GROUP BY state";

/** Converts the rows of `countsSql`. */
export const toCounts = (rows: readonly Row[]): EntryCounts =>
  new Map(rows.map((row) => [row.text("state"), { requests: row.integer("requests"), groups: row.integer("groups") }]));

/** Formats the row of a request as an id. */
export const formatId = (row: number): string => `r${row}`;

/** Parses an id as people type it; 0, which is not a row, if it is not an id. */
export const parseId = (id: string): number => (/^r[1-9]\d{0,14}$/.test(id) ? Number(id.slice(1)) : 0);
