/** Collects the results of requests. */
import type { Failure } from "../../failure.ts";
import type { RecordedOutcome } from "../ledger/file-writer.ts";
import type { RecordedRequest } from "../ledger/recorded-requests.ts";
import type { Outcome } from "./outcome.ts";
import type { PlannedRequest } from "./plan.ts";
import type { RejectedGroup } from "./rejects.ts";

export interface SentRequest extends PlannedRequest {
  readonly number: number;
  readonly recorded: RecordedRequest;
  /** The outcome of all attempts, including attempts of earlier runs. */
  outcome: Outcome;
  lastAttempt: Omit<RecordedOutcome, "state">;
  unknownFailure?: Failure | undefined;
  retryFailure?: Failure | undefined;
}

export class SendResult {
  readonly replies: { status: number; bytes: number; body: Uint8Array | undefined; isLogged: boolean }[] = [];
  replyBytes = 0;
  /** Answers to logged requests that are incomplete, not JSON, or state an error. */
  readonly doubtfulReplies: { request: string | number; status: number; isCut: boolean; said: string | undefined }[] =
    [];
  firstCall: string | undefined;
  attempted = 0;
  attemptedBytes = 0;
  /** The failure of a request that rollcall was retrying when the run ended. */
  obstacle: Failure | undefined;
  readonly refused: RejectedGroup[] = [];
  readonly unknownIds = new Set<string | undefined>();
  /** Requests with a known outcome that the ledger could not record. */
  readonly unrecorded: { id: string | undefined; status: number | null; isLogged: boolean }[] = [];
  recordFailure: Failure | undefined;
  unknown: SentRequest | undefined;
  stop: Failure | undefined;
}
