/** Reads the requests in a ledger. */
import { createHash, hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { Database, Row, SqlStatement } from "../../database/database.ts";
import { parseJson } from "../../json/json-bytes.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";

/** rollcall logs a group once in each scope (guarantees.md). */
export interface LedgerScope {
  /** The log URL, or the path of the local store. */
  readonly destination: string;
  readonly account: string;
  readonly model: string;
  readonly split: string;
  readonly batch: string | null;
}

export const hashScope = ({ destination, account, model, split, batch }: LedgerScope, nonce = "") =>
  hash("sha256", JSON.stringify([destination, account, model, split, batch, nonce]));

/** `nonce` is unique for a run with `--resend-logged` or without a ledger, and empty for other runs. */
export const makeIdempotencyKey = (scope: LedgerScope, dedupKeys: Uint8Array, nonce: string) =>
  createHash("sha256").update(hashScope(scope, nonce)).update(dedupKeys).digest("hex");

/** States in display order. A `trying` request is in flight, or its run died. `released` counts as never sent. */
export const ledgerStates = [
  ...(["logged", "assumed_logged", "unknown", "trying"] as const),
  ...(["refused", "not_sent", "released"] as const),
] as const;

export type EntryState = (typeof ledgerStates)[number];

export const formatState = (state: EntryState) => state.replace("_", " ");

export const isLogged = (state: EntryState) => state === "logged" || state === "assumed_logged";

/** A `trying` request counts as unknown, because the ledger does not contain its outcome. */
export const isUnknown = (state: EntryState) => state === "unknown" || state === "trying";

export type EntryFilter = Readonly<{
  model?: string | undefined;
  split?: string | undefined;
  batch?: string | undefined;
  matchesScope?: (scope: LedgerScope) => boolean;
}>;

const maxPortionEntries = 150;
const maxPortionBytes = 2 * 1024 * 1024;

export const scopedRequestsSql = "rollcall.request AS request JOIN rollcall.scope AS scope ON scope.id = request.scope";

/** A run keeps its claims to groups that it did not send, because it may retry them. */
const sharedStateSql = `CASE WHEN state = 'not_sent'
  AND EXISTS (SELECT 1 FROM rollcall.mark AS held WHERE held.request = request.id) THEN 'trying' ELSE state END`;

/** Yields the oldest entries first. Between portions, Node reports signals. */
export async function* readEntries(database: Database, { sql: condition, values = [] }: SqlStatement) {
  const sql = `
    WITH next AS (
      SELECT request.id AS next_id, octet_length(marks) + coalesce(octet_length(sampled), 0) AS size FROM ${scopedRequestsSql}
      WHERE (${condition}) AND request.id > ? ORDER BY request.id LIMIT ${maxPortionEntries}),
    sized AS (SELECT next_id, sum(size) OVER (ORDER BY next_id) - size AS ahead FROM next)
    SELECT request.id AS id, ${database.isShared ? sharedStateSql : "state"} AS state, ${scopeColumns}, input, groups, bytes, key,
      first_tried, last_tried, attempts, status, cause, calls, marks, frame, sampled, checksum
    FROM ${scopedRequestsSql} JOIN sized ON request.id = next_id
    WHERE ahead < ${maxPortionBytes} ORDER BY request.id`;
  for (let last = 0; ; ) {
    const rows = await database.query(sql, [...values, last]);
    if (rows.length === 0) return;
    await setImmediate();
    for (const row of rows) {
      last = row.integer("id");
      yield toEntry(row);
    }
  }
}

/** A condition for `scopedRequestsSql`, which ignores `matchesScope`. */
const toCondition = ({ model, split, batch }: EntryFilter) => {
  const conditions = [
    ["model = ?", model],
    ["split = ?", split],
    ["has_batch = 1 AND batch = ?", batch],
  ] as const;
  return {
    sql: ["1 = 1", ...conditions.flatMap(([sql, value]) => (value === undefined ? [] : sql))].join(" AND "),
    values: conditions.flatMap(([, value = []]) => value),
  };
};

export async function* selectEntries(database: Database, filter: EntryFilter) {
  for await (const entry of readEntries(database, toCondition(filter)))
    if (filter.matchesScope?.(entry.scope) ?? true) yield entry;
}

export const scopeColumns = "destination, account, model, split, batch, has_batch";

export const toScope = (row: Row): LedgerScope => ({
  destination: row.text("destination"),
  account: row.text("account"),
  model: row.text("model"),
  split: row.text("split"),
  batch: row.integer("has_batch") === 1 ? row.text("batch") : null,
});

export const isScopeSql = `(${scopeColumns}) = (?, ?, ?, ?, ?, ?)`;

export const toScopeValues = ({ destination, account, model, split, batch }: LedgerScope) => [
  ...[destination, account, model, split, batch ?? ""],
  batch === null ? 0 : 1,
];

/** The parts of a request that no later attempt changes. Times are milliseconds since 1970. */
export interface RequestContent {
  readonly input: string;
  readonly bytes: number;
  readonly key: string;
  readonly firstTried: number;
  /** One key of `dedupKeyBytes` bytes for each group of the request. */
  readonly dedupKeys: Uint8Array;
  readonly envelopeDigest: string;
  /** The result of `collectSampled`; empty if unknown. */
  readonly sampled: Uint8Array;
}

export interface Entry extends RequestContent {
  readonly id: string;
  readonly state: EntryState;
  readonly scope: LedgerScope;
  readonly groups: number;
  readonly lastTried: number;
  readonly attempts: number;
  readonly status: number | null;
  readonly cause: string | null;
  /** The number of calls that the service named. */
  readonly calls: number;
}

/** Finds damage that SQLite does not notice. */
export const computeChecksum = (scope: LedgerScope, content: RequestContent) => {
  const { input, bytes, key, firstTried, envelopeDigest, dedupKeys, sampled } = content;
  const texts = JSON.stringify([toScopeValues(scope), input, bytes, key, firstTried, envelopeDigest]);
  // The checksum of an empty array can be 0, whatever the sum before.
  const parts = [dedupKeys, sampled].filter(({ length }) => length > 0);
  return parts.reduce((sum, part) => crc32(part, sum), crc32(texts));
};

/** @throws Failure `database-corrupt` */
const toEntry = (row: Row): Entry => {
  const scope = toScope(row);
  const content = {
    input: row.text("input"),
    bytes: row.integer("bytes"),
    key: row.text("key"),
    firstTried: row.integer("first_tried"),
    dedupKeys: row.bytes("marks"),
    envelopeDigest: row.text("frame"),
    sampled: row.isNull("sampled") ? new Uint8Array() : row.bytes("sampled"),
  };
  // Version 3 had no checksums.
  row.requireIntact(row.isNull("checksum") || row.integer("checksum") === computeChecksum(scope, content));
  return {
    ...content,
    scope,
    id: formatId(row.integer("id")),
    // An unexpected state counts as `unknown`, so that rollcall sends nothing twice.
    state: ledgerStates.find((state) => state === row.text("state")) ?? "unknown",
    groups: row.integer("groups"),
    lastTried: row.integer("last_tried"),
    attempts: row.integer("attempts"),
    status: row.isNull("status") ? null : row.integer("status"),
    cause: row.isNull("cause") ? null : row.text("cause"),
    calls: countCalls(row.text("calls")),
  };
};

/** Version 3 stored the list of ids. */
const countCalls = (text: string) => {
  const calls = parseJson(text)?.value;
  return Array.isArray(calls) ? calls.length : Number(calls);
};

export const findGroups = (dedupKeys: Uint8Array, numberOf: (dedupKeys: Uint8Array, offset: number) => number) => {
  const groups: number[] = [];
  for (let offset = 0; offset < dedupKeys.length; offset += dedupKeyBytes) {
    const group = numberOf(dedupKeys, offset);
    if (group >= 0) groups.push(group);
  }
  return groups;
};

export const formatId = (row: number) => `r${row}`;

/** Returns 0 for a text that is not an id. */
export const parseId = (id: string) => (/^r[1-9]\d{0,14}$/.test(id) ? Number(id.slice(1)) : 0);
