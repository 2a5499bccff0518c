/** Requests on their way: what is to be sent, how far that is, and what it ended as. */
import type { Attempt } from "../client/index.ts";
import type { Failure, Problem } from "../failure.ts";
import type { RecordedRequest } from "../ledger/index.ts";
import { Answers } from "./answers.ts";
import type { PlannedRequest } from "./plan.ts";

/** A request to be sent; `recorded` where it was tried before, and is sent as exactly what it was. */
export interface Job {
  readonly request: PlannedRequest;
  readonly recorded?: RecordedRequest;
}

/** A group that the service refused, with what it said. */
export interface RefusedGroup {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/**
 * What became of a request.
 * `logged`: the service has it. `not-sent`, `not-processed`: it does not, and another try may be made.
 * `too-large`: it does not, and never will at this size. `refused`: it does not. `unknown`: nobody here can know.
 */
export type Outcome = "logged" | "not-sent" | "not-processed" | "too-large" | "refused" | "unknown";

/** The outcome of an attempt, by the table of outcomes (promises.md, "What the ledger promises"). A status line that was read decides, even if sending broke. */
export const outcomeOf = (attempt: Attempt): Outcome => {
  if (attempt.kind === "broken") return attempt.bodySent ? "unknown" : "not-sent";
  const { status } = attempt;
  if (status >= 200 && status < 300) return "logged";
  if (status === 413) return "too-large";
  if (status === 429 || status === 408) return "not-processed";
  // Assumed: a 503 that says when to come back comes from before the service, not from behind it.
  if (status === 503 && attempt.retryAfterMs !== undefined) return "not-processed";
  if (status >= 500) return attempt.bodySent ? "unknown" : "not-processed";
  return status === 409 ? "unknown" : "refused";
};

/** How far sending is. */
export interface SendProgress {
  /** Requests that have an outcome, and all that there are so far. */
  readonly requests: number;
  readonly of: number;
  /** Bytes and groups that are logged; bytes on their way count too. */
  readonly bytes: number;
  readonly ofBytes: number;
  readonly groups: number;
  /** What just became of a request; undefined where bytes just moved on. */
  readonly change: RequestChange | undefined;
}

/** What became of a request. */
export interface RequestChange {
  readonly outcome: Outcome;
  /** Whether it is tried again. */
  readonly again: boolean;
  readonly groups: number;
  readonly bytes: number;
  /** The status that was answered, or the code of what was in the way. */
  readonly reason: string;
  /** The same as what a run says that ends with it; undefined for a success. */
  readonly failure: Failure | undefined;
}

/** A request whose outcome is unknown. */
interface UnknownRequest {
  readonly request: PlannedRequest;
  readonly number: number;
  /** Whether the same command settles it, since the service is known to honour its key. */
  readonly honoured: boolean;
  /** What the try ended with that may have been logged; undefined where that was in an earlier run. */
  readonly doubt: Failure | undefined;
  /** What a later try ended with. */
  readonly again: Failure | undefined;
}

/** What sending ended as. */
export interface SendResult {
  readonly answers: Answers;
  /** Requests that were tried, and the bytes of their bodies. */
  readonly tried: number;
  readonly triedBytes: number;
  /** Requests that were tried, and those that were left. */
  readonly of: number;
  /** Whether all that was to be sent was planned as one request. */
  readonly isOneJob: boolean;
  /** What keeps requests from being sent that are tried again; undefined where nothing does. */
  readonly obstacle: Failure | undefined;
  /** Requests that were logged. */
  readonly accepted: number;
  /** Whether requests were made smaller, after a 413. */
  readonly halved: boolean;
  readonly refused: readonly RefusedGroup[];
  /** The last request whose outcome is unknown, and the how-manieth it is. */
  readonly unknown: UnknownRequest | undefined;
  /** What stopped the run before its end, as it was: undefined where everything was tried. */
  readonly stop: Failure | undefined;
  /** What the service said against the request that stopped the run. */
  readonly problems: readonly Problem[];
}

/** What a run ended as that was stopped before its first request. */
export const nothingSent = (stop?: Failure): SendResult => ({
  answers: new Answers(),
  tried: 0,
  triedBytes: 0,
  of: 0,
  isOneJob: false,
  obstacle: undefined,
  accepted: 0,
  halved: false,
  refused: [],
  unknown: undefined,
  stop,
  problems: [],
});
