/** Defines the result of sending. */
import type { Failure } from "../../failure.ts";
import type { SentRequest } from "./attempt-request.ts";
import type { RejectedGroup } from "./rejects.ts";

export interface SendResult {
  replies: PrintedAnswer[];
  /** Answers to logged requests that are incomplete, not JSON, or state an error. */
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
  replies: [],
  doubtfulReplies: [],
  refused: [],
  unrecorded: [],
  unknownIds: new Set(),
  attempted: 0,
  attemptedBytes: 0,
  attemptedOrQueued: 0,
  dividedInto: 0,
  firstCall: undefined,
  obstacle: undefined,
  unknown: undefined,
  recordFailure: undefined,
  stop,
});

/** If all answers together are larger, rollcall prints none of them (output.md). */
export const maxPrintedBytes = 64 * 1024;

interface PrintedAnswer {
  status: number;
  bytes: number;
  body: Uint8Array | undefined;
  isLogged: boolean;
}
