/** Reads the ledger's entries. */
import type { Database, Row } from "../database/index.ts";

/** What a request's groups belong to: equal groups under another of these are other groups (promises.md, "What the ledger promises"). */
export interface LedgerScope {
  /** The log address with its path; for the local service its store. */
  readonly destination: string;
  readonly account: string;
  readonly model: string;
  readonly split: string;
  readonly batch: string | null;
}

/** What is known of a request. `trying` is in flight, or was when its run died; `released` ones count as never sent. */
export type EntryState = "trying" | "logged" | "refused" | "not_sent" | "unknown" | "assumed_logged" | "released";

/** Whether nobody can know what became of a request. `trying` counts as unknown for whoever looks without the scope's lock; with it, `recover` has made it so. */
export const isUnknown = (state: EntryState): boolean => state === "unknown" || state === "trying";

/** One request of the ledger. Times are milliseconds since 1970. */
export interface Entry {
  /** Names it on the command line: `ledger resolve <id>`. */
  readonly id: string;
  readonly state: EntryState;
  readonly scope: LedgerScope;
  /** The input it was made of, by its last name. */
  readonly input: string;
  readonly groups: number;
  readonly bytes: number;
  readonly key: string;
  readonly firstTried: number;
  readonly lastTried: number;
  readonly attempts: number;
  readonly status: number | null;
  /** What was in the way, as a code; null where nothing was. */
  readonly cause: string | null;
  /** Identifiers of calls that the answer named. */
  readonly calls: readonly string[];
  /** `dedupKeyBytes` for each group, in the order of the request. */
  readonly marks: Uint8Array;
  /** Digest of what stood around its groups. */
  readonly frame: string;
}

/** Which entries are meant; undefined means any. */
export interface EntryFilter {
  readonly model?: string | undefined;
  readonly split?: string | undefined;
  readonly batch?: string | undefined;
  readonly states?: readonly EntryState[];
  /** Only entries last tried before, or at and after, this time. */
  readonly before?: number | undefined;
  readonly since?: number | undefined;
  /** Only entries of scopes that this holds for. */
  readonly isOf?: (scope: LedgerScope) => boolean;
}

/** Entries read at a time: bounds memory whatever the ledger's size. */
const portion = 64;

/** What of a request an entry is made of. */
export const entryColumns = `request.id AS id, state, destination, account, model, split, batch, has_batch, input, groups, bytes, key,
  first_tried, last_tried, attempts, status, cause, calls, marks, frame`;

/** Entries that a condition on `request` and `scope` holds for, oldest first, a portion in memory at a time. */
export async function* entriesWhere(
  database: Database,
  condition: string,
  values: readonly (string | number)[],
): AsyncGenerator<Entry, void> {
  const statement = database.prepare(
    `SELECT ${entryColumns} FROM request JOIN scope ON scope.id = request.scope
     WHERE (${condition}) AND request.id > ? ORDER BY request.id LIMIT ${portion}`,
  );
  let last = 0;
  for (;;) {
    const rows = statement.all(...values, last);
    for (const row of rows) {
      last = row.integer("id");
      yield entryOf(row);
    }
    if (rows.length < portion) return;
  }
}

/** Entries that a filter holds for. */
export async function* entriesOf(
  filter: EntryFilter,
  where: (condition: string, values: readonly (string | number)[]) => AsyncIterable<Entry>,
): AsyncGenerator<Entry, void> {
  const conditions = ["1 = 1"];
  const values: (string | number)[] = [];
  const add = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  add("model = ?", filter.model);
  add("split = ?", filter.split);
  add("has_batch = 1 AND batch = ?", filter.batch);
  add("last_tried < ?", filter.before);
  add("last_tried >= ?", filter.since);
  for await (const entry of where(conditions.join(" AND "), values)) {
    const isState = filter.states === undefined || filter.states.includes(entry.state);
    if (isState && (filter.isOf === undefined || filter.isOf(entry.scope))) yield entry;
  }
}

export const entryOf = (row: Row): Entry => ({
  id: idOf(row.integer("id")),
  state: stateOf(row.text("state")),
  scope: {
    destination: row.text("destination"),
    account: row.text("account"),
    model: row.text("model"),
    split: row.text("split"),
    batch: row.integer("has_batch") === 1 ? row.text("batch") : null,
  },
  input: row.text("input"),
  groups: row.integer("groups"),
  bytes: row.integer("bytes"),
  key: row.text("key"),
  firstTried: row.integer("first_tried"),
  lastTried: row.integer("last_tried"),
  attempts: row.integer("attempts"),
  status: row.isNull("status") ? null : row.integer("status"),
  cause: row.isNull("cause") ? null : row.text("cause"),
  calls: callsOf(row.text("calls")),
  marks: row.bytes("marks"),
  frame: row.text("frame"),
});

const states: readonly EntryState[] = [
  "trying",
  "logged",
  "refused",
  "not_sent",
  "unknown",
  "assumed_logged",
  "released",
];

/** A state that is not known is taken for `unknown`: nothing is sent twice because of it. */
const stateOf = (text: string): EntryState => states.find((state) => state === text) ?? "unknown";

/** Calls that can't be read any more are no reason to know nothing of the groups. */
const callsOf = (text: string): readonly string[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
};

/** Requests, and the groups in them, by what became of them. */
export type EntryCounts = ReadonlyMap<string, { readonly requests: number; readonly groups: number }>;

/** Asks for the counts of a table of requests. */
export const countsSql = (table: string): string =>
  `SELECT state, count(*) AS requests, CAST(sum(groups) AS BIGINT) AS groups FROM ${table} GROUP BY state`;

export const countsIn = (rows: readonly Row[]): EntryCounts =>
  new Map(rows.map((row) => [row.text("state"), { requests: row.integer("requests"), groups: row.integer("groups") }]));

export const idOf = (rowId: number): string => `r${rowId}`;

/** The row of an id as people type it; 0, which is no row, where it is none. */
export const rowIdOf = (id: string): number => (/^r[1-9]\d{0,14}$/.test(id) ? Number(id.slice(1)) : 0);
