/** The lists that `rollcall ledger` prints: requests, and the calls that their answers named. */

import type { Entry } from "../../ledger/index.ts";
import { type Column, type ListView, textColumn } from "../../output/index.ts";

/** Requests of a ledger; `groups` are what becomes of those of files, where any were given. */
export const entriesView = (
  entries: readonly Entry[],
  { groups, everywhere }: { readonly groups?: unknown; readonly everywhere: boolean },
): ListView<Entry> => ({
  columns: everywhere ? entryColumns.map(toldApart) : entryColumns,
  rows: entries,
  wire: {
    bytes: Buffer.from(JSON.stringify({ groups: groups ?? null, entries: entries.map(entryDocument) })),
    member: "entries",
  },
});

const isoOf = (ms: number): string => new Date(ms).toISOString();

const entryDocument = (entry: Entry) => ({
  id: entry.id,
  state: entry.state,
  model_id: entry.scope.model,
  split: entry.scope.split,
  batch: entry.scope.batch,
  groups: entry.groups,
  bytes: entry.bytes,
  input: entry.input,
  destination: entry.scope.destination,
  account: entry.scope.account,
  attempts: entry.attempts,
  first_tried: isoOf(entry.firstTried),
  last_tried: isoOf(entry.lastTried),
  status: entry.status,
  cause: entry.cause,
  calls: entry.calls.length,
});

/** Where entries of several destinations stand together, what tells those apart goes before the rest. */
const toldApart = <Row>(column: Column<Row>): Column<Row> =>
  column.name === "destination" || column.name === "account" ? { ...column, rank: 1 } : column;

const numberColumn = (name: string, rank: number, value: (entry: Entry) => number): Column<Entry> => ({
  name,
  heading: name,
  align: "right",
  rank,
  cell: (entry) => String(value(entry)),
  value,
});

const entryColumns: readonly Column<Entry>[] = [
  textColumn("id", { rank: 0, text: ({ id }) => id }),
  {
    ...textColumn<Entry>("state", {
      rank: 0,
      text: ({ state }) => state.replace("_", " "),
      value: ({ state }) => state,
    }),
    mark: ({ state }) => (state === "unknown" ? { text: "settle it", tone: "warning" } : undefined),
  },
  numberColumn("groups", 1, ({ groups }) => groups),
  textColumn("last_tried", {
    heading: "last tried\nUTC",
    rank: 2,
    text: ({ lastTried }) => isoOf(lastTried).slice(0, 16).replace("T", " "),
    value: ({ lastTried }) => isoOf(lastTried),
  }),
  textColumn("model_id", { heading: "model", rank: 3, text: ({ scope }) => scope.model }),
  textColumn("split", { rank: 4, text: ({ scope }) => scope.split }),
  textColumn("batch", { rank: 5, text: ({ scope }) => scope.batch ?? "" }),
  textColumn("input", { rank: 6, text: ({ input }) => input }),
  numberColumn("bytes", 8, ({ bytes }) => bytes),
  numberColumn("attempts", 9, ({ attempts }) => attempts),
  textColumn("status", { rank: 7, text: ({ status, cause }) => String(status ?? cause ?? "") }),
  textColumn("destination", { rank: 10, text: ({ scope }) => scope.destination }),
  textColumn("account", { rank: 11, text: ({ scope }) => scope.account }),
];

/** A call that the service's answer named, and the request that it answered. */
export interface LoggedCall {
  readonly id: string;
  readonly entry: Entry;
}

/** The calls that answers named. */
export const callsView = (
  calls: readonly LoggedCall[],
  { everywhere }: { readonly everywhere: boolean },
): ListView<LoggedCall> => ({
  columns: everywhere ? [...callColumns, ...placeColumns.map(toldApart)] : callColumns,
  rows: calls,
  wire: { bytes: Buffer.from(JSON.stringify({ calls: calls.map(callDocument) })), member: "calls" },
});

const callDocument = ({ id, entry }: LoggedCall) => ({
  id,
  model_id: entry.scope.model,
  split: entry.scope.split,
  batch: entry.scope.batch,
  logged_at: isoOf(entry.lastTried),
  destination: entry.scope.destination,
  account: entry.scope.account,
});

const callColumns: readonly Column<LoggedCall>[] = [
  textColumn("id", { rank: 0, text: ({ id }) => id }),
  textColumn("model_id", { heading: "model id", rank: 1, text: ({ entry }) => entry.scope.model }),
  textColumn("split", { rank: 2, text: ({ entry }) => entry.scope.split }),
  textColumn("batch", { rank: 3, text: ({ entry }) => entry.scope.batch ?? "" }),
  textColumn("logged_at", { heading: "logged at", rank: 4, text: ({ entry }) => isoOf(entry.lastTried) }),
];

const placeColumns: readonly Column<LoggedCall>[] = [
  textColumn("destination", { rank: 5, text: ({ entry }) => entry.scope.destination }),
  textColumn("account", { rank: 6, text: ({ entry }) => entry.scope.account }),
];
