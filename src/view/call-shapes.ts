/** What the page asks its server for where calls are looked at, and what it is answered. */
import type { Listed } from "./shapes.ts";

/** What calls are looked at. */
export interface CallsSummary {
  /** Where they are from: a project and its service. */
  readonly from: string;
  /** How many could not be read. */
  readonly unread: number;
  /** Why no more of them are read; null where all are. */
  readonly stopped: string | null;
}

/** What a table of calls can be sorted by; `call` is the order in which they were asked for. */
export const callSortKeys = ["call", "op", "model", "status", "when", "tokens", "cost", "size", "duration"] as const;
export type CallSortKey = (typeof callSortKeys)[number];

/** How a call stands, as far as it could be read. */
export const callStatuses = ["ok", "failed", "running", "deleted", "unread"] as const;
type CallStatus = (typeof callStatuses)[number];

/** Which calls are wanted, in which order: as a query of an address has it. */
export interface CallSelection {
  readonly sort: CallSortKey;
  readonly descending: boolean;
  readonly status?: CallStatus | undefined;
  /** Calls whose bytes hold a text, as it is written. */
  readonly text?: string | undefined;
}

/** What of a call stands in a table; what it does not say is null. */
export interface CallFacts {
  readonly name: string;
  readonly op: string;
  readonly model: string;
  readonly status: CallStatus;
  /** When it began, as the service spells it. */
  readonly when: string;
  readonly tokens: number | null;
  /** US dollars, in exact decimals. */
  readonly cost: string | null;
  /** Bytes. */
  readonly size: number | null;
  readonly seconds: number | null;
}

/** A call in the table. */
export interface CallRow {
  readonly id: string;
  /** Null until it was read, and where it can't be. */
  readonly facts: CallFacts | null;
  /** Why it could not be read. */
  readonly why: string | null;
}

/** `GET /api/calls` */
export type CallRows = Listed<CallRow>;

/** `GET /api/calls/<id>`: read when it is asked for. */
export interface CallDetail extends CallRow {
  /** Its position among those that were asked for, and its neighbours there. */
  readonly at: number;
  readonly of: number;
  readonly before: string | null;
  readonly after: string | null;
  /** What is said of it first, line by line: a label that is empty goes on with the one before. */
  readonly lines: readonly { readonly label: string; readonly text: string }[];
  /** As the service wrote it; empty where it could not be read. */
  readonly json: string;
  /** The command that reads it. */
  readonly command: string;
  /** The trajectory that it is, as JSON, where one was logged. */
  readonly trajectory: string | null;
}
