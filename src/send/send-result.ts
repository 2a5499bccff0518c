/** Defines the result of sending, and reads call ids of answers. */
import type { Retry } from "../client/index.ts";
import type { Failure } from "../failure.ts";
import { getValue, parseJson } from "../json/json-bytes.ts";
import type { RejectedGroup } from "./rejects.ts";
import type { Outcome, SentRequest } from "./request.ts";

export interface SendProgress {
  /** The number of requests that ended, with any outcome. */
  requests: number;
  of: number;
  /** Bytes that are logged or being sent. */
  bytes: number;
  ofBytes: number;
  groups: number;
  change: RequestChange | undefined;
}

export interface RequestChange {
  outcome: Outcome;
  retry: Retry | undefined;
  groups: number;
  bytes: number;
  reason: string;
  failure: Failure | undefined;
}

export interface SendResult {
  replies: PrintedAnswer[];
  /** Answers with a status 2xx that are incomplete, not JSON, or state an error. */
  doubtfulReplies: { request: string | number; status: number; isCut: boolean; said: string | undefined }[];
  firstCall: string | undefined;
  attempted: number;
  attemptedBytes: number;
  attemptedOrQueued: number;
  /** If a 413 divided the only planned request, the number of logged requests; otherwise 0. */
  dividedInto: number;
  /** The failure of a request that rollcall was retrying when the run ended. */
  obstacle: Failure | undefined;
  refused: RejectedGroup[];
  unknownIds: Set<string | undefined>;
  /** Requests with a known outcome that the ledger could not record. */
  unrecorded: { id: string | undefined; status: number | null; isLogged: boolean }[];
  recordFailure: Failure | undefined;
  unknown: (SentRequest & { isKeyHonored: boolean }) | undefined;
  stop: Failure | undefined;
}

export const emptySendResult = (stop?: Failure): SendResult => ({
  ...{ replies: [], doubtfulReplies: [], refused: [], unrecorded: [], unknownIds: new Set() },
  ...{ attempted: 0, attemptedBytes: 0, attemptedOrQueued: 0, dividedInto: 0 },
  ...{ firstCall: undefined, obstacle: undefined, unknown: undefined, recordFailure: undefined, stop },
});

/** If all answers together are larger, rollcall prints none of them (output.md). */
export const maxPrintedBytes = 64 * 1024;

export interface PrintedAnswer {
  status: number;
  bytes: number;
  body: Uint8Array | undefined;
}

export const emptyCallList = "[]";

const maxCallIdBytes = 200;

/** Assumed: the key is `call_ids`. Returns the ids as JSON, or `[]` if they are missing or invalid. */
export const findCallList = (body: Uint8Array, maxCalls: number, redact: (json: string) => string) => {
  const calls = getValue(parseJson(Buffer.from(body).toString("utf8"))?.value, ["call_ids"]);
  const isId = (id: unknown) => typeof id === "string" && Buffer.byteLength(id) <= maxCallIdBytes;
  return Array.isArray(calls) && calls.length <= maxCalls && calls.every(isId)
    ? redact(JSON.stringify(calls))
    : emptyCallList;
};

export const findFirstCall = (calls: string) => {
  const first = getValue(parseJson(calls)?.value, [0]);
  return typeof first === "string" ? first : undefined;
};
