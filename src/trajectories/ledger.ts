/** Knows which groups were logged, refused or may have been: every request is in it, on disk, before its first byte leaves. */
import { createHash } from "node:crypto";
import { type Database, openDatabase, type Row } from "../database/index.ts";
import { type Marks, markBytes } from "./marks.ts";

/** What a request's groups belong to: equal groups under another of these are other groups (cli.md, "What the ledger promises"). */
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
  /** `markBytes` for each group, in the order of the request. */
  readonly marks: Uint8Array;
}

/** What a request is recorded with, before its first byte. */
export interface NewEntry {
  readonly marks: Uint8Array;
  readonly key: string;
  readonly input: string;
  readonly bytes: number;
  readonly now: number;
}

/** What became of a request. */
export interface Settlement {
  readonly state: Exclude<EntryState, "trying">;
  readonly status: number | null;
  readonly cause: string | null;
  readonly calls: readonly string[];
}

/** What the ledger knows of each group of a run's input. */
export interface Known {
  /** For each group: 0 where it is new or free to be sent, 1 where it is logged, 2 where it is unknown. */
  readonly states: Uint8Array;
  /** Requests with an unknown outcome that hold any of the groups. */
  readonly unknown: readonly Entry[];
  /** Groups that were logged from an input of another name, and the last time that happened; 0 and 0 where none was. */
  readonly otherInput: { readonly groups: number; readonly at: number };
}

/** States of a group, as `Known.states` has them. */
export const groupState = { free: 0, logged: 1, unknown: 2 } as const;

/** The ledger of one scope. Whoever writes it holds the scope's lock. */
export interface ScopeLedger {
  /** Settles what a run that died had in flight as unknown; how many requests those were. */
  recover(): number;
  known(marks: Marks, input: string): Known;
  /** Records a request as being tried, on disk; gives its id. */
  begin(entry: NewEntry): string;
  /** Records that a request is tried once more. */
  again(id: string, now: number): void;
  settle(id: string, settlement: Settlement): void;
  /** What the address was found to do: the largest body it took, and whether it echoes `Idempotency-Key`. */
  readonly address: { readonly maxBytes: number | undefined; readonly echoesKey: boolean };
  remember(found: { readonly maxBytes?: number; readonly echoesKey?: boolean }): void;
}

/** Which entries are meant; undefined means any. */
export interface EntryFilter {
  readonly model?: string;
  readonly split?: string;
  readonly batch?: string;
  readonly states?: readonly EntryState[];
  /** Only entries last tried before, or at and after, this time. */
  readonly before?: number;
  readonly since?: number;
}

/** The open ledger. Every way of using it throws a Failure of code `storage` where its file can't be used. */
export interface Ledger {
  readonly path: string;
  scope(scope: LedgerScope): ScopeLedger;
  /** Entries, oldest first, in bounded portions. */
  entries(filter: EntryFilter): Generator<Entry, void>;
  /** Settles an unknown entry by hand; false where there is none of this id that is unknown. */
  resolve(id: string, state: "assumed_logged" | "released"): boolean;
  /** Forgets entries; how many. Ones that are being tried stay. */
  forget(filter: EntryFilter): number;
  close(): void;
}

/** Marks a ledger's file as one: "rcLG". */
const applicationId = 0x72634c47;

/** Entries read at a time: bounds memory whatever the ledger's size. */
const portion = 64;

const migrations = [
  `CREATE TABLE scope (
     id INTEGER PRIMARY KEY, destination TEXT NOT NULL, account TEXT NOT NULL, model TEXT NOT NULL,
     split TEXT NOT NULL, batch TEXT NOT NULL, has_batch INTEGER NOT NULL,
     UNIQUE (destination, account, model, split, batch, has_batch));
   CREATE TABLE request (
     id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL REFERENCES scope (id), state TEXT NOT NULL,
     input TEXT NOT NULL, groups INTEGER NOT NULL, bytes INTEGER NOT NULL, key TEXT NOT NULL,
     first_tried INTEGER NOT NULL, last_tried INTEGER NOT NULL, attempts INTEGER NOT NULL,
     status INTEGER, cause TEXT, calls TEXT NOT NULL, marks BLOB NOT NULL);
   CREATE INDEX request_scope ON request (scope, id);
   CREATE TABLE address (
     destination TEXT NOT NULL, account TEXT NOT NULL, max_bytes INTEGER, echoes_key INTEGER NOT NULL,
     PRIMARY KEY (destination, account));`,
];

/**
 * Opens the ledger, and makes a new one where there is none.
 * @throws Failure `storage`: locked, corrupt, of a newer rollcall, no place to write, disk full
 */
export const openLedger = (path: string): Ledger => {
  const database = openDatabase({ path, title: "the ledger", applicationId, migrations });
  return {
    path,
    scope: (scope) => scopeLedger(database, scope),
    entries: (filter) => entriesOf(database, filter),
    resolve: (id, state) =>
      database.transaction(
        () =>
          database.prepare("UPDATE request SET state = ? WHERE id = ? AND state = 'unknown'").run(state, rowIdOf(id))
            .changes === 1,
      ),
    forget: (filter) =>
      database.transaction(() => {
        const ids = Array.from(entriesOf(database, filter), (entry) => entry).filter(({ state }) => state !== "trying");
        for (const { id } of ids) database.prepare("DELETE FROM request WHERE id = ?").run(rowIdOf(id));
        return ids.length;
      }),
    close: () => database.close(),
  };
};

/**
 * The `Idempotency-Key` of a request: a digest over what it belongs to and its groups, never over content alone.
 * @param generation tells a deliberate second logging of the same groups from the first; empty for the first
 */
export const keyOf = (scope: LedgerScope, marks: Uint8Array, generation: string): string => {
  const { destination, account, model, split, batch } = scope;
  const hash = createHash("sha256");
  hash.update(JSON.stringify([destination, account, model, split, batch, generation]));
  return hash.update(marks).digest("hex");
};

const scopeLedger = (database: Database, scope: LedgerScope): ScopeLedger => {
  const { destination, account } = scope;
  const scopeId = database.transaction(() => scopeIdOf(database, scope));
  const address = database
    .prepare("SELECT max_bytes, echoes_key FROM address WHERE destination = ? AND account = ?")
    .get(destination, account);
  return {
    address: {
      maxBytes: address === undefined || address.isNull("max_bytes") ? undefined : address.integer("max_bytes"),
      echoesKey: address !== undefined && address.integer("echoes_key") === 1,
    },
    recover: () =>
      database.transaction(
        () =>
          database
            .prepare("UPDATE request SET state = 'unknown', cause = 'died' WHERE scope = ? AND state = 'trying'")
            .run(scopeId).changes,
      ),
    known: (marks, input) => knownOf(entriesWhere(database, "request.scope = ?", [scopeId]), marks, input),
    begin: ({ marks, key, input, bytes, now }) =>
      database.transaction(() =>
        idOf(
          database
            .prepare(
              `INSERT INTO request (scope, state, input, groups, bytes, key, first_tried, last_tried, attempts, calls, marks)
               VALUES (?, 'trying', ?, ?, ?, ?, ?, ?, 1, '[]', ?)`,
            )
            .run(scopeId, input, marks.length / markBytes, bytes, key, now, now, marks).rowId,
        ),
      ),
    again: (id, now) =>
      database.transaction(() => {
        database
          .prepare("UPDATE request SET state = 'trying', last_tried = ?, attempts = attempts + 1 WHERE id = ?")
          .run(now, rowIdOf(id));
      }),
    settle: (id, { state, status, cause, calls }) =>
      database.transaction(() => {
        database
          .prepare("UPDATE request SET state = ?, status = ?, cause = ?, calls = ? WHERE id = ?")
          .run(state, status, cause, JSON.stringify(calls), rowIdOf(id));
      }),
    remember: ({ maxBytes, echoesKey }) =>
      database.transaction(() => {
        database
          .prepare(
            `INSERT INTO address (destination, account, max_bytes, echoes_key) VALUES (?, ?, ?, ?)
             ON CONFLICT (destination, account) DO UPDATE SET
               max_bytes = coalesce(excluded.max_bytes, max_bytes), echoes_key = max(excluded.echoes_key, echoes_key)`,
          )
          .run(destination, account, maxBytes ?? null, echoesKey === true ? 1 : 0);
      }),
  };
};

const scopeIdOf = (database: Database, { destination, account, model, split, batch }: LedgerScope): number => {
  const values = [destination, account, model, split, batch ?? "", batch === null ? 0 : 1];
  database
    .prepare(
      `INSERT INTO scope (destination, account, model, split, batch, has_batch) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    )
    .run(...values);
  const row = database
    .prepare(
      `SELECT id FROM scope WHERE destination = ? AND account = ? AND model = ? AND split = ? AND batch = ? AND has_batch = ?`,
    )
    .get(...values);
  return row?.integer("id") ?? 0;
};

const entryColumns = `request.id AS id, state, destination, account, model, split, batch, has_batch, input, groups, bytes, key,
  first_tried, last_tried, attempts, status, cause, calls, marks`;

/** Entries that a condition on `request` and `scope` holds for, oldest first, a portion in memory at a time. */
function* entriesWhere(
  database: Database,
  condition: string,
  values: readonly (string | number)[],
): Generator<Entry, void> {
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

function* entriesOf(database: Database, filter: EntryFilter): Generator<Entry, void> {
  const conditions = ["1"];
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
  for (const entry of entriesWhere(database, conditions.join(" AND "), values)) {
    if (filter.states === undefined || filter.states.includes(entry.state)) yield entry;
  }
}

const entryOf = (row: Row): Entry => ({
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

const callsOf = (text: string): readonly string[] => {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
};

const idOf = (rowId: number): string => `r${rowId}`;

/** The row of an id as people type it; 0, which is no row, where it is none. */
const rowIdOf = (id: string): number => (/^r[1-9]\d{0,14}$/.test(id) ? Number(id.slice(1)) : 0);

/** Holds a run's groups against entries, one entry at a time, so that memory goes by the input and not by the ledger. */
const knownOf = (entries: Iterable<Entry>, marks: Marks, input: string): Known => {
  const known = new Uint8Array(marks.count);
  const unknown: Entry[] = [];
  const other = new Set<number>();
  let otherAt = 0;
  for (const entry of entries) {
    const found = stateThatCounts(entry.state);
    if (found === groupState.free) continue;
    let any = false;
    for (let offset = 0; offset < entry.marks.length; offset += markBytes) {
      const group = marks.find(entry.marks, offset);
      if (group < 0) continue;
      any = true;
      // What was logged once stays logged, whatever a later try of the same group came to.
      if (known[group] !== groupState.logged) known[group] = found;
      if (found === groupState.logged && entry.input !== input) other.add(group);
    }
    if (any && found === groupState.unknown) unknown.push(entry);
    if (any && found === groupState.logged && entry.input !== input) otherAt = Math.max(otherAt, entry.lastTried);
  }
  return { states: known, unknown, otherInput: { groups: other.size, at: otherAt } };
};

/** `trying` counts as unknown for whoever looks without the lock; with it, `recover` has made it so. */
const stateThatCounts = (state: EntryState): number => {
  if (state === "logged" || state === "assumed_logged") return groupState.logged;
  return state === "unknown" || state === "trying" ? groupState.unknown : groupState.free;
};
